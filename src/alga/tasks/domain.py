"""The Domain: every prompt that problems of any length can lead to, with its exact output. It is all that is learned.

Training, table, certificate, proof, verification, exports and the page's grid need a Domain and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

Respond = Callable[[Sequence[str]], Sequence[str | None]]  # prompts -> outputs, None where there is none


@dataclass(frozen=True)
class Instance:
    """One step as it should be: `prompt` is what the network reads, `output` what it should write."""

    context: str | None
    column: str
    prompt: str
    output: str


@dataclass(frozen=True, eq=False)
class Domain(Mapping[str, Instance]):
    """A mapping from prompts to instances, in the order in which they were found.

    >>> from alga.tasks import find
    >>> domain = find("addition").domain
    >>> len(domain), domain["15C77"].output
    (2300, '15')
    """

    name: str
    symbols: str  # every character of columns and outputs, in the order of their tokens
    instances: Mapping[str, Instance]
    summary: str = ""  # one line for people
    source: str = ""  # the hash of the file it comes from, for a person's own task
    reach: Callable[[Respond], object] | None = field(repr=False, default=None)
    second_steps: Callable[[], list[str]] = field(repr=False, default=list)

    def __getitem__(self, prompt: str) -> Instance:
        return self.instances[prompt]

    def __iter__(self) -> Iterator[str]:
        return iter(self.instances)

    def __len__(self) -> int:
        return len(self.instances)

    def explore(self, respond: Respond) -> None:
        """Ask `respond` for every prompt that its own outputs lead to, until no new one appears.

        A network's wrong outputs lead to prompts outside the domain; these are asked too.
        """
        if self.reach is not None:
            self.reach(respond)

    def prompts_of_second_steps(self) -> list[str]:
        """Return the prompt of each pair of a first column and a next one: what the paper draws from."""
        return self.second_steps()

    @cached_property
    def axes(self) -> tuple[list[str | None], list[str]]:
        """The contexts, none and short ones first, and the columns: for pictures of the whole domain."""
        contexts = list(dict.fromkeys(instance.context for instance in self.values()))
        contexts.sort(key=lambda context: (context is not None, len(context or ""), context))
        return contexts, list(dict.fromkeys(instance.column for instance in self.values()))
