"""Slow: the wheel in a clean environment, as a user would have it."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_wheel_installed_into_a_clean_environment_has_the_adder(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("alga-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "alga/models/addition/model.safetensors" in names
    assert "alga/py.typed" in names
    assert "alga/serve/page/index.html" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)
    run(*pip, "--python", python, "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
    script = "import alga; a = alga.load(); print(a.add('65785', '8765'), a.certified)"
    assert run(python, "-W", "error", "-c", script, cwd=tmp_path) == "74550 True\n"
    command = tmp_path / "clean" / "bin" / "alga"
    assert run(command, "certify", cwd=tmp_path).startswith("2,300 / 2,300 prompts right")
    installed = run(*pip, "--python", python, "list")
    assert not any(tool in installed for tool in ("pytest", "mypy", "ruff", "hypothesis"))


def blocks(language: str) -> list[str]:
    """Return the README's code blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_the_readmes_python_works_as_pasted(tmp_path: Path) -> None:
    (code,) = blocks("python")
    printed = run(sys.executable, "-W", "error", "-c", code, cwd=tmp_path)
    assert printed.startswith("74550\ncertified for addition of any length")
    assert "Final answer: 18843" in printed
    assert (tmp_path / "my-adder" / "certificate.json").exists()


def test_the_readmes_commands_work_as_pasted(tmp_path: Path) -> None:
    commands = [block for block in blocks("sh") if "alga " in block]
    assert len(commands) == 2
    bin_folder = Path(sys.executable).parent
    script = "\n".join([f'set -e; PATH="{bin_folder}:$PATH"', *commands])
    printed = run("bash", "-c", script, cwd=tmp_path)
    assert printed.startswith("1000000000000000000000000\n")
    assert (tmp_path / "runs" / "quick" / "paper.md").exists()


def test_the_readmes_trace_is_what_the_command_prints() -> None:
    (shown,) = blocks("console")
    command, _, expected = shown.partition("\n")
    assert run(sys.executable, "-m", *command.removeprefix("$ ").split()) == expected
