"""The Domain: every prompt that problems of any length can lead to, with its exact output. It is all that is learned.

Training, table, certificate, proof, verification, exports and the page's grid need a Domain and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

Respond = Callable[[Sequence[str]], Sequence[str | None]]  # prompts -> outputs, None if the text is not a valid output


@dataclass(frozen=True)
class Instance:
    """One exact step: `prompt` is what the network reads, `output` what it should write."""

    context: str | None
    column: str
    prompt: str
    output: str


@dataclass(frozen=True, eq=False)
class Domain(Mapping[str, Instance]):
    """A mapping from prompts to instances, in the order in which they were found.

    `explore(respond)` asks for every prompt that the answers themselves lead to, until no new one appears: a network's
    wrong outputs lead to prompts outside the domain. `second_steps()` lists the prompt of each pair of a first column
    and a next one, from which the paper draws. Neither is needed if no prompt has a context.

    >>> from alga.tasks import find
    >>> domain = find("addition").domain
    >>> len(domain), domain["15C77"].output
    (2300, '15')
    """

    name: str
    symbols: str  # every character of columns and outputs, in the order of their tokens
    instances: Mapping[str, Instance]
    summary: str = ""  # one line for people
    source: str = ""  # the hash of its file, for a user's own task
    explore: Callable[[Respond], object] = field(repr=False, default=lambda _: None)
    second_steps: Callable[[], list[str]] = field(repr=False, default=list)

    def __getitem__(self, prompt: str) -> Instance:
        return self.instances[prompt]

    def __iter__(self) -> Iterator[str]:
        return iter(self.instances)

    def __len__(self) -> int:
        return len(self.instances)

    @cached_property
    def axes(self) -> tuple[list[str | None], list[str]]:
        """The contexts (None first, then by length) and the columns: for pictures of the whole domain."""
        contexts = list(dict.fromkeys(instance.context for instance in self.values()))
        contexts.sort(key=lambda context: (context is not None, len(context or ""), context))
        return contexts, list(dict.fromkeys(instance.column for instance in self.values()))
