"""No user file is unpickled; every dependency is pinned."""

from __future__ import annotations

import ast
import re
from importlib import metadata
from pathlib import Path

import pytest

from alga.network import config as shape
from alga.research import records
from alga.research.sweeps import sweep
from alga.runs import adoption, weights
from alga.training import checkpoint
from alga.trust import certificate
from tests.source_tree import FILES, SOURCE, imports_of

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


def test_no_module_imports_an_unpickler() -> None:
    offenders = [f"{name_of(path)}: {name}" for path in FILES for name, _ in imports_of(path)
                 if name.split(".")[0] in UNPICKLERS]  # fmt: skip
    assert offenders == []


def test_no_loader_that_may_unpickle_is_called() -> None:
    assert [(name_of(path), name) for path in FILES for name, _ in calls_in(path) if name in LOADERS] == []


def test_code_from_a_file_is_run_in_one_place() -> None:
    runs = {(name_of(path), name) for path in FILES for name, _ in calls_in(path) if name in RUNNERS}
    assert runs == {("tasks/own.py", "exec"), ("tasks/own.py", "compile")}


def test_only_the_server_uses_sockets() -> None:
    networks = {"socket", "ssl", "urllib", "http", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "telnetlib"}
    offenders = [f"{name_of(path)}: {name}" for path in FILES for name, _ in imports_of(path)
                 if name.split(".")[0] in networks]  # fmt: skip
    assert offenders == ["serve/server.py: socket"]  # it only listens


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


DISTRIBUTION = "alga-adder"  # on PyPI `alga` is another project
LINES = [line.partition("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1] != "#"]
PINS = {canonical(name): version for name, _, version in LINES}


def test_every_constraint_is_one_version() -> None:
    assert len(PINS) > 50
    assert [name for name, version in PINS.items() if not re.fullmatch(r"[0-9][0-9a-z.]*", version)] == []


def required(name: str, extras: frozenset[str], seen: dict[str, str]) -> None:
    """Collect a package's dependencies on this system, transitively, with their installed versions."""
    for line in metadata.requires(name) or []:
        requirement, _, marker = line.partition(";")
        needed = canonical(re.split(r"[ \[<>=!~(]", requirement.strip())[0])
        asked = set(re.findall(r"extra == ['\"]([^'\"]+)", marker))
        if (asked and not asked & extras) or needed in seen:
            continue
        try:
            seen[needed] = metadata.version(needed)
        except metadata.PackageNotFoundError:  # for another system or Python version
            continue
        more = frozenset(re.findall(r"[\w-]+", requirement.partition("[")[2].partition("]")[0]))
        required(needed, more | (extras if needed == DISTRIBUTION else frozenset()), seen)


def test_every_dependency_is_pinned() -> None:
    seen: dict[str, str] = {}
    extras = frozenset({"export", "bench", "lab", "cluster", "serve", "fuzz", "docs", "dev"})
    required(DISTRIBUTION, extras, seen)
    assert {"torch", "numpy", "typer", "hypothesis"} <= seen.keys()
    assert sorted(seen.keys() - PINS.keys() - {DISTRIBUTION, "pip"}) == []


@pytest.mark.parametrize(
    "word", ["O_NOFOLLOW", "cloudpickle", "--cluster", "mine.py:", "SHA256SUMS", "constraints.txt"]
)
def test_security_page_mentions_the_word(word: str) -> None:
    assert word in (ROOT / "SECURITY.md").read_text()


def test_security_page_states_the_limits_in_the_code() -> None:
    page = " ".join((ROOT / "SECURITY.md").read_text().split())
    assert f"at most {shape.MOST_LAYERS} layers, 2^{shape.MOST_PARAMETERS.bit_length() - 1} parameters" in page
    assert f"{4 * shape.MOST_PARAMETERS // 2**30} GiB; {weights.ALWAYS_READ // 2**20} MiB of weights are always" in page
    assert f"weights to import {adoption.MAX_IMPORT_BYTES // 2**20} MiB in all" in page
    assert f"a safetensors header {weights.MAX_HEADER_BYTES // 2**20} MiB" in page
    assert f"a checkpoint's {checkpoint.MAX_HEADER_BYTES // 2**20} MiB, plus {checkpoint.MAX_LOSS_BYTES} bytes" in page
    assert f"certificates {certificate.MAX_CERTIFICATE_BYTES // 2**20} MiB" in page
    assert f"results of sweeps {sweep.MAX_RESULT_BYTES // 2**30} GiB" in page
    assert f"other results {records.MAX_RECORD_BYTES // 2**20} MiB" in page
