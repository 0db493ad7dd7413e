"""Sweeps: results stream, nothing runs twice, lost runs restart; plans and statistics."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alga.base import files
from alga.base.errors import AlgaError
from alga.research import statistics, sweeps, trials
from alga.research.sweeps.sweep import MAX_LOST_ALONE
from alga.training import recipes
from alga.training.changes import changed
from tests.conftest import Result

ATTEMPTS = 1 + MAX_LOST_ALONE  # the first beside other runs

MODULE = '''
import os, signal
from pathlib import Path


def square(settings):
    """Leave a mark for every call; fail or die if asked to, the first time or always."""
    marks = Path(settings["marks"])
    mark = marks / f"{settings['x']}-{len(list(marks.glob(str(settings['x']) + '-*')))}"
    mark.touch()
    first = mark.name.endswith("-0")
    if settings.get("dies") == "always" or (settings.get("dies") == "once" and first):
        os.kill(os.getpid(), signal.SIGKILL)
    if settings.get("fails") and first:
        raise ValueError("no luck")
    return {"square": settings["x"] ** 2}
'''


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a module where workers find it; return the folder where its calls leave marks."""
    (tmp_path / "squares.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "marks").mkdir()
    yield tmp_path / "marks"
    sys.modules.pop("squares", None)


def squares(
    marks: Path, out: Path | str, *plan: dict[str, object], say: sweeps.Say = lambda _: None
) -> list[sweeps.Row]:
    settings = [{"marks": str(marks), **given} for given in plan]
    return sweeps.run("squares:square", settings, out, workers=2, say=say)


def test_results_keep_their_order_and_are_not_run_again(marks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    plan = [{"x": x} for x in (3, 1, 2, 3)]
    rows = squares(marks, str(out), *plan)
    assert [row.result for row in rows] == [{"square": x} for x in (9, 1, 4, 9)]
    assert len(out.read_text().splitlines()) == 3
    with out.open("a") as file:
        file.write('{"measure": "squares:squ')  # left by a kill in the middle of a line
    rows = squares(marks, out, *plan, {"x": 4})
    assert [row.result for row in rows] == [{"square": x} for x in (9, 1, 4, 9, 16)]
    assert sorted(path.name for path in marks.iterdir()) == ["1-0", "2-0", "3-0", "4-0"]
    assert all(json.loads(line)["result"] for line in out.read_text().splitlines())


def test_failed_run_is_recorded_and_retried(marks: Path, tmp_path: Path) -> None:
    said: list[str] = []
    out = tmp_path / "out.jsonl"
    plan = ({"x": 1, "fails": True}, {"x": 2})
    rows = squares(marks, out, *plan, say=said.append)
    assert [row.error for row in rows] == ["ValueError: no luck", None]
    assert said == ["a run failed: ValueError: no luck"]
    assert [row.result for row in squares(marks, out, *plan)] == [{"square": 1}, {"square": 4}]


def test_run_of_a_lost_worker_is_restarted(marks: Path, tmp_path: Path) -> None:
    said: list[str] = []
    plan = ({"x": 1, "dies": "once"}, *({"x": x} for x in range(2, 7)))
    rows = squares(marks, tmp_path / "out.jsonl", *plan, say=said.append)
    assert [row.result for row in rows] == [{"square": x * x} for x in range(1, 7)]
    assert rows[0].attempts > 1
    assert said
    assert said[0].startswith("a worker was lost")


def test_run_that_always_kills_its_worker_is_given_up(marks: Path, tmp_path: Path) -> None:
    rows = squares(marks, tmp_path / "out.jsonl", {"x": 1, "dies": "always"}, *({"x": x} for x in range(2, 7)))
    assert rows[0].error == f"its worker was lost {ATTEMPTS} times"
    assert len(list(marks.glob("1-*"))) == ATTEMPTS
    assert [row.result for row in rows[1:]] == [{"square": x * x} for x in range(2, 7)]


def test_locked_or_foreign_file_is_refused(marks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with files.Lock(tmp_path / "out.jsonl"), pytest.raises(AlgaError, match="another process is writing"):
        squares(marks, out, {"x": 1})
    assert not out.exists()
    out.write_text("something else\n")
    with pytest.raises(AlgaError, match="has a line that is not a sweep result: 'something else'"):
        squares(marks, out, {"x": 1})
    assert out.read_text() == "something else\n"


@pytest.mark.parametrize("link", ["file", "folder"])
def test_link_to_the_results_shares_their_lock(link: str, marks: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out.jsonl"
    out.parent.mkdir()
    if link == "file":
        other = tmp_path / "link.jsonl"
        other.symlink_to(out)
    else:
        (tmp_path / "link").symlink_to("results")
        other = tmp_path / "link" / "out.jsonl"
    with files.Lock(out), pytest.raises(AlgaError, match="another process is writing"):
        squares(marks, other, {"x": 1})
    assert not out.exists()
    assert squares(marks, other, {"x": 2})[0].result == {"square": 4}
    assert len(out.read_text().splitlines()) == 1
    assert other.read_text() == out.read_text()
    assert list(tmp_path.glob(".*")) == []


def test_missing_scheduler_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.research.sweeps.executors.CONNECT_SECONDS", 1)
    with pytest.raises(AlgaError, match="no Dask scheduler answers at tcp"):
        sweeps.run("squares:square", [{"x": 1}], tmp_path / "out.jsonl", cluster="tcp://127.0.0.1:9")


PLAN = """
recipe = "small"
task = "comparison-base-2"
seeds = [3, 5]
[grid]
batch_size = [16, 32]
margin = 0.0
[[runs]]
width = 8
heads = 1
[[runs]]
width = 16
"""


def test_plan_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    plan = trials.read(path)
    assert len(plan) == 8
    assert {run["seed"] for run in plan} == {3, 5}
    assert plan[0]["recipe"]["width"] == 8
    assert plan[-1] == trials.settings(
        changed(recipes.find("small", "comparison-base-2"), {"batch_size": 32, "margin": 0.0, "width": 16}), 5
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recipe = 3", "recipe cannot be 3"),
        ("recipe = 'slow'", "unknown recipe 'slow'"),
        ("what = 1", "expected recipe, task, seeds, grid, runs, keep, got 'what'"),
        ("[grid]\nspeed = [1]", "a recipe has no setting 'speed'"),
        ("[grid]\nwidth = ['wide']\n", "model setting width must be a whole number"),
        ("[grid]\noptions = [{vocabulary = 3}]\n", "options holds 'vocabulary', which is not an option"),
        ("task = 'dancing'", "unknown task 'dancing'"),
        ("seeds = 0", "expected 1 to 100,000 runs, got 0"),
        ("seeds = ['a']", "seeds must be a count or a list"),
        ("[[", "is not a TOML plan"),
    ],
)
def test_invalid_plan_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(AlgaError, match=message):
        trials.read(path)


def test_median_counts_none_as_never() -> None:
    assert statistics.median([1, 2, 3]) == (2, 1, 3)
    assert f"{statistics.median([None] * 6 + [1] * 4):,.0f}" == "never (1 to never)"
    assert f"{statistics.median([None] * 10):,.0f}" == "never (never to never)"


def test_share_lies_in_its_interval() -> None:
    for of in range(1, 60):
        for count in range(of + 1):
            value, low, high = statistics.share(count, of)
            assert 0 <= low <= value <= high <= 1


def test_median_interval_covers_95_percent() -> None:
    """At least 95 % of the intervals of a known distribution contain its median."""
    import random

    rng = random.Random(0)
    for size in (6, 10, 15, 25):
        held = 0
        for _ in range(2000):
            _, low, high = statistics.median([rng.expovariate(1.0) for _ in range(size)])
            held += low <= 0.6931 <= high
        assert held > 1870, size


@pytest.mark.slow
def test_sweep_command_summarises_and_resumes(tmp_path: Path, alga: Callable[..., Result]) -> None:
    path, out = tmp_path / "plan.toml", tmp_path / "out.jsonl"
    path.write_text(PLAN.replace("[3, 5]", "1").replace("[16, 32]", "[16]").replace("[[runs]]\nwidth = 16", ""))
    first = alga("lab", "sweep", path, "--out", out)
    assert first.code == 0, first.err
    assert "all: 1 of 1 certified; median" in first.out
    assert first.out.endswith(f"{out}: 1 of 1 certified\n")
    again = json.loads(alga("lab", "sweep", path, "--out", out, "--json").out)
    assert (again["runs"], again["certified"], again["failed"]) == (1, 1, 0)
    (row,) = map(json.loads, out.read_text().splitlines())
    assert again["groups"][0]["median_steps"] == row["result"]["certified_at"]
    assert row["settings"]["recipe"]["task"] == "comparison-base-2"
    assert len(row["result"]["sha256"]) == 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab", "sweep", "{}/none.toml"], "is not a TOML plan"),
        (["lab", "sweep", "{}/plan.toml", "--out", "{}"], "expected a file to write to, got the folder"),
        (["lab", "sweep", "{}/plan.toml", "--out", "{}/no/where.jsonl"], "is not a folder"),
        (["lab", "study", "--out", "{}/plan.toml"], "expected a folder to write to, got the file"),
        (["lab", "report", "--results", "{}"], "has no study results"),
        (["lab", "report", "--page", "{}/no/lab.md"], "is not a folder"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, alga: Callable[..., Result], arguments: list[str], message: str) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    result = alga(*(argument.format(tmp_path) for argument in arguments))
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_rows_of_a_0_1_sweep_are_reused(tmp_path: Path) -> None:
    old = {
        "alga.trials:train": trials.MEASURE,
        "alga.studies.generations:measure": "alga.research.studies.generations:measure",
        "alga.studies.rounding:measure": "alga.research.studies.rounding:measure",
        "alga.rivals.comparison:measure": "alga.research.baselines.comparison:measure",
    }
    for before, now in old.items():
        out = tmp_path / f"{before}.jsonl"
        out.write_text(json.dumps({"measure": before, "settings": {"seed": 1}, "result": {"wrong": 0}}) + "\n")
        text = out.read_text()
        (row,) = sweeps.run(now, [{"seed": 1}], out)
        assert row.result == {"wrong": 0}
        assert out.read_text() == text
