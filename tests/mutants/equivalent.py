"""Mutants that change nothing a test could see, by file, function and change; each with its kind.

docs/decisions.md says what the kinds are. An entry that no longer names a mutant is reported by `make mutants`.
"""

from __future__ import annotations

from typing import Final

from tests.mutants.mutations import Mutant

_BY_KIND: Final[dict[str, dict[str, dict[str, list[str]]]]] = {
    "speed": {
        "tasks/numbers.py": {"<module>": ["AT_ONCE: Final = 1000 -> AT_ONCE: Final = 1001"]},
        "trust/proof/bounds.py": {"<module>": ["MAX_GRAM_SIZE: Final = 9000000 -> MAX_GRAM_SIZE: Final = 9000001"]},
    },
    "room that nothing uses": {
        "solve/engines/machine.py": {"Machine.words": ["2 ** 16 -> 2 ** 17"]},
    },
    "the same truth value": {
        "trust/proof/margins.py": {"bounded": ["np.ones((length, length), dtype=bool) -> np.ones((length, length))"]},
    },
    "overwritten before it is read": {
        "tasks/layouts.py": {"Layout.refusal": ["(self._admissible, 0) -> (self._admissible, 1)"]},
        "solve/engines/loop.py": {"run": ["np.uint64(0) -> np.uint64(1)"]},
        "tasks/domain.py": {"Domain.axes": ["context or '' -> context or 'XX'"]},
    },
    "the other case was taken before": {
        "tasks/pairwise.py": {"Comparison.oracle": ["a < b -> a <= b"]},
    },
    "drawn and not used": {
        "tasks/lookahead.py": {"Lookahead.example": ["('',) -> ('XX',)"]},
    },
    "guard that cannot fire": {
        "network/decoder.py": {
            "Decoder.details": [
                "zip(steps, generated, strict=True) -> zip(steps, generated)",
                "zip(steps, rows, strict=True) -> zip(steps, rows)",
            ],
        },
    },
    "one digit repeated": {
        "tasks/digitwise.py": {"_Divisor.rows": ["below.startswith('0') -> below.endswith('0')"]},
    },
    "reads more than it uses": {
        "solve/engines/rows.py": {"FileRow.refuse_strangers": ["place + 4 -> place + 5"]},
    },
}

EQUIVALENT: Final = {
    Mutant(file, function, change): kind
    for kind, files in _BY_KIND.items()
    for file, functions in files.items()
    for function, changes in functions.items()
    for change in changes
}
