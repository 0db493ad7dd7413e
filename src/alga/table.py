"""The network's behaviour on its whole domain: the finite-state transducer it has become.

The table closes over the network's *own* outputs: where it writes something the task never would, the prompts that
follow from that are in the table too, so an imperfect network runs in it exactly as it would step by step.
Loading one needs no torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from alga.errors import AlgaError
from alga.tasks import Situation, Task, explore

if TYPE_CHECKING:
    from alga.decoding import Decode, Decoded

UNCERTAIN: Final = 1e-4  # margins up to here may fall either way on another machine or in another batch


@dataclass(frozen=True, eq=False)
class Table:
    """What the network answers to each prompt, None where that is no output.

    `broken` has what was written instead of an output; `uncertain` lists the prompts that rounding might decide.
    """

    task: str
    outputs: dict[str, str | None]
    uncertain: tuple[str, ...] = ()
    broken: dict[str, str] = field(default_factory=dict)

    @cached_property
    def sha256(self) -> str:
        """The hash of what the table says, the same on every machine that computes the same answers."""
        return hashlib.sha256(self._canonical().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def to_json(self) -> str:
        """Return the table as JSON with its hash; what the hash covers is the rest, keys sorted, no spaces.

        >>> Table("parity", {"1": "1", "0": "0"}).to_json()[:56]
        '{"broken":{},"outputs":{"0":"0","1":"1"},"task":"parity"'
        """
        return f'{self._canonical()[:-1]},"sha256":"{self.sha256}"}}\n'

    @classmethod
    def from_json(cls, text: str) -> Table:
        """Read a table; one that was altered is refused."""
        try:
            content = json.loads(text)
            table = cls(content["task"], dict(content["outputs"]), tuple(content["uncertain"]), dict(content["broken"]))
            stated, actual = content["sha256"], table.sha256
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            raise AlgaError(f"expected a table as JSON, got something else ({problem})") from None
        if stated != actual:
            raise AlgaError(f"the table was altered: it states the hash {str(stated)[:12]}…, its content has another")
        return table

    def _canonical(self) -> str:
        content = {
            "broken": self.broken,
            "outputs": self.outputs,
            "task": self.task,
            "uncertain": sorted(self.uncertain),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


def extract(task: Task, decode: Decode) -> tuple[Table, dict[str, Decoded]]:
    """Ask the network for its whole behaviour; return the table, and each prompt's decoding with its margin."""
    domain = list(task.domain)
    decoded = dict(zip(domain, decode(domain), strict=True))  # the full batch

    def respond(situations: Sequence[Situation]) -> list[str | None]:
        prompts = [task.prompt(context, column) for context, column in situations]
        fresh = [prompt for prompt in dict.fromkeys(prompts) if prompt not in decoded]
        decoded.update(zip(fresh, decode(fresh), strict=True))
        return [decoded[prompt].output for prompt in prompts]

    explore(task, respond)
    outputs = {prompt: step.output for prompt, step in decoded.items()}
    uncertain = tuple(prompt for prompt, step in decoded.items() if not step.margin > UNCERTAIN)
    broken = {prompt: step.text for prompt, step in decoded.items() if step.output is None}
    return Table(task.name, outputs, uncertain, broken), decoded
