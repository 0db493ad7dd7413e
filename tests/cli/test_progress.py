"""Progress on stderr: counts, time left, and no total if there is only an upper limit."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from alga.base import progress_bar
from alga.base.errors import AlgaError
from alga.research.studies import paper
from alga.solve.calculator import Calculator
from tests.conftest import Alga, tiny


def test_time_left_ignores_work_done_before_resuming(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0, 60.0, 80.0])
    monkeypatch.setattr("alga.base.progress_bar.time.monotonic", lambda: next(clock))
    watch = progress_bar._plain("runs")
    for done in (40, 42, 43):  # forty were done before resuming
        watch(done, 50)
    for done in (0, 1):  # the next task
        watch(done, 7)
    assert capsys.readouterr().err.splitlines() == [
        "runs: 40 of 50",
        "runs: 42 of 50, about 160 s left",
        "runs: 43 of 50, about 117 s left",
        "runs: 0 of 7",
        "runs: 1 of 7, about 120 s left",
    ]


def ticking(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Advance the clock by this many seconds on every reading; have a line every ten of them."""
    clock = itertools.count(0.0, seconds)
    monkeypatch.setattr(progress_bar, "PLAIN_SECONDS", 10.0)
    monkeypatch.setattr("alga.base.progress_bar.time.monotonic", lambda: next(clock))


def test_second_task_of_the_same_size_restarts_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ticking(monkeypatch, 10.0)
    watch = progress_bar._plain("solving")
    for done in (5, 9, 1, 2):  # the second task starts at 1
        watch(done, 10)
    assert capsys.readouterr().err.splitlines()[1:] == [
        "solving: 9 of 10, about 5 s left",
        "solving: 1 of 10",
        "solving: 2 of 10, about 80 s left",
    ]


def test_training_progress_names_no_end_but_the_certificate(
    alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alga.training.recipes.find", lambda name, task: tiny())
    ticking(monkeypatch, 10.0)
    done = alga("train", "--seed", "5", "--out", tmp_path / "run")
    assert json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])["step"] < 400
    first, *more = done.err.splitlines()
    assert first.startswith("training: 10 of at most 400, until certified; loss ")
    assert more
    for line in more:
        assert re.match(
            r"training: \d+ of at most 400, until certified; loss [0-9.]+, \d wrong, margin [0-9.]+(; about \d+ s |$)",
            line,
        )


def test_reproduction_progress_names_no_end_but_the_certificate(
    alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reproduced(folder: Path, scale: object, show: paper.Show, author: object) -> None:
        show("training", lambda watch: watch(3, 9) or {}, until="certified")
        show("adding", lambda watch: watch(3, 9) or {})
        raise AlgaError("that is enough")

    monkeypatch.setattr("alga.research.studies.paper.reproduce", reproduced)
    ticking(monkeypatch, 10.0)
    assert alga("lab", "paper", "--out", tmp_path).err.splitlines() == [
        "training …", "training: 3 of at most 9, until certified", "adding …", "adding: 3 of 9", "alga: that is enough"
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ["table", "sequential", "lookahead"])
@pytest.mark.parametrize("named", [True, False])
def test_pairs_progress_counts_problems_across_blocks(
    engine: str, named: bool, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alga.cli.pairs.PROBLEMS_PER_BATCH", 4)
    monkeypatch.setattr(Calculator, "bulk", lambda *_: None)  # whether or not the compiler is loaded
    ticking(monkeypatch, 10.0)
    (tmp_path / "pairs").write_text("12 34\n" * 10)
    monkeypatch.setattr(sys, "stdin", io.StringIO("12 34\n" * 10))
    result = alga("add", "--pairs", tmp_path / "pairs" if named else "-", "--engine", engine)
    assert result.out == "46\n" * 10
    lines = result.err.splitlines()
    done = [int(re.match(r"calculating: (\d+) ", line)[1]) for line in lines]  # type: ignore[index]
    assert done == sorted(done)
    assert {4, 8, 10} <= {*done}
    rest = {re.sub(r"\d+", "N", line) for line in lines[1:]}
    assert rest == ({"calculating: N of N, about N s left"} if named else {"calculating: N so far"})
    assert not named or all(" of 10" in line for line in lines)


@pytest.mark.parametrize(
    ("until", "total", "shown"),
    [("certified", 400, "10 of at most 400, until certified"), ("", 400, " 10/400 "), ("", 0, " 10/? ")],
)
def test_bar_shows_an_end_only_if_it_is_known(
    until: str, total: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Console(file=io.StringIO(), width=120, force_terminal=True, no_color=True)
    monkeypatch.setattr("rich.console.Console", lambda stderr: shell)
    monkeypatch.setattr(progress_bar, "QUICK_SECONDS", 0.0)
    with contextlib.ExitStack() as stack:
        watch = progress_bar._bar("training", stack, until)
        for done in (5, 10):
            watch(done, total, "loss 1")
    assert isinstance(shell.file, io.StringIO)
    assert shown in shell.file.getvalue()
    assert "loss 1" in shell.file.getvalue()
