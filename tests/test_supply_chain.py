"""Nothing is unpickled on a user's path; every dependency is pinned."""

from __future__ import annotations

import ast
import re
from importlib import metadata
from pathlib import Path

import pytest

from tests.test_layers import FILES, SOURCE, imports_of

ROOT = SOURCE.parents[1]
UNPICKLERS = {
    "pickle",
    "_pickle",
    "cPickle",
    "cloudpickle",
    "dill",
    "joblib",
    "shelve",
    "marshal",
    "jsonpickle",
    "yaml",
}
LOADERS = ("torch.load", "torch.jit.load", "torch.hub.load", "np.load", "numpy.load", "pandas.read_pickle")
RUNNERS = {"eval", "exec", "compile", "__import__"}


def calls_in(path: Path) -> list[tuple[str, ast.Call]]:
    tree = ast.parse(path.read_text())
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_no_module_imports_what_unpickles() -> None:
    offenders = [f"{name_of(path)}: {name}" for path in FILES for name, _ in imports_of(path)
                 if name.split(".")[0] in UNPICKLERS]  # fmt: skip
    assert offenders == []


def test_torch_loads_weights_only_and_in_one_place() -> None:
    loads = [(name_of(path), node) for path in FILES for name, node in calls_in(path) if name in LOADERS]
    assert [name for name, _ in loads] == ["foreign.py"]
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in loads[0][1].keywords}
    assert options["weights_only"] == "True"


def test_code_from_a_file_is_run_in_one_place() -> None:
    runs = {(name_of(path), name) for path in FILES for name, _ in calls_in(path) if name in RUNNERS}
    assert runs == {("tasks/own.py", "exec"), ("tasks/own.py", "compile")}


def test_no_module_opens_a_connection_but_the_server_that_is_asked_for() -> None:
    networks = {"socket", "ssl", "urllib", "http", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "telnetlib"}
    offenders = [f"{name_of(path)}: {name}" for path in FILES for name, _ in imports_of(path)
                 if name.split(".")[0] in networks]  # fmt: skip
    assert offenders == ["serve/server.py: socket"]  # it listens; it calls nobody


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


LINES = [line.partition("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1] != "#"]
PINS = {canonical(name): version for name, _, version in LINES}


def test_every_constraint_is_one_version() -> None:
    assert len(PINS) > 50
    assert [name for name, version in PINS.items() if not re.fullmatch(r"[0-9][0-9a-z.]*", version)] == []


def required(name: str, extras: frozenset[str], seen: dict[str, str]) -> None:
    """Collect what a package needs here, and what that needs, with the versions that are installed."""
    for line in metadata.requires(name) or []:
        requirement, _, marker = line.partition(";")
        needed = canonical(re.split(r"[ \[<>=!~(]", requirement.strip())[0])
        asked = set(re.findall(r"extra == ['\"]([^'\"]+)", marker))
        if (asked and not asked & extras) or needed in seen:
            continue
        try:
            seen[needed] = metadata.version(needed)
        except metadata.PackageNotFoundError:  # for another system or version of Python
            continue
        more = frozenset(re.findall(r"[\w-]+", requirement.partition("[")[2].partition("]")[0]))
        required(needed, more | (extras if needed == "alga" else frozenset()), seen)


def test_all_that_alga_needs_is_pinned() -> None:
    seen: dict[str, str] = {}
    extras = frozenset({"export", "bench", "lab", "cluster", "dev"})
    required("alga", extras, seen)
    assert {"torch", "numpy", "typer", "hypothesis"} <= seen.keys()
    assert sorted(seen.keys() - PINS.keys() - {"alga", "pip"}) == []


@pytest.mark.parametrize(
    "word", ["weights_only", "cloudpickle", "--cluster", "mine.py:", "SHA256SUMS", "constraints.txt"]
)
def test_the_security_page_speaks_of_it(word: str) -> None:
    assert word in (ROOT / "SECURITY.md").read_text()
