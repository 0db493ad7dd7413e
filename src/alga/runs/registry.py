"""The networks that come with the package, and the folder that a name or a path means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.runs import checksums
from alga.runs import config as configs
from alga.tasks import Procedure, in_base

SHIPPED: Final = Path(__file__).parent / "models"

# The family of tasks for each kind of step in arithmetic.
STEPS: Final = {
    "add": "addition",
    "add three": "addition-of-three",
    "sub": "subtraction",
    "cmp": "comparison",
    "times": "times-a-digit",
    "divide": "division-by-a-digit",
}
# The network that an engine runs in the place of a task's own.
COMPANIONS: Final = {"lookahead": {"addition": "addition-lookahead"}, "whole": {"addition": "whole"}}


def for_step(kind: str, base: int) -> str:
    """Return the name of the task for one kind of step in a base.

    >>> for_step("times", 10), for_step("sub", 16)
    ('times-a-digit', 'subtraction-base-16')
    """
    return in_base(STEPS[kind], base)


def step_of(procedure: Procedure) -> str | None:
    """Return the kind of step that a procedure takes; None for a user's own, whatever its name.

    >>> from alga.tasks import find
    >>> [step_of(find(name).procedure) for name in ("addition-padded", "subtraction-base-8", "parity")]
    ['add', 'sub', None]
    """
    family, _, _ = procedure.name.partition("-base-")
    if procedure.source:
        return None
    exact = next((kind for kind, name in STEPS.items() if name == family), None)
    return exact or ("add" if family.startswith("addition-") else None)  # a variant of addition adds too


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped networks."""
    if not SHIPPED.is_dir():  # the package was imported from a zip file
        raise AlgaError(f"{SHIPPED} is not a folder: ALGA reads its networks as files; install or unpack the package")
    return tuple(sorted(path.parent.name for path in SHIPPED.glob("*/config.json")))


def locate(model: str | os.PathLike[str]) -> Path:
    """Return the folder of a shipped network's name or of a path."""
    path = Path(model)
    if model in shipped():
        if (path / "config.json").exists():
            raise AlgaError(f"{model!r} is both shipped and a run folder here; for the folder write ./{model}")
        return SHIPPED / model
    if not path.exists():
        raise AlgaError(f"no model {str(model)!r}: neither a run folder nor shipped ({', '.join(shipped())})")
    if not path.is_dir():
        raise AlgaError(f"expected a run folder, got the file {path}")
    folder = Folder(path)
    if not (folder.has(configs.CONFIG) or folder.has(checksums.CHECKSUMS)):
        raise AlgaError(f"{path} is not a run: it has no config.json")
    return path
