"""A user's own task or method: a class in a Python file, named as `mine.py:Collatz`, or a class given from Python.

A file is executed, so it is read only when the user names it; a run folder never contains code. The file's hash goes
into the weights, so a network is not used with a task that has changed since. For a class that was given, as in a
notebook, it is a hash of what the class does.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import json
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from alga.base.errors import AlgaError, Blaming, one_line
from alga.tasks.procedure import Task
from alga.tasks.validation import answered, check

FILE_AND_CLASS = re.compile(r"(?P<file>.+\.py):(?P<kind>[A-Za-z_][A-Za-z_0-9]*)")
COMPARED: Final = 1000  # problems whose answers are part of what a task does

Base = TypeVar("Base")


def load(name: str) -> Task:
    """Return the checked task of a name like `mine.py:Collatz`."""
    kind, source = read(name, Task)
    if hasattr(kind, "first_columns"):
        raise AlgaError(f"{name} is written for ALGA 0.1; docs/own-task.md says what a task is now: a Procedure")
    with _blaming_file(name, Task):
        task = kind()
        task.source = source
        _check(task)
    return task


def adopt(given: Task | type[Task]) -> Task:
    """Return a checked copy of a task given as an instance or a class; its source is a hash of what it does."""
    kind = given if isinstance(given, type) else type(given)
    if not issubclass(kind, Task):
        raise AlgaError(f"expected a task's name, an instance or a class of Procedure, got {given!r:.100}")
    with Blaming(f"{kind.__name__} is not a valid task", (Exception, SystemExit)):
        task = given if isinstance(given, Task) else kind()
        _check(task)
        return as_of(task, behaviour(task))


def _check(task: Task) -> None:
    for attribute in ("name", "summary", "symbols", "sign"):
        text = getattr(task, attribute, "")
        if not isinstance(text, str) or not text.isprintable():
            raise TypeError(f"its {attribute} must be printable text, got {ascii(text)[:60]}")
    check(task)


def behaviour(task: Task) -> str:
    """Return a hash of what a task does: its domain, and the answers of its first thousand problems.

    Classes that only look different have the same one.
    """
    instances = [[i.context, i.column, i.prompt, i.output] for i in task.domain.values()]
    answers = list(itertools.islice(answered(task.procedure), COMPARED))
    content = [task.name, task.domain.symbols, sorted(instances, key=str), answers]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def as_of(task: Task, source: str) -> Task:
    """Return a copy of a task with another source."""
    copied = copy.copy(task)
    copied.source = source
    if "domain" in vars(copied):
        vars(copied)["domain"] = dataclasses.replace(task.domain, source=source)
    return copied


def version(name: str) -> dict[str, str]:
    """Return the hash of the file in a name like `mine.py:Collatz` as a setting of a run; no setting for other names.

    So the results of a file that has changed since are not reused.
    """
    found = FILE_AND_CLASS.fullmatch(name)
    return {} if found is None else {"source": hashlib.sha256(_bytes(Path(found["file"]))).hexdigest()}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise one_line(problem) from None


def read(name: str, base: type[Base]) -> tuple[type[Base], str]:
    """Return the class of a name like `mine.py:Collatz`, which must be a subclass of `base`, and its file's hash."""
    found = FILE_AND_CLASS.fullmatch(name)
    if found is None:
        raise AlgaError(f"expected a {base.__name__.lower()} as FILE.py:CLASS, got {name!r}")
    path = Path(found["file"])
    source = _bytes(path)
    module = ModuleType(f"alga_own_{path.stem}")
    module.__file__ = str(path)
    with _blaming_file(name, base):
        # Exactly the bytes that are hashed; an import might use stale byte code.
        exec(compile(source, str(path), "exec"), vars(module))
    kind = getattr(module, found["kind"], None)
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise AlgaError(f"{path} has no class {found['kind']} that is a {base.__name__}")
    return kind, hashlib.sha256(source).hexdigest()


def blaming_runs(task: Task) -> AbstractContextManager[None]:
    """Report an exception while a problem is solved as an error in the user's own task; ours keep their traceback."""
    return Blaming(f"{task.name}: its own code failed", (Exception,)) if task.source else nullcontext()


def _blaming_file(name: str, base: type) -> AbstractContextManager[None]:
    path, _, kind = name.rpartition(":")
    return Blaming(f"{path}: {kind} is not a valid {base.__name__.lower()}", (Exception, SystemExit))
