"""Answers, certificates and trainings on the command line: what is printed, JSON keys, exit codes."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import torch

from alga import tasks
from alga.base.errors import AlgaError
from alga.research.studies.published import SUMS
from alga.runs import SHIPPED
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.training.trainer import Training
from tests.conftest import Alga, Result, tiny
from tests.solve.paper_traces import FIRST

ADD_KEYS = [
    "task", "engine", "model", "operands", "answer", "steps", "rounds", "generated_tokens", "certified",
    "network_calls", "base", "certificates",
]  # fmt: skip
CERTIFY_KEYS = {
    "certified", "task", "strength", "prompts", "failures", "least_margin", "parameters", "sha256", "dtype",
}  # fmt: skip


def test_add_prints_the_sum(alga: Alga) -> None:
    assert alga("add", "65785", "8765") == Result(0, "74550\n", "")


@pytest.mark.parametrize(("x", "y", "published"), SUMS)
def test_published_sums_are_reproduced(alga: Alga, x: str, y: str, published: str) -> None:
    assert alga("add", x, y).out == f"{published}\n"
    assert tasks.find("addition").oracle(x, y) == published


def test_add_trace_prints_the_papers_table(alga: Alga) -> None:
    assert alga("add", "65785", "8765", "--trace").out == f"{FIRST}\n"


def test_more_than_two_numbers_are_folded(alga: Alga) -> None:
    assert alga("add", "1", "22", "333", "4444").out == "4800\n"
    assert json.loads(alga("add", "1", "22", "333", "--json").out)["steps"] == 3  # three at once
    assert json.loads(alga("add", "1", "22", "333", "--model", "addition", "--json").out)["steps"] == 5
    assert "  23+333 = 356" in alga("add", "1", "22", "333", "--model", "addition", "--trace").out


def test_add_json_keys_are_in_order(alga: Alga) -> None:
    content = json.loads(alga("add", "65785", "8765", "--json").out)
    assert list(content) == ADD_KEYS
    assert (content["answer"], content["steps"], content["certified"]) == ("74550", 5, True)
    traced = json.loads(alga("add", "5", "5", "--json", "--trace").out)
    assert list(traced) == [*ADD_KEYS, "trace"]
    assert traced["trace"][0]["output"] == "10S"


def test_certify_says_what_was_checked(alga: Alga, tmp_path: Path) -> None:
    judged = alga("certify", "--json", "--out", tmp_path / "certificate.json")
    content = json.loads((tmp_path / "certificate.json").read_text())
    assert (judged.code, judged.out) == (0, "")
    assert content.keys() >= CERTIFY_KEYS
    assert (content["certified"], content["prompts"], content["strength"]) == (True, 2300, "checked")
    assert content["failures"] == []
    assert content["sha256"] == hashlib.sha256((SHIPPED / "addition" / "model.safetensors").read_bytes()).hexdigest()


def test_certify_ignores_the_stored_certificate(alga: Alga, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    list(Training.start(folder, tiny(), seed=5).run())
    (folder / "certificate.json").write_text("nonsense")
    assert alga("certify", folder).out.startswith("6 / 6 prompts right, on this machine\ncertified for parity")


def test_train_ends_with_a_certificate(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.training.recipes.find", lambda name, task: tiny())
    done = alga("train", "--seed", "5", "--out", tmp_path / "run")
    assert done.code == 0
    assert "certified for parity of any length" in done.out
    short = alga("train", "--steps", "2", "--out", tmp_path / "short", "--json")
    assert short.code == 1
    assert json.loads(short.out)["certified"] is False
    assert (tmp_path / "short" / "checkpoint.safetensors").exists()
    longer = alga("train", "--resume", tmp_path / "short", "--steps", "400")
    assert longer.code == 0


@pytest.fixture
def uncertified(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(SHIPPED / "addition", tmp_path / "uncertified"))
    (folder / "certificate.json").unlink()
    return folder


def test_uncertified_model_answers_with_a_warning(alga: Alga, uncertified: Path) -> None:
    said = alga("add", "2", "2", "--model", uncertified, "--json")
    assert said.code == 0
    assert json.loads(said.out)["certified"] is False
    assert "has no certificate" in said.err


def test_failed_step_is_reported_with_exit_code_1(alga: Alga, tmp_path: Path) -> None:
    calculator = Solver.load()
    with torch.no_grad():
        calculator.run.model.head.weight[1] = 0.0  # the row of S: the network now rarely stops
        calculator.run.model.head.weight[1, 0] = -1e4
    calculator.save(tmp_path / "endless")
    failed = alga("add", "12", "34", "--model", tmp_path / "endless", "--json")
    content = json.loads(failed.out)
    assert (failed.code, content["answer"]) == (1, None)
    assert "the network failed at step" in content["failure"]
    assert content["failure"] in failed.err
    assert alga("add", "12", "34", "--model", tmp_path / "endless").out == ""


def test_certificate_for_other_weights_is_exit_code_2(alga: Alga, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SHIPPED / "addition", tmp_path / "run"))
    content = json.loads((folder / "certificate.json").read_text())
    (folder / "certificate.json").write_text(json.dumps({**content, "sha256": "0" * 64}))
    result = alga("add", "1", "2", "--model", folder)
    assert (result.code, result.out) == (2, "")
    assert "certificate is for other weights" in result.err


def test_model_for_another_task_does_not_add(alga: Alga) -> None:
    result = alga("add", "1", "1", "--model", "parity")
    assert result.code == 2
    assert "does no arithmetic: it computes whether a binary number has an odd number of ones" in result.err


def test_existing_run_in_the_output_folder_is_not_overwritten(alga: Alga, tmp_path: Path) -> None:
    list(Training.start(tmp_path / "run", tiny(steps=2), seed=5).run())
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    result = alga("train", "--out", tmp_path / "run")
    assert result.code == 2
    assert "already holds a run" in result.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_non_text_input_is_refused_with_a_message(adder: Solver) -> None:
    for engine in (None, "sequential", "lookahead"):
        with pytest.raises(AlgaError, match="expected a number as text of digits, got float"):
            adder.solve(65785.0, 8765.0, engine=engine)  # type: ignore[arg-type]
        with pytest.raises(AlgaError, match="expected a number as text of digits, got bool"):
            Calculator(engine=engine).add(True, 1)


def test_demo_shows_everything_it_announces(alga: Alga) -> None:
    shown = alga("demo")
    assert shown.code == 0
    assert "2,300 / 2,300 prompts right" in shown.out
    assert FIRST in shown.out
    assert all(published in shown.out for _, _, published in SUMS)
    assert shown.out.count("right") >= 4
    assert "WRONG" not in shown.out


def test_demo_shows_a_wrong_network(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.research.studies.published.SUMS", (("2", "2", "5"),))
    monkeypatch.setattr("alga.solve.solver.Solver.certify", lambda self, watch: self.run.certificate)
    shown = alga("demo")
    assert shown.code == 1
    assert "WRONG" in shown.out
