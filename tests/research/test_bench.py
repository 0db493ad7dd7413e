"""The benchmark: sums are checked, skipped timings say why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alga.base.errors import AlgaError
from alga.research.bench import methods
from alga.research.bench import timing as bench
from alga.research.bench.methods import Method
from alga.research.bench.timing import Bench, Cell
from alga.solve.calculator import Calculator
from alga.solve.result import Results
from alga.solve.solver import Solver
from tests.conftest import Alga


@pytest.mark.slow
def test_small_benchmark_times_every_method_and_draws_them(
    alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "BATCH_SUMS", 3)
    monkeypatch.setattr(bench, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(methods, "FILE_DIGITS", 1000)
    monkeypatch.setattr(bench, "TURNS", 1)
    figure, out = tmp_path / "speed.svg", tmp_path / "bench.json"
    result = alga("lab", "bench", "--max-digits", "1000", "--out", out, "--figure", figure)
    assert result.code == 0
    content = json.loads(out.read_text())
    assert {"plain", "sequential", "batched", "lookahead", "table", "files", "int", "decimal", "copy"} <= set(
        content["ways"]
    )
    for name in set(content["ways"]) - {"files", "copy"}:
        assert [cell["right"] for cell in content["cells"][name]] == [True, True]
    assert content["cells"]["files"][1]["right"]
    assert content["cells"]["files"][0]["skipped"] == "starts at 1,000 digits"
    assert content["lookahead_rounds"] == {"100": 9, "1000": 12}
    assert content["ratios"]["sequential over plain at 1,000"] > 0
    assert "engine table, file to file" in result.out
    assert [*content["subjects"]] == ["short", "many", "lines", "python", "products", "quotients"]
    for name, subject in content["subjects"].items():
        assert all(cell["right"] for cells in subject["cells"].values() for cell in cells), name
        ratios = subject["times as long as command" if name == "python" else "times as long as int"]
        assert ratios["script at 100" if name == "python" else "alga at 1,000"] > 0
        assert subject["title"] in result.out
        assert (tmp_path / f"speed-{name}.svg").read_text().count("<use") > 2
    assert figure.read_text().count("<use") > 20  # markers of points


def test_own_run_is_timed_without_lookahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "BATCH_SUMS", 3)
    Solver.load().save(tmp_path / "mine")
    with methods.ways(Solver.load(tmp_path / "mine")) as ways:
        assert "sequential" in {way.name for way in ways}
        assert "lookahead" not in {way.name for way in ways}
    with pytest.raises(AlgaError, match="adds two numbers in base ten; the model addition-base-16 does not"):
        bench.run(Solver.load("addition-base-16"))


def _odd_method(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(methods, "_gmpy2", lambda: [Method("odd", "an odd method", lambda x, y: x)])


def _wrong_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(methods, "FILE_DIGITS", 100)
    patch.setattr(Solver, "stream", lambda self, paths, sink, watch=None: sink.write(b"42"))


def _second_of_a_batch(patch: pytest.MonkeyPatch) -> None:
    solve = Solver.solve_many

    def wrong(self: Solver, problems: Any, **how: Any) -> Any:
        answers = solve(self, problems, **how)
        return Results.of([answer.told(answer=answers[0].answer) for answer in answers])

    patch.setattr(Solver, "solve_many", wrong)


def _wrong_product(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Calculator, "mul", lambda *_: "42")


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [_odd_method, _wrong_files, _second_of_a_batch, _wrong_product])
def test_wrong_sum_fails_the_benchmark(
    alga: Alga, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pytest.MonkeyPatch], None]
) -> None:
    spoil(monkeypatch)
    monkeypatch.setattr(methods, "BATCH_SUMS", 3)
    monkeypatch.setattr(bench, "TURN_SECONDS", 0.0)
    assert alga("lab", "bench", "--max-digits", "100").code == 1


def test_timing_expected_over_a_minute_is_skipped() -> None:
    way = Method("slow", "a slow method", lambda x, y: None)
    found = Bench([way], {"slow": [Cell(100, seconds=0.1), Cell(1000, seconds=10.0)]})
    assert bench._begin(found, way, 10_000).skipped == "would take about 1,000 s"
    assert bench._begin(found, way, 100_000).skipped == "would take about 100,000 s"
    linear = Bench([way], {"slow": [Cell(100, seconds=0.1), Cell(1000, seconds=1.0)]})
    assert bench._begin(linear, way, 10_000).skipped == ""


def test_numbers_depend_only_on_length_and_seed() -> None:
    assert bench.pair(1000) == bench.pair(1000) != bench.pair(1000, 1)
    assert [len(number) for number in bench.pair(1000)] == [1000, 1000]
    assert bench.pair(1000)[0].isdigit()


@pytest.mark.parametrize("digits", ["99", "0", "-5"])
def test_too_few_digits_are_refused(alga: Alga, digits: str) -> None:
    refused = alga("lab", "bench", "--max-digits", digits)
    assert refused.code == 2
    assert "the benchmark starts at 100 digits" in refused.err
