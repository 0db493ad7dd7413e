"""A person's own task or method: a class in a Python file, named as `mine.py:Collatz`.

The file is run, so it is only ever read when someone names it; a run folder never brings code along. What it held is
remembered by its hash, which goes into the weights: a network is not used with a task that has changed since.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from alga.base.errors import AlgaError
from alga.tasks.procedure import Task
from alga.tasks.validation import check

NAME = re.compile(r"(?P<file>.+\.py):(?P<kind>[A-Za-z_][A-Za-z_0-9]*)")

Base = TypeVar("Base")


def load(name: str) -> Task:
    """Return the checked task of a name like `mine.py:Collatz`."""
    kind, source = read(name, Task)
    if hasattr(kind, "first_columns"):
        raise AlgaError(f"{name} is written for ALGA 0.1; docs/own-task.md says what a task is now: a Procedure")
    with _blaming(name, Task):
        task = kind()
        task.source = source
        for said in ("name", "summary", "symbols", "sign"):
            text = getattr(task, said, "")
            if not isinstance(text, str) or not text.isprintable():
                raise TypeError(f"its {said} must be printable text, got {ascii(text)[:60]}")
        check(task)
    return task


def version(name: str) -> dict[str, str]:
    """Return the hash of the file in a name like `mine.py:Collatz` as a setting of a run; no setting for other names.

    So results of a file that was changed since are not taken for those of the file as it is.
    """
    found = NAME.fullmatch(name)
    return {} if found is None else {"source": hashlib.sha256(_bytes(Path(found["file"]))).hexdigest()}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise AlgaError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None


def read(name: str, base: type[Base]) -> tuple[type[Base], str]:
    """Return the class of a name like `mine.py:Collatz`, which must be one of `base`, and the hash of its file."""
    found = NAME.fullmatch(name)
    if found is None:
        raise AlgaError(f"expected a {base.__name__.lower()} as FILE.py:CLASS, got {name!r}")
    path = Path(found["file"])
    source = _bytes(path)
    module = ModuleType(f"alga_own_{path.stem}")
    module.__file__ = str(path)
    with _blaming(name, base):
        # These very bytes, whatever the file says meanwhile and whatever Python has kept of it in __pycache__.
        exec(compile(source, str(path), "exec"), vars(module))
    kind = getattr(module, found["kind"], None)
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise AlgaError(f"{path} has no class {found['kind']} that is a {base.__name__}")
    return kind, hashlib.sha256(source).hexdigest()


@contextmanager
def blaming_runs(task: Task) -> Iterator[None]:
    """Tell what a person's own task raises while a problem is solved as a mistake in it."""
    try:
        yield
    except AlgaError:
        raise
    except Exception as problem:
        if not task.source:
            raise  # our own mistake
        raise AlgaError(f"{task.name}: its own code failed ({type(problem).__name__}: {problem})") from None


@contextmanager
def _blaming(name: str, base: type) -> Iterator[None]:
    """Tell what a person's own code raises, whatever it is, as a mistake in their file."""
    try:
        yield
    except AlgaError:
        raise
    except (Exception, SystemExit) as problem:
        path, _, kind = name.rpartition(":")
        reason = f"{type(problem).__name__}: {problem}"
        raise AlgaError(f"{path}: {kind} is no {base.__name__.lower()} yet ({reason})") from None
