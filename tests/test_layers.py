"""The rules of CONTRIBUTING.md: import order, knowledge of procedures, timed tests, imports between tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from alga import tasks
from tests.source_tree import FILES, SOURCE, imports_of

TESTS = Path(__file__).parent
ROOMS = (
    "base", "tasks", "network", "trust", "runs", "training", "solve", "export", "serve", "research", "cli", "__main__",
)  # fmt: skip
WITH_TORCH = {  # may import torch at import time; everything else starts without it
    "network/model.py", "network/alterations.py", "network/module.py", "network/module_state.py",
    "network/reader.py", "network/reader_module.py", "network/hook_points.py", "network/effects.py",
    "training/checkpoint.py", "training/checks.py", "training/compiled_sums.py", "training/configuration.py",
    "training/crowd/learner.py",
    "training/initial_weights.py", "training/learner.py", "training/optimisers.py", "training/sampling.py",
    "training/shared_numbers.py", "training/sums.py", "training/torch_settings.py", "training/trainer.py",
    "research/baselines/language.py", "research/baselines/packing.py", "research/baselines/transformer.py",
    "research/baselines/whole_reader.py",
}  # fmt: skip


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def modules_imported_at_once(path: Path) -> set[str]:
    """Return the imports that run when a file is imported: not those in functions or for type checkers."""
    tree = ast.parse(path.read_text())
    nodes = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_every_file_is_in_a_room() -> None:
    assert {room_of(path) for path in FILES} == set(ROOMS)


def test_each_room_imports_only_rooms_above_it() -> None:
    forbidden = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in FILES
        for module, _ in imports_of(path)
        if module.startswith("alga.") and ROOMS.index(module.split(".")[1]) > ROOMS.index(room_of(path))
    ]
    assert forbidden == []


def test_only_listed_files_import_torch_at_import_time() -> None:
    importing = {
        str(path.relative_to(SOURCE))
        for path in FILES
        for module in modules_imported_at_once(path)
        if module.split(".")[0] == "torch"
    }
    assert importing == WITH_TORCH


KNOWN = (*tasks.names(), *tasks.variants(), *(tasks.in_base(family, 16) for family in tasks.families()))
IN_BASE = re.compile(rf"({'|'.join(tasks.families())})-base-\d*")
CONTRACT = {
    "alga.tasks",
    "alga.tasks.procedure",
    "alga.tasks.numbers",
    "alga.tasks.own",
    "alga.tasks.whole",
}  # fmt: skip - shared by all procedures; the last holds the words for places and parts of texts
SPEAKING = {"verb", "sign", "symbols", "lookahead", "summary"}  # attributes that tell one procedure from another

# Files that ask for a task by name: defaults (the shipped adder, a recipe's task) and checks of certain tasks.
BY_NAME = {
    "solve/solver.py", "cli/options.py",
    "cli/train.py", "training/recipes.py", "research/baselines/columns.py",
    "research/studies/generations.py", "research/studies/information.py", "research/studies/rounding.py",
    "research/studies/size.py", "runs/adoption.py", "trust/coq/statements.py",
}  # fmt: skip
# Files that know which procedure they run, and how.
BY_CODE = {
    ("solve/engines/lookahead.py", "Lookahead"),  # that engine runs the three maps
    ("solve/engines/whole.py", "Whole"),  # this one continues texts
    ("network/kinds.py", "Whole"),  # the kind of network that learns texts, its tokens, and its second proof
    ("network/texts.py", "Whole"),
    ("trust/verify/verdict.py", "Whole"),
    ("research/baselines/whole_reader.py", "Whole"),  # reads whole sums
    ("research/baselines/problems.py", "alga.tasks.hard_sums"),  # baselines only add
}


def procedures(base: type = tasks.Task) -> set[str]:
    """Return the names of all task classes except the contract itself."""
    own = [kind for kind in base.__subclasses__() if kind.__module__.startswith("alga.")]
    return {kind.__name__ for kind in own if kind is not tasks.Procedure}.union(*map(procedures, own))


def names_a_task(text: object) -> bool:
    return isinstance(text, str) and (text in KNOWN or text in procedures() or IN_BASE.fullmatch(text) is not None)


def spells_a_task(text: ast.JoinedStr) -> bool:
    """Tell whether an f-string may evaluate to a task's name."""
    fixed = "".join(str(part.value) for part in text.values if isinstance(part, ast.Constant))
    parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in text.values]
    return len(fixed) >= 3 and any(re.fullmatch("".join(parts), name) for name in KNOWN)


def by_name(node: ast.AST) -> bool:
    """Tell whether a piece of code asks for a task by its name."""
    return (isinstance(node, ast.JoinedStr) and spells_a_task(node)) or names_a_task(getattr(node, "value", None))


