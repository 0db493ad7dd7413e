"""Slow: the wheel in a clean environment, as a user installs it."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_runs_without_torch_in_a_clean_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "clean")
    python = tmp_path / "clean" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("alga_adder-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "alga/runs/models/addition/model.safetensors" in names
    assert "alga/py.typed" in names
    assert "alga/serve/page/index.html" in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)
    install = (*pip, "--python", python, "install", "--quiet", "--constraint", ROOT / "constraints.txt")
    run(*install, f"{wheel}[proof,serve]")
    installed = run(*pip, "--python", python, "list").lower()
    assert not any(tool in installed for tool in ("torch", "matplotlib", "pytest", "mypy", "ruff", "hypothesis"))
    script = "import alga; a = alga.load(); print(a.add('65785', '8765'), a.certified)"
    assert run(python, "-W", "error", "-c", script, cwd=tmp_path) == "74550 True\n"
    command = tmp_path / "clean" / "bin" / "alga"
    assert "Final answer: 74550" in run(command, "add", "65785", "8765", "--trace", cwd=tmp_path)
    assert run(command, "certify", cwd=tmp_path).startswith("2,300 / 2,300 prompts right")
    assert "(proven in real, float64, float32 arithmetic" in run(command, "certify", "parity", "--proof", cwd=tmp_path)
    assert "the certificate agrees: parity of any length is proven" in run(command, "verify", "parity", cwd=tmp_path)
    brought = tmp_path / "clean" / "lib"
    (weights,) = brought.glob("python*/site-packages/alga/runs/models/parity/model.safetensors")
    assert "check it with" in run(command, "import", weights, "--out", "mine", cwd=tmp_path)
    with subprocess.Popen(
        [command, "serve", "--port", "0", "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            found = (re.search(r"http://[0-9.]+:[0-9]+", line) for line in server.stdout)
            address = next(match[0] for match in found if match)
            answer = httpx.post(f"{address}/v1/add", json={"operands": ["65785", "8765"], "engine": "sequential"})
            step = httpx.get(f"{address}/v1/step", params={"prompt": "15C77"}, timeout=60)
        finally:
            server.terminate()
    assert (answer.json()["answer"], answer.json()["certified"]) == ("74550", True)
    assert (step.json()["text"], len(step.json()["attention"])) == ("15S", 2)
    done = subprocess.run([command, "train"], capture_output=True, text=True, check=False, cwd=tmp_path)
    needed = "alga: this needs torch: pip install 'alga-adder[train]'\n"
    assert (done.returncode, done.stderr) == (2, needed)


def blocks(language: str, page: str) -> list[str]:
    """Return a page's code blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_readme_python_runs_as_pasted(tmp_path: Path) -> None:
    (code,) = blocks("python", "README.md")
    printed = run(sys.executable, "-W", "error", "-c", code, cwd=tmp_path).splitlines()
    said = re.findall(r"^print\(.*  # (.*)$", code, flags=re.MULTILINE)
    assert printed[:2] == said[:2] == ["74550", "-1776"]
    assert said[2].endswith("; …")
    assert printed[2].startswith(said[2].removesuffix("…"))
    assert "Final answer: 18843" in printed[-1]


def test_docs_python_runs_as_pasted(tmp_path: Path) -> None:
    (code,) = blocks("python", "docs/usage.md")
    printed = run(sys.executable, "-W", "error", "-c", code, cwd=tmp_path)
    assert printed.startswith("74550\n-1776\n(-4, 1)\n100\ncertified for addition of any length")
    assert "1776 True ['times-a-digit', 'addition'] 7\n" in printed
    assert "Final answer: 18843" in printed
    assert (tmp_path / "my-adder" / "certificate.json").exists()


def test_docs_commands_run_as_pasted(tmp_path: Path) -> None:
    commands = [block for block in blocks("sh", "docs/usage.md") if "alga " in block]
    assert len(commands) == 2
    bin_folder = Path(sys.executable).parent
    script = "\n".join([f'set -e; PATH="{bin_folder}:$PATH"', *commands])
    printed = run("bash", "-c", script, cwd=tmp_path)
    assert printed.startswith("1000000000000000000000000\n")
    assert (tmp_path / "runs" / "quick" / "paper.md").exists()


def test_readme_trace_matches_the_command() -> None:
    (shown,) = blocks("console", "README.md")
    command, _, expected = shown.partition("\n")
    assert run(sys.executable, "-m", *command.removeprefix("$ ").split()) == expected.partition("$ ")[0]
