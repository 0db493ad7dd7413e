"""All tasks by name, in every base; and the user's own, once they have named its file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Final

from alga.base.errors import AlgaError, Blaming
from alga.tasks import own
from alga.tasks.addition import Addition
from alga.tasks.digitwise import DivisionByADigit, TimesADigit
from alga.tasks.lookahead import Lookahead
from alga.tasks.numbers import in_base
from alga.tasks.pairwise import Bitwise, Comparison, Subtraction
from alga.tasks.parity import Parity
from alga.tasks.procedure import Procedure, Task
from alga.tasks.several import Several
from alga.tasks.variants import VIEWS, Blocks, LessContext, NoSeparator, OneToken
from alga.tasks.whole import Whole

_IN_ANY_BASE: dict[str, Callable[[int], Task]] = {
    "subtraction": Subtraction,
    "comparison": Comparison,
    "times-a-digit": TimesADigit,
    "division-by-a-digit": DivisionByADigit,
}
_IN_BASES: dict[str, Callable[[int], Task]] = {
    "addition": Addition,
    **_IN_ANY_BASE,
    "addition-whole": Whole,
    **{operation: partial(Bitwise, operation) for operation in ("and", "or", "xor")},
}
_TASKS: dict[str, Callable[[], Task]] = {
    "addition": Addition,
    "addition-padded": partial(Addition, padded=True),
    "addition-of-three": partial(Addition, operands=3),
    "addition-lookahead": Lookahead,
    "addition-whole": Whole,
    **{family: partial(task, 10) for family, task in _IN_ANY_BASE.items()},
    "parity": Parity,
    "arithmetic": Several,
}
_VARIANTS: dict[str, Callable[[], Task]] = {
    **{f"addition-context-{shown}": partial(LessContext, shown) for shown in VIEWS},
    "addition-no-separator": partial(NoSeparator, padded=False),
    "addition-padded-no-separator": partial(NoSeparator, padded=True),
    "addition-one-token": OneToken,
    "addition-blocks-of-2": partial(Blocks, 2),
    "addition-blocks-of-3": partial(Blocks, 3),
    "addition-blocks-of-2-whole": partial(Blocks, 2, whole=True),
}

# The family of tasks for each kind of step in arithmetic.
STEPS: Final = {
    "add": "addition",
    "add three": "addition-of-three",
    "sub": "subtraction",
    "cmp": "comparison",
    "times": "times-a-digit",
    "divide": "division-by-a-digit",
}
# The shipped network that an engine runs in the place of a task's own.
COMPANIONS: Final = {
    "lookahead": {"addition": "addition-lookahead"},
    "whole": {"addition": "whole", "addition-base-16": "whole-base-16", "addition-of-three": "whole-of-three"},
}
_UNLISTED: dict[str, Callable[[], Task]] = {  # 200,202 situations, which take seconds to list
    "addition-whole-of-three": partial(Whole, operands=3),
}

_OWN: dict[tuple[str, str], Task] = {}  # by name and source


def names() -> tuple[str, ...]:
    """Return the names of the tasks in base ten; `families` come in every base from 2 to 36."""
    return tuple(_TASKS)


def variants() -> tuple[str, ...]:
    """Return the names of addition's variants, for the lab's questions; some are ambiguous, and refused."""
    return tuple(_VARIANTS)


def families() -> tuple[str, ...]:
    """Return the names of the tasks that come in other bases, as in `addition-base-16`."""
    return tuple(_IN_BASES)


def find(name: str) -> Task:
    """Return the task of that name; one like `mine.py:Collatz` is read from that file and then known by its name.

    >>> len(find("addition").domain), len(find("addition-base-16").domain)
    (2300, 8960)
    """
    return _remember(own.load(name), f"in {name}") if own.FILE_AND_CLASS.fullmatch(name) else known(name)


def adopt(given: str | Task | type[Task]) -> Task:
    """Return the task of a name, an instance or a class; one's own is then known by its name.

    >>> from alga.tasks.parity import Parity
    >>> adopt("parity") is adopt(Parity) is adopt(Parity())
    True
    """
    if isinstance(given, str):
        return find(given)
    kind = given if isinstance(given, type) else type(given)
    if kind.__module__.partition(".")[0] == __name__.partition(".")[0]:
        with Blaming(f"{kind.__name__} is not a whole task by itself: give an instance"):
            return known(given.name if isinstance(given, Task) else kind().name)
    return _remember(own.adopt(given), f"of class {kind.__name__}")


def _remember(task: Task, where: str) -> Task:
    if task.name in (*names(), *variants()) or task.name.rpartition("-base-")[0] in _IN_BASES:
        raise AlgaError(f"the task {where} is called {task.name!r}, which is the name of a built-in task")
    key = (task.name, task.source)
    _OWN[key] = _OWN.pop(key, task)  # the version found last comes last
    return _OWN[key]


def known(name: str) -> Task:
    """Return the task of a name that was read from a file: executes no code, whatever the name is.

    The user's own task is known here once they have named it themselves, by `find`.
    """
    if not isinstance(name, str):
        raise AlgaError(f"unknown task {name!r}: expected text")
    for (own_name, _), task in reversed(_OWN.items()):
        if own_name == name:
            return task
    return _find(name)


def stated(name: str, source: str, behaviour: str) -> Task:
    """Return the task that a file states by name, source and behaviour; executes no code, as `known`.

    A user's own task must be of that source. Of a class and a file one may stand in for the other if both do the same:
    a network that a class was trained for has its behaviour as source.
    """
    task = known(name)
    if task.source != source and task.source and source:
        does = own.behaviour(task)
        if does == source or (does == task.source and does == behaviour):
            return own.as_of(task, source)
    if task.source != source:
        raise AlgaError(f"the task {task.name} has changed since this network was trained")
    return task


@cache
def _find(name: str) -> Task:
    known = _TASKS | _VARIANTS | _UNLISTED
    if name in known:
        return known[name]()
    family, _, base = name.rpartition("-base-")
    if family in _IN_BASES and re.fullmatch("[1-9][0-9]?", base) and base != "10":
        return _IN_BASES[family](int(base))
    others = f"{', '.join(_IN_BASES)} in other bases, as in addition-base-16; for the lab {', '.join(_VARIANTS)}"
    raise AlgaError(f"unknown task {name!r}; there are {', '.join(_TASKS)}; {others}; your own as --task FILE.py:CLASS")


def for_step(kind: str, base: int) -> str:
    """Return the name of the task for one kind of step in a base.

    >>> for_step("times", 10), for_step("sub", 16)
    ('times-a-digit', 'subtraction-base-16')
    """
    return in_base(STEPS[kind], base)


def step_of(procedure: Procedure) -> str | None:
    """Return the kind of step that a procedure takes; None for a user's own, whatever its name.

    >>> [step_of(find(name).procedure) for name in ("addition-padded", "subtraction-base-8", "parity")]
    ['add', 'sub', None]
    """
    family, _, _ = procedure.name.partition("-base-")
    if procedure.source:
        return None
    exact = next((kind for kind, name in STEPS.items() if name == family), None)
    return exact or ("add" if family.startswith("addition-") else None)  # a variant of addition adds too
