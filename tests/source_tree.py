"""The files of the package, and what they import."""

from __future__ import annotations

import ast
from pathlib import Path

import alga

SOURCE = Path(alga.__file__).parent


def imports_of(path: Path) -> set[tuple[str, bool]]:
    """Return the modules a file imports, each with whether it is only for type checking."""
    tree = ast.parse(path.read_text())
    for_types = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(alias.name, node in for_types) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports by a relative name"
            whole = node.module == "alga"
            names = [f"alga.{alias.name}" for alias in node.names] if whole else [node.module or ""]
            found |= {(name, node in for_types) for name in names}
    return found


HUB = SOURCE / "export" / "hub"  # copied into exported folders: others run it, and it imports nothing of alga
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py" and HUB not in path.parents]
