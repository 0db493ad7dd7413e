"""One mutant: a forked process imports the changed file instead of the real one and runs tests until one fails.

The parent has imported everything but the package itself and its tests, so that a mutant costs a second, not ten.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.mutants.mutations import mutated
from tests.mutants.selection import Selected

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "alga"
MEMORY = 6 * 2**30  # bytes of data: stops a mutant that keeps growing
OPTIONS = ("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0",
           "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip


class _Loader(importlib.machinery.SourceFileLoader):
    """Import one file from a tree instead of from its text."""

    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, file: str, tree: ast.Module) -> None:
        parts = ("alga", *Path(file).with_suffix("").parts)
        self._package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self._package else parts)
        self._path, self._tree = SOURCE / file, tree

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        loader = _Loader(name, str(self._path))
        loader.tree = self._tree
        inside = [str(self._path.parent)] if self._package else None
        return importlib.util.spec_from_file_location(
            name, self._path, loader=loader, submodule_search_locations=inside
        )


def preload(modules: Sequence[str]) -> None:
    """Import what the tests import, except the package and the tests themselves."""
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:
            continue


def forked(work: Callable[[], int], log: Path, cpu: float, wall: float) -> int | None:
    """Run a function in its own process; return its exit code, None on timeout."""
    log.parent.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(out, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 2))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            code = work()
            sys.stdout.flush()
        except BaseException:
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
            code = 99
        finally:
            os._exit(code)
    until = time.monotonic() + wall
    try:
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
            time.sleep(0.02)
    except BaseException:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_tests(arguments: Sequence[str], plugin: object) -> int:
    """Run pytest with a private temporary folder, and remove it."""
    from hypothesis import configuration

    folder = Path(tempfile.mkdtemp(prefix="alga-mutant-"))
    try:
        configuration.set_hypothesis_home_dir(folder / "hypothesis")
        return int(pytest.main([*OPTIONS, f"--basetemp={folder / 'tests'}", *arguments], plugins=[plugin]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def outcome_of(file: str, index: int | None, tests: list[str], seconds: float, log: Path) -> str:
    """Return the outcome of a mutant: killed, survived or timeout; tests may take ten times `seconds`.

    Without an index the file is unchanged and must survive; otherwise the trial itself is broken.
    """

    def work() -> int:
        source = (SOURCE / file).read_text()
        tree = ast.parse(source) if index is None else mutated(source, index)
        finder = _Finder(file, tree)
        _disable_numba_cache(finder.name)
        sys.meta_path.insert(0, finder)
        importlib.import_module(finder.name)  # before pytest, which finds doctest files by itself
        return run_tests(list(dict.fromkeys(test.split("::")[0] for test in tests)), Selected(tests))

    if not tests:
        return "survived"
    cpu = 30 + 10 * seconds
    code = forked(work, log, cpu, 4 * cpu)
    if code is None:
        return "timeout"
    return "survived" if code == pytest.ExitCode.OK else "killed"


def _disable_numba_cache(module: str) -> None:
    """Disable numba's cache for a changed module: it does not notice a changed constant."""
    import numba

    real = numba.njit

    def jit(*arguments: Any, cache: bool = False, **options: Any) -> Any:
        if arguments or not cache:
            return real(*arguments, cache=cache, **options)
        return lambda function: real(cache=function.__module__ != module, **options)(function)

    numba.njit = jit
