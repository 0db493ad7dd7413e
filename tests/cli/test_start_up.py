"""Start-up: nothing slow is imported, and a missing library is explained in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from alga.cli.app import main
from alga.runs import SHIPPED


def test_help_errors_and_certified_sums_do_not_import_torch() -> None:
    script = "import sys; sys.argv = {!r}; import alga.cli.app\ntry: alga.cli.app.main()\nexcept SystemExit: pass\n"
    script += (
        "slow = [name for name in ('torch', 'numpy', 'numba', 'matplotlib') if name in sys.modules]\nassert not slow"
    )
    sums = (["add", "65785", "8765"], ["add", "9" * 5000, "1", "--json"])
    for arguments in (
        ["--help"],
        ["add", "--help"],
        ["train", "--help"],
        ["lab"],
        ["lab", "study", "-h"],
        ["--version"],
        ["add", "5"],
        *sums,
    ):
        done = subprocess.run(
            [sys.executable, "-c", script.format(["alga", *arguments])], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["add", "1", "2"],
        ["mul", "1", "3"],
        pytest.param(["add", "1", "2", "--engine", "sequential"], marks=pytest.mark.slow),
    ],
)
def test_one_gigabyte_of_address_space_is_enough(arguments: list[str]) -> None:
    command = ["bash", "-c", f'ulimit -v 1048576; exec {sys.executable} -m alga "$@"', "bash", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@pytest.mark.parametrize(
    ("package", "arguments", "said"),
    [
        ("numba", "add 1 2 --engine sequential", "alga: numba cannot be loaded: "),
        ("torch", "train --out nowhere", "alga: this needs torch: pip install 'alga-adder[train]'"),
    ],
)
def test_missing_library_is_a_one_line_error(package: str, arguments: str, said: str, tmp_path: Path) -> None:
    """As with too little memory, or when it is not installed."""
    done = _without(package, arguments, tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(said)


def test_import_error_in_our_own_files_keeps_its_traceback(tmp_path: Path) -> None:
    assert "Traceback" in _without("alga.network.decoder", "add 1 2 --engine sequential", tmp_path).stderr


def _without(package: str, arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.modules['{package}'] = None; sys.argv = {['alga', *arguments.split()]}\n"
    script += "import alga.cli.app; alga.cli.app.main()"
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize("threads", ["0", pytest.param("-3", marks=pytest.mark.slow)])
def test_thread_count_refused_by_numba_is_one_line(threads: str) -> None:
    command = [sys.executable, "-m", "alga", "add", "1", "2", "--engine", "sequential"]
    env = {**os.environ, "NUMBA_NUM_THREADS": threads}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"alga: NUMBA_NUM_THREADS must be at least 1, got {threads!r}\n"


def test_own_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("ours")

    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    monkeypatch.setattr("alga.solve.calculator.Calculator", broken)
    monkeypatch.setattr(sys, "argv", ["alga", "add", "1", "2"])
    with pytest.raises(ValueError, match="ours"):
        main()


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a zip that Python can import."""
    path = tmp_path_factory.mktemp("zip") / "alga.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in SHIPPED.parents[1].rglob("*.py"):
            archive.write(file, file.relative_to(SHIPPED.parents[2]))
        for file in (SHIPPED / "parity").iterdir():
            archive.write(file, file.relative_to(SHIPPED.parents[2]))
    return path


@pytest.mark.parametrize("arguments", [["add", "1", "2"], ["certify"], ["tasks"], ["solve", "parity", "1"]])
def test_package_in_a_zip_says_what_it_needs(arguments: list[str], zipped: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(zipped)!r}); sys.argv = ['alga', *{arguments}]\n"
    script += "import alga; assert '.zip' in alga.__file__; from alga.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"alga: {zipped}/alga/runs/models is not a folder")
    assert "unpack" in done.stderr
