"""Exports of networks that read whole texts, by small networks with random weights."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from alga import export, tasks
from alga.base.errors import AlgaError
from alga.export import readers
from alga.network.kinds import tokens_of
from alga.network.reader import Reader
from alga.network.reader_config import ReaderConfig
from alga.network.step import Decode
from alga.runs import Run, Weights
from alga.runs.config import Config
from alga.solve.solver import Solver
from alga.trust.table import Table
from tests.conftest import ROOT, Alga

PAGE = ROOT / "docs" / "export.md"
TABLE_PROGRAM, ONNX_PROGRAM = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[2:4]


def random_reader(base: int = 10, **shape: Any) -> Solver:
    """Return a network with random weights, which writes digits only and so never stops."""
    task = tasks.find(tasks.in_base("addition-whole", base))
    model = ReaderConfig(vocabulary=len(tokens_of(task).vocabulary), width=16, heads=2, hidden=32, **shape)
    config, network, draw = Config(task=task, model=model), Reader(model), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=draw))
        for layer in network.layers:
            layer.attention.slopes.fill_(1.0)
        network.final_norm.weight[0], network.final_norm.bias[0] = 0.0, 1.0  # a constant, against the signs
        network.head.weight[:base, 0], network.head.weight[base:, 0] = 0.0, -50.0
    arrays = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    return Solver(Run(name="random", config=config, weights=Weights.holding(config, arrays)))


def exact_reader(faulty: Callable[..., Decode], faults: dict[str, str]) -> Solver:
    """Return a network with every answer right but the given ones."""
    solver = random_reader()
    decode = faulty(solver.trained, faults)

    class Decoder:
        tokens = solver.reader.tokens

        def __call__(self, prompts: list[str]) -> Any:
            return decode(prompts)

        def refresh(self) -> None:
            pass

    solver.decoder = Decoder()  # type: ignore[assignment]
    return solver


def numbers_of(rng: Random, digits: int) -> tuple[str, str]:
    """Return two numbers, one of them with that many digits."""
    shorter = rng.randint(1, digits)
    return str(rng.randrange(10 ** (digits - 1), 10**digits)), str(rng.randrange(10**shorter))


@pytest.fixture(scope="module")
def reader() -> Solver:
    return random_reader()


# --- the table --------------------------------------------------------------------------------------------------------


def test_table_holds_the_networks_answer_in_every_situation(reader: Solver) -> None:
    content = json.loads(export.table(reader))
    domain = list(reader.trained.domain)
    assert content["next"] == {step.prompt: step.text for step in reader.decode(domain)}
    assert len(set(content["next"].values())) > 5  # the network is not a constant
    assert (content["format"], content["task"]) == ("alga-table-whole-1", "addition-whole")
    assert (content["certified"], content["certificate"]) == (False, None)
    assert content["weights_sha256"] == reader.run.sha256
    assert ("".join(content["vocabulary"]), "".join(content["digits"])) == ("0123456789+=S", "0123456789")
    assert (content["plus"], content["equals"], content["stop"]) == ("+", "=", "S")


def test_table_adds_numbers_of_any_length_by_the_documented_program(
    tmp_path: Path, faulty: Callable[..., Decode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("whole.json").write_bytes(export.table(exact_reader(faulty, {})))
    ran = subprocess.run([sys.executable, "-I", "-c", TABLE_PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout == "74550\n"
    program: dict[str, Any] = {}
    exec(TABLE_PROGRAM.rpartition("print(")[0], program)
    add, table, rng = program["add"], json.loads(Path("whole.json").read_text()), Random(0)
    for digits in (1, 1, 2, 2, 3, 5, 8, 40, 300):
        a, b = numbers_of(rng, digits)
        assert add(table, a, b) == add(table, b, a) == str(int(a) + int(b))
    assert add(table, "9" * 200, "1") == str(10**200)
    assert (add(table, "0", "000"), add(table, "007", "5")) == ("0", "12")


def test_certified_table_that_the_network_contradicts_is_not_exported(
    reader: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = {**reader.table.outputs, "78+76=5": "S"}
    forged = Solver(dataclasses.replace(reader.run, table=Table(reader.trained.name, outputs)))
    for claim in ("certified", "current"):
        monkeypatch.setattr(Run, claim, True)
    with pytest.raises(AlgaError, match=r"for '78\+76=5', but its certified table says 'S'"):
        export.table(forged)


@pytest.mark.parametrize(
    ("faults", "answer"),
    [
        ({"5+5=": "1"}, "11"),  # a wrong answer, as the network would give it
        ({"5+5=": "3"}, None),  # a digit that no sum has there
        ({"5+5=": "+"}, None),
        ({"5+5=": "S"}, None),  # nothing written
        ({"+=1": "1"}, None),  # never stops
    ],
)
def test_documented_program_gives_an_imperfect_networks_answers(
    faults: dict[str, str], answer: str | None, faulty: Callable[..., Decode]
) -> None:
    table = json.loads(export.table(exact_reader(faulty, faults)))
    program: dict[str, Any] = {}
    exec(TABLE_PROGRAM.rpartition("print(")[0], program)
    if answer is not None:
        assert program["add"](table, "5", "5") == answer
        return
    with pytest.raises(ValueError, match="has no answer to this"):
        program["add"](table, "5", "5")


# --- ONNX -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(reader: Solver) -> bytes:
    return export.onnx(reader)


def feed_of(solver: Solver, text: str) -> dict[str, np.ndarray]:
    kinds, size = solver.reader.tokens.kinds(text), len(solver.reader.tokens.vocabulary)
    places = solver.reader.tokens.places(text)
    return {"ids": kinds[None] % size, "parts": kinds[None] // size, "places": places[None]}


@pytest.mark.slow
@pytest.mark.parametrize("digits", [1, 2, 3, 10, 300])
def test_onnxruntime_generates_what_the_network_generates(digits: int, reader: Solver, file: bytes) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(file)
    question = reader.reader.tokens.task.question(*numbers_of(Random(digits), digits))
    expected = reader.reader.continued(question, digits + 2).text
    text = question
    for _ in expected:
        (tokens,) = session.run(["tokens"], feed_of(reader, text))
        text += reader.reader.tokens.vocabulary[tokens[0, -1]]
    assert text == question + expected
    assert digits < 300 or len(set(expected)) > 3  # the network is not a constant


@pytest.mark.slow
def test_padding_changes_nothing_in_onnxruntime(reader: Solver, file: bytes) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(file)
    plain = feed_of(reader, "65785+8765=0554")
    (expected,) = session.run(["logits"], plain)
    before, after = 4, 3
    padded = {
        name: np.pad(row, [(0, 0), (before, after)], constant_values=-1 if name == "places" else 1)
        for name, row in plain.items()
    }
    (found,) = session.run(["logits"], padded)
    assert found.shape == (1, 22, 13)
    np.testing.assert_allclose(found[:, before:-after], expected, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_onnx_file_describes_itself_and_runs_with_the_documented_program(
    tmp_path: Path, reader: Solver, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx

    monkeypatch.chdir(tmp_path)
    Path("whole.onnx").write_bytes(file)
    described = {entry.key: entry.value for entry in onnx.load("whole.onnx").metadata_props}
    assert described.pop("task") == "addition-whole"
    assert {key: json.loads(value) for key, value in described.items()} == {
        "vocabulary": [*"0123456789+=S"],
        "weights_sha256": reader.run.sha256,
        "certified": False,
        "certificate": None,
    }
    ran = subprocess.run([sys.executable, "-I", "-c", ONNX_PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout == f"65785+8765={reader.reader.continued('65785+8765=', 7).text}\n"


@pytest.mark.slow
@pytest.mark.parametrize("shape", [{"layers": 2}, {"window": True, "keys": False}])
def test_readers_of_other_shapes_are_exported_as_onnx_by_the_command_line(
    shape: dict[str, Any], tmp_path: Path, alga: Alga
) -> None:
    random_reader(2, **shape).save(tmp_path / "run")
    written = alga("export", tmp_path / "run", tmp_path / "whole.onnx")
    assert written.code == 0, written.err
    assert written.out.endswith("bytes, the network's answers in all 52 situations\n")


def test_runtime_that_differs_in_one_situation_or_sum_is_refused() -> None:
    """Replace onnxruntime with the network itself, wrong in one place, alone or in a batch."""
    solver, situation = random_reader(2), "01+11=1"
    token = solver.decode([situation])[0].text
    other = next(each for each in "01" if each != token)
    shown = next(each for each in readers.all_situations(solver) if each.name == situation)
    (long,) = [each for each in readers.some_sums(solver) if len(each.written) > 90]

    def run(
        feed: dict[str, np.ndarray], wrong: readers.Reading | None, batched: bool, tokens_too: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            logits = solver.run.model(*map(torch.from_numpy, feed.values())).numpy()
        tokens = logits.argmax(axis=-1)
        if wrong is not None and batched == (len(feed["ids"]) > 1):
            inputs = readers.inputs_of([wrong], 5)
            for row in range(len(tokens)):
                real = feed["places"][row] >= 0
                if all(np.array_equal(feed[name][row, real], inputs[name][0]) for name in feed):
                    tokens[row, -1] = int(other) if tokens_too else tokens[row, -1]
                    logits[row, -1, 0] += 0.01 * abs(logits).max()
        return tokens, logits

    def compare(**how: Any) -> None:
        readers._compare(solver, lambda feed: run(feed, **how), lambda done, total: None)

    compare(wrong=None, batched=True, tokens_too=True)
    for batched in (True, False):
        with pytest.raises(AlgaError, match=rf"continues 01\+11=1 with '{other}', the network here with '{token}'"):
            compare(wrong=shown, batched=batched, tokens_too=True)
        with pytest.raises(AlgaError, match=r"logits after 01\+11=1 differ from those here by"):
            compare(wrong=shown, batched=batched, tokens_too=False)
        with pytest.raises(AlgaError, match=r"logits after [01]+\+[01]+= differ"):
            compare(wrong=long, batched=batched, tokens_too=False)


# --- the command line -------------------------------------------------------------------------------------------------


def test_page_of_a_reader_is_a_one_line_error(tmp_path: Path, alga: Alga, reader: Solver) -> None:
    reader.save(tmp_path / "run")
    refused = alga("export", tmp_path / "run", tmp_path / "page.html")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "addition-whole reads whole texts: there are no steps" in refused.err
    assert not (tmp_path / "page.html").exists()
    written = alga("export", tmp_path / "run", tmp_path / "whole.json")
    assert (written.code, written.err) == (0, "")
    assert "in all 24,741 situations" in written.out
