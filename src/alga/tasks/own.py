"""A person's own task: a class in a Python file, named as `mine.py:Collatz`.

The file is run, so it is only ever read when someone names it; a run folder never brings code along. What it held is
remembered by its hash, which goes into the weights: a network is not used with a task that has changed since.
"""

from __future__ import annotations

import hashlib
import re
from importlib import util
from pathlib import Path

from alga.errors import AlgaError
from alga.tasks.checks import check
from alga.tasks.contract import Task

NAME = re.compile(r"(?P<file>.+\.py):(?P<task>[A-Za-z_][A-Za-z_0-9]*)")


def load(name: str) -> Task:
    """Return the checked task of a name like `mine.py:Collatz`."""
    found = NAME.fullmatch(name)
    if found is None:
        raise AlgaError(f"expected a task as FILE.py:CLASS, got {name!r}")
    path = Path(found["file"])
    try:
        source = path.read_bytes()
    except OSError as problem:
        raise AlgaError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None
    spec = util.spec_from_file_location(f"alga_own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        kind = getattr(module, found["task"], None)
        if not isinstance(kind, type) or not issubclass(kind, Task):
            raise AlgaError(f"{path} has no class {found['task']} that is a Task")
        task = kind()
        task.source = hashlib.sha256(source).hexdigest()
        _ = task.name, task.summary, task.symbols, task.sign
        check(task)
    except AlgaError:
        raise
    except Exception as problem:  # whatever a person's own code may raise
        raise AlgaError(f"{path}: {found['task']} is no task yet ({type(problem).__name__}: {problem})") from None
    return task