def by_code(node: ast.AST) -> list[str]:
    """Return the ways in which a piece of code knows which procedure it runs."""
    ways: list[str] = []
    match node:
        case ast.ImportFrom(module=str(module)) if module.split(".")[:2] == ["alga", "tasks"]:
            several = [alias.name for alias in node.names if alias.name in procedures()]
            ways = several or ([] if module in CONTRACT else [module])
        case ast.Import():
            ways = [
                each.name for each in node.names if each.name.startswith("alga.tasks.") and each.name not in CONTRACT
            ]
        case ast.Attribute(attr=name) if name in procedures():
            ways = [name]
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr=name) if not name.startswith("__"):
            ways = [ast.unparse(node)]
        case ast.Attribute(attr="__class__"):
            ways = [ast.unparse(node)]
        case ast.Call(
            func=ast.Name(id="hasattr" | "getattr"),
            args=[ast.Name(id="task" | "trained") | ast.Attribute(attr="task" | "trained"), *_],
        ):
            ways = [ast.unparse(node)]
        case ast.Compare(left=ast.Attribute(attr=name), comparators=[ast.Constant(value=str())]) if name in SPEAKING:
            ways = [ast.unparse(node)]
    return ways


@pytest.mark.parametrize(
    ("code", "way"),
    [
        ("tasks.find('addition')", "name"),
        ("tasks.find(f'addition-base-{base}')", "name"),
        ("tasks.find(f'{family}-base-{base}')", "name"),
        ("tasks.find('xor-base-' + base)", "name"),
        ("name = 'addition-one-token'", "name"),
        ("from alga.tasks import Task, Lookahead", "Lookahead"),
        ("from alga.tasks.parity import Parity as P", "Parity"),
        ("from alga.tasks.hard_sums import NINES", "alga.tasks.hard_sums"),
        ("import alga.tasks.parity", "alga.tasks.parity"),
        ("isinstance(task, tasks.several.Several)", "Several"),
        ("type(task).rows is Task.rows", "type(task).rows"),
        ("self.task.__class__ == kind", "self.task.__class__"),
        ("hasattr(self.trained, 'serves')", "hasattr(self.trained, 'serves')"),
        ("task.verb == 'add'", "task.verb == 'add'"),
        ("from alga.tasks import Procedure, find\nfind(name).procedure.oracle('1', '2')", None),
        ("raise AlgaError(f'{path}: unknown task {name!r}')", None),
        ("type(problem).__name__", None),
        ("'a or b' in 'addition of numbers'", None),
    ],
)
def test_scan_finds_a_procedure_however_it_is_named(code: str, way: str | None) -> None:
    nodes = list(ast.walk(ast.parse(code)))
    assert [found for node in nodes for found in by_code(node)] == ([] if way in (None, "name") else [way])
    assert any(map(by_name, nodes)) == (way == "name")


def test_only_tasks_know_a_procedure() -> None:
    """No stage asks for a task by name or class except those listed, and each of those still does."""
    nodes = [
        (str(path.relative_to(SOURCE)), node)
        for path in FILES
        if room_of(path) != "tasks"
        for node in ast.walk(ast.parse(path.read_text()))
    ]
    assert {path for path, node in nodes if by_name(node)} == BY_NAME
    assert {(path, way) for path, node in nodes for way in by_code(node)} == BY_CODE


def test_no_test_module_imports_another() -> None:
    """Helpers are in conftest.py or in modules of their own, so that tests can be moved and run alone."""
    importing = [
        f"{path.relative_to(TESTS)} imports {module}.{alias.name}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in [node.module or "" if isinstance(node, ast.ImportFrom) else ""]
        for alias in node.names
        if any(part.startswith("test_") for part in f"{module}.{alias.name}".split("."))
    ]
    assert importing == []


def test_verifier_shares_no_code_with_the_prover() -> None:
    imported = {module for path in (SOURCE / "trust" / "verify").glob("*.py") for module, _ in imports_of(path)}
    assert {module for module in imported if module.startswith("alga.") and ".verify" not in module} == {
        "alga.base.errors", "alga.base.progress", "alga.network.config", "alga.network.kinds",
        "alga.network.reader_config", "alga.network.texts", "alga.network.tokens", "alga.tasks",
        "alga.trust.assumptions", "alga.trust.certificate",
    }  # fmt: skip


def test_only_the_pages_first_answer_is_timed() -> None:
    """A clock may end a hanging wait (`until`); only one test measures a duration."""
    clocks = {"monotonic", "perf_counter", "time", "process_time"}
    timed = {
        f"{path.name}: {test.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for test in ast.walk(ast.parse(path.read_text()))
        if isinstance(test, ast.FunctionDef)
        for node in ast.walk(test)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
        for call in ast.walk(node.left)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in clocks
    }
    assert timed == {"test_page.py: test_the_first_answer_is_there_within_a_second"}
