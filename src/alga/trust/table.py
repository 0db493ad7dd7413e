"""The table: the network's outputs on its whole domain, a finite-state transducer that needs no torch.

It is closed under the network's *own* outputs: if the network writes something the task never would, the prompts that
follow are in the table too, so even an imperfect network's table does exactly what the network would.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from alga.base.errors import AlgaError
from alga.tasks import Domain

if TYPE_CHECKING:
    from alga.network.step import Decode, Step

UNCERTAIN: Final = 1e-4  # smaller margins may flip on another machine or in another batch
PROMPTS_AT_ONCE: Final = 4096  # as many as a decoder gives torch at once; their steps are in memory together


@dataclass(frozen=True, eq=False)
class Table:
    """The output for each prompt, None if the text is not a valid output.

    `broken` holds those invalid texts; `uncertain` lists the prompts whose margin is within rounding error.
    """

    task: str
    outputs: Mapping[str, str | None]
    uncertain: tuple[str, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("outputs", "broken"):  # read-only copies, so that the hash stays valid
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[type[Table], tuple[Any, ...]]:
        return Table, (self.task, dict(self.outputs), self.uncertain, dict(self.broken))

    @cached_property
    def sha256(self) -> str:
        """The hash of the content, equal on all machines that compute the same answers."""
        return hashlib.sha256(self._canonical().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def refuse(self, name: str, steps: Iterable[tuple[str, str | None, str]]) -> None:
        """Refuse prompts, outputs and texts of the model `name` that contradict its certified table, which this is."""
        for prompt, output, text in steps:
            if (known := self.outputs.get(prompt)) != output:
                raise AlgaError(
                    f"the model {name} wrote {text!r} for {prompt!r}, but its certified table says {known!r}: "
                    f"the certificate is wrong (to check all of it: alga certify {name})"
                )

    def to_json(self) -> str:
        """Return the table as JSON: its canonical form (sorted keys, no spaces) plus the hash of that form.

        >>> Table("parity", {"1": "1", "0": "0"}).to_json()[:56]
        '{"broken":{},"outputs":{"0":"0","1":"1"},"task":"parity"'
        """
        return f'{self._canonical()[:-1]},"sha256":"{self.sha256}"}}\n'

    @classmethod
    def from_json(cls, text: str) -> Table:
        """Read a table; refuse it if the hash does not match."""
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
            "broken": dict(self.broken),
            "outputs": dict(self.outputs),
            "task": self.task,
            "uncertain": sorted(self.uncertain),
        }
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


class Answers:
    """What a table is made of, collected from steps, which are not kept: a domain may have a million prompts."""

    def __init__(self) -> None:
        self.outputs: dict[str, str | None] = {}
        self._uncertain: list[str] = []
        self._broken: dict[str, str] = {}

    def take(self, prompts: Sequence[str], steps: Sequence[Step]) -> None:
        """Add what the network wrote for each prompt."""
        for prompt, step in zip(prompts, steps, strict=True):
            self.outputs[prompt] = step.output
            if not step.margin > UNCERTAIN:
                self._uncertain.append(prompt)
            if step.output is None:
                self._broken[prompt] = step.text

    def table(self, task: str) -> Table:
        """Return the table of what was collected."""
        return Table(task, self.outputs, tuple(self._uncertain), self._broken)


def extract(domain: Domain, decode: Decode, known: Answers | None = None) -> Table:
    """Build the table by decoding every reachable prompt; `known` holds those of prompts already decoded."""
    answers = known or Answers()

    def respond(prompts: Sequence[str]) -> list[str | None]:
        fresh = [prompt for prompt in dict.fromkeys(prompts) if prompt not in answers.outputs]
        for start in range(0, len(fresh), PROMPTS_AT_ONCE):
            block = fresh[start : start + PROMPTS_AT_ONCE]
            answers.take(block, decode(block))
        return [answers.outputs[prompt] for prompt in prompts]

    outputs = respond(list(domain))
    # A network that is right on all prompts leads to no others: the domain was found by following right outputs.
    if outputs != [instance.output for instance in domain.values()]:
        domain.explore(respond)
    return answers.table(domain.name)
