"""Exports: the table in other languages, the network in another runtime."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from alga import export, tasks
from alga.base.errors import AlgaError
from alga.export import formats
from alga.solve.solver import Solver
from tests.conftest import ROOT, Alga, program

PAGE = ROOT / "docs" / "export.md"


def example(language: str, number: int = 0) -> str:
    """Return an example from docs/export.md, verbatim."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]


def test_table_runs_with_the_documented_python(tmp_path: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = alga("export", "table.json")
    assert written.code == 0
    assert "all 2,300 prompts" in written.out
    ran = subprocess.run([sys.executable, "-c", example("python")], capture_output=True, text=True, check=True)
    assert ran.stdout == "74550\n"


def test_table_runs_with_the_documented_javascript(tmp_path: Path, adder: Solver) -> None:
    (tmp_path / "table.json").write_bytes(export.table(adder))
    more = 'console.log(solve("9".repeat(50), "1"), solve("0", "000"), solve("7", "123"));'
    (tmp_path / "run.js").write_text(example("js") + more)
    ran = subprocess.run([program("node"), "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["74550", str(10**50), "0", "130"]


def test_table_describes_itself(adder: Solver) -> None:
    content = json.loads(export.table(adder))
    assert (content["format"], content["task"], content["certified"]) == ("alga-table-1", "addition", True)
    assert content["weights_sha256"] == adder.run.sha256
    assert len(content["start"]) + sum(map(len, content["after"].values())) == 2300
    assert content["after"]["10"]["86"] == "15"
    with pytest.raises(AlgaError, match="its table would not run elsewhere"):
        export.table(Solver.load("addition-lookahead"))
    with torch.no_grad():
        (changed := Solver.load()).run.model.head.weight[3] += 0.01
    content = json.loads(export.table(changed))
    assert (content["certified"], content["certificate"]) == (False, None)
    assert content["weights_sha256"] == changed.run.sha256 != adder.run.sha256


@pytest.mark.parametrize("arguments", [["out.txt"], ["out.onnx", "--format", "abacus"], ["nowhere/table.json"], ["."]])
def test_impossible_export_is_a_one_line_error(
    alga: Alga, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = alga("export", *arguments)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_missing_export_packages_error_says_how_to_install(adder: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    hint = r"ONNX export needs onnxruntime: pip install 'alga-adder\[export\]'"
    with pytest.raises(AlgaError, match=hint):
        export.onnx(adder)


def test_runtime_with_one_different_answer_is_refused(adder: Solver) -> None:
    """Replace onnxruntime with the network itself, wrong on one prompt, alone or in a batch."""
    import numpy as np

    tokens, domain = adder.run.config.tokens, list(tasks.find("addition").domain)
    right = {prompt: tokens.outputs([adder.trained.domain[prompt].output])[0] for prompt in domain}

    def run(ids: np.ndarray, wrong_from: int) -> np.ndarray:
        prompts = ["".join(tokens.vocabulary[i] for i in row).rstrip("P") for row in ids.tolist()]
        rows = [right[prompt] for prompt in prompts]
        if len(rows) >= wrong_from and "15C77" in prompts:
            rows[prompts.index("15C77")] = [3, 8, 1]
        return np.array(rows)

    formats._compare(adder, lambda ids: run(ids, 10**9), lambda done, total: None)
    with pytest.raises(AlgaError, match="answers 15C77 with '16S', the network here with '15S'"):
        formats._compare(adder, lambda ids: run(ids, 2), lambda done, total: None)
    with pytest.raises(AlgaError, match="answers 15C77 with '16S'"):
        formats._compare(adder, lambda ids: run(ids, 1) if len(ids) == 1 else run(ids, 10**9), lambda done, total: None)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["addition", "addition-lookahead"])
def test_onnxruntime_matches_the_network(
    model: str, tmp_path: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = alga("export", "adder.onnx", "--model", model)
    assert written.code == 0, written.err
    if model == "addition":
        ran = subprocess.run([sys.executable, "-c", example("python", 1)], capture_output=True, text=True, check=True)
        assert ran.stdout == "15S\n"
    import onnx

    described = {
        entry.key: json.loads(entry.value) for entry in onnx.load("adder.onnx").metadata_props if entry.key != "task"
    }
    assert (described["certified"], described["weights_sha256"]) == (True, Solver.load(model).run.sha256)
