"""Each stage imports only stages above it."""

from __future__ import annotations

import ast
from pathlib import Path

import alga
from alga import tasks

SOURCE = Path(alga.__file__).parent
FLOW = (
    "errors", "stopping", "progress", "assumptions", "files", "seal", "tasks", "tokens", "config", "model",
    "unfolding", "compiled", "decoding", "table", "certificate", "proof", "verify", "sampling",
    "recipes", "starting", "card", "plots", "metrics", "rds", "foreign",
    "weights", "runs", "checkpoint", "keeping", "training", "engines", "answers", "calculator", "arithmetic",
    "evaluation", "export", "bench", "intervals", "sweeps", "trials", "rivals", "studies", "serve", "cli", "__main__",
)  # fmt: skip
WITHOUT_TORCH = (
    "errors",
    "assumptions",
    "verify",
    "stopping",
    "progress",
    "files",
    "seal",
    "tasks",
    "tokens",
    "table",
    "certificate",
    "card",
    "engines",
    "plots",
    "config",
    "runs",
    "calculator",
    "arithmetic",
    "recipes",
    "intervals",
    "sweeps",
)


def stage_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[tuple[str, bool]]:
    """Return the modules a file imports, and whether only a type checker does."""
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


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def test_every_file_belongs_to_a_stage() -> None:
    assert {stage_of(path) for path in FILES} == set(FLOW)


def test_no_stage_imports_one_below_it() -> None:
    forbidden = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in FILES
        for module, _ in imports_of(path)
        if module.startswith("alga.") and FLOW.index(module.split(".")[1]) > FLOW.index(stage_of(path))
    ]
    assert forbidden == []


def test_the_pure_stages_do_not_import_torch() -> None:
    offenders = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in FILES
        if stage_of(path) in WITHOUT_TORCH
        for module, for_types in imports_of(path)
        if not for_types and module.split(".")[0] in {"torch", "safetensors"}
    ]
    assert offenders == []


def test_only_tasks_name_a_procedure() -> None:
    """No stage asks for a task by name, but for the defaults (the shipped adder, a recipe's task) and for questions."""
    naming = {
        stage_of(path)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in tasks.names()
    }
    assert naming == {"tasks", "calculator", "recipes", "cli", "studies", "rivals"}


def test_what_verifies_shares_no_code_with_what_proves() -> None:
    imported = {module for path in (SOURCE / "verify").glob("*.py") for module, _ in imports_of(path)}
    assert {module.split(".")[1] for module in imported if module.startswith("alga.")} == {
        "assumptions", "certificate", "config", "errors", "files", "progress", "seal", "tokens", "verify",
    }  # fmt: skip
