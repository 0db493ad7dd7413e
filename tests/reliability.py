"""Results of faults, fuzz and load -> docs/reliability.md: each harness rewrites the page from all results."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import alga
from alga.base import files
from tests.faults import page as faults_page
from tests.fuzz import page as fuzz_page
from tests.load import page as load_page


def page(faults: dict[str, Any], load: dict[str, Any] | None = None, fuzz: dict[str, Any] | None = None) -> str:
    """Return the page; sections without results are left out."""
    parts = [faults_page.page(faults)]
    parts += [] if fuzz is None else [fuzz_page.section(fuzz)]
    parts += [] if load is None else [load_page.section(load)]
    return "".join(parts)


def write(path: Path, faults: Path, load: Path, fuzz: Path) -> None:
    """Write the page from the existing results."""
    held = [json.loads(each.read_text()) if each.exists() else None for each in (load, fuzz)]
    files.write(path, page(json.loads(faults.read_text()), *held).encode())


def machine() -> dict[str, str]:
    """Describe this machine."""
    import torch

    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "alga": alga.__version__,
    }
