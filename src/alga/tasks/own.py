"""A user's own task or method: a class in a Python file, named as `mine.py:Collatz`.

The file is executed, so it is read only when the user names it; a run folder never contains code. The file's hash goes
into the weights, so a network is not used with a task that has changed since.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from alga.base.errors import AlgaError, Blaming, one_line
from alga.tasks.procedure import Task
from alga.tasks.validation import check

FILE_AND_CLASS = re.compile(r"(?P<file>.+\.py):(?P<kind>[A-Za-z_][A-Za-z_0-9]*)")

Base = TypeVar("Base")


def load(name: str) -> Task:
    """Return the checked task of a name like `mine.py:Collatz`."""
    kind, source = read(name, Task)
    if hasattr(kind, "first_columns"):
        raise AlgaError(f"{name} is written for ALGA 0.1; docs/own-task.md says what a task is now: a Procedure")
    with _blaming_file(name, Task):
        task = kind()
        task.source = source
        for attribute in ("name", "summary", "symbols", "sign"):
            text = getattr(task, attribute, "")
            if not isinstance(text, str) or not text.isprintable():
                raise TypeError(f"its {attribute} must be printable text, got {ascii(text)[:60]}")
        check(task)
    return task


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
