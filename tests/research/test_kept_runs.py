"""Sweeps keep networks on request: all of them or the best, as run folders; and draw their results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alga.base.errors import AlgaError
from alga.research import sweep_figure, sweep_table, trials
from alga.research.kept_runs import FILES, KeptRuns, merit, name_of, packed
from alga.research.sweeps import Row
from alga.solve.loading import load
from tests.conftest import Alga, tiny
from tests.training.small_runs import trained

PLAN = """
recipe = "small"
task = "parity"
seeds = 2
keep = "{}"
[grid]
width = [8, 16]
margin = 1.0
check_every = 10
"""


def folders(out: Path) -> list[Path]:
    return sorted(path for path in out.with_suffix(".runs").iterdir())


@pytest.mark.slow
def test_all_networks_are_kept_by_workers(tmp_path: Path, alga: Alga) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out.jsonl"
    plan.write_text(PLAN.format("all"))
    done = alga("lab", "sweep", plan, "--out", out, "--json")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert json.loads(done.out)["kept"] == [str(out.with_suffix(".runs") / name_of(each)) for each in trials.read(plan)]
    assert [path.name for path in folders(out)] == sorted(row["result"]["trial"] for row in rows)
    for row in rows:
        assert FILES not in row["result"]
        calculator = load(out.with_suffix(".runs") / row["result"]["trial"])
        assert calculator.certified
        assert calculator.network.run.sha256 == row["result"]["sha256"]
        assert calculator.network.run.config.training["seed"] == row["settings"]["seed"]
    before = {path: path.stat().st_mtime_ns for path in folders(out)}
    assert alga("lab", "sweep", plan, "--out", out).code == 0
    assert {path: path.stat().st_mtime_ns for path in folders(out)} == before
    figure = alga("lab", "plot", out)
    assert (figure.code, figure.out) == (0, f"{tmp_path / 'out.png'}\n")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def result(certified_at: int | None, wrong: int = 0, margin: float = 1.0) -> dict[str, object]:
    return {"certified_at": certified_at, "wrong": wrong, "least_margin": margin}


def test_best_is_certified_soonest_then_least_wrong_then_widest() -> None:
    order = [result(None, 9), result(None, 2), result(300), result(200), result(200, margin=2.0)]
    assert sorted(order, key=merit) == order


def row(seed: int, files: dict[str, str], **measured: object) -> Row:
    settings = {"recipe": {"name": "tiny", "task": "parity"}, "seed": seed, "keep": "best"}
    return Row(settings, result={**measured, FILES: dict(files)})


def test_only_the_best_is_left_whatever_the_order(tmp_path: Path) -> None:
    files = packed(trained(None).as_run())
    for order in ([300, 100, 200], [100, 200, 300], [300, 200, 100]):
        out = tmp_path / f"{order[0]}-{order[1]}.jsonl"
        kept = KeptRuns(out, "best")
        rows = [row(steps, files, **result(steps)) for steps in order]
        for each in rows[:2]:
            kept.receive(each)
        kept = KeptRuns(out, "best")  # the sweep was killed, and continues
        kept.receive(rows[2])
        (best,) = kept.finish(rows)
        assert [best] == folders(out)
        assert best.name.startswith("tiny-100-")
        assert load(best).certified


def test_folder_that_a_kill_left_is_replaced(tmp_path: Path) -> None:
    files, out = packed(trained(None).as_run()), tmp_path / "out.jsonl"
    name = name_of(row(1, {}).settings)
    for left in (name, f".{name}.unfinished"):
        (tmp_path / "out.runs" / left).mkdir(parents=True)
        (tmp_path / "out.runs" / left / "config.json").write_text("half a file")
    KeptRuns(out, "all").receive(row(1, files, **result(10)))
    assert [path.name for path in folders(out)] == [name]
    assert load(tmp_path / "out.runs" / name).certified


def test_failed_run_and_run_without_files_keep_nothing(tmp_path: Path) -> None:
    kept = KeptRuns(tmp_path / "out.jsonl", "all")
    kept.receive(Row({"seed": 1}, error="no luck"))
    kept.receive(Row({"seed": 1}, result={"wrong": 0}))
    assert kept.finish([Row({"seed": 1}, error="no luck")]) == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    assert FILES not in trials.train(trials.settings(tiny(steps=10), 5))
    uncertified = trials.train(trials.settings(tiny(steps=10), 5, keep="all"))
    assert set(uncertified[FILES]) == {"README.md", "config.json", "model.safetensors"}
    plan = tmp_path / "plan.toml"
    plan.write_text('keep = "some"\n')
    with pytest.raises(AlgaError, match="keep must be one of best, all, got 'some'"):
        trials.read(plan)


def results(path: Path, **axes: list[object]) -> Path:
    plan = trials.grid(tiny(), axes, range(3))
    lines = []
    for at, given in enumerate(plan):
        measured = {"certified_at": None if at == 1 else 100 + at, "seconds": 1.5, "steps": 7, "sha256": "x"}
        row = {"measure": trials.MEASURE, "settings": given, "result": measured, "error": None, "attempts": 1}
        lines.append(json.dumps({**row, **({"result": None, "error": "no luck"} if at == 2 else {})}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_setting_with_most_values_is_drawn_along_the_axis(tmp_path: Path) -> None:
    rows = sweep_table.read(results(tmp_path / "out.jsonl", width=[8, 16], learning_rate=[0.1, 0.2, 0.3]))
    figure = sweep_figure.draw(rows, None, "certified_at", "t")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("learning rate", "steps to the certificate")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.1", "0.2", "0.3"]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["width 8", "width 16"]
    other = sweep_figure.draw(rows, "width", "seconds", "t").axes[0]
    assert (other.get_xlabel(), other.get_ylabel()) == ("width", "seconds to the certificate")


def test_many_values_are_drawn_to_scale(tmp_path: Path) -> None:
    rows = sweep_table.read(results(tmp_path / "out.jsonl", batch_size=[2**i for i in range(10)]))
    axes = sweep_figure.draw(rows, None, "certified_at", "t").axes[0]
    assert axes.get_xscale() == "log"


def test_runs_of_one_recipe_are_drawn_by_seed(tmp_path: Path) -> None:
    rows = sweep_table.read(results(tmp_path / "out.jsonl"))
    assert sweep_figure.draw(rows, None, "certified_at", "t").axes[0].get_xlabel() == "seed"


def test_table_has_every_setting_and_measurement(tmp_path: Path) -> None:
    table = sweep_table.table(results(tmp_path / "out.jsonl", width=[8, 64]))
    assert [row["width"] for row in table] == [8, 8, 8, 64, 64, 64]  # 64 is a default, left out of the file
    assert (table[0]["most_steps"], table[0]["steps"], table[0]["seed"]) == (400, 7, 0)
    assert (table[2]["error"], "steps" in table[2]) == ("no luck", False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--x", "wdith"], "no run has the setting 'wdith'; width vary"),
        (["--y", "sha256"], "no run has the measurement 'sha256'; there are certified_at, seconds, steps"),
        (["--out", "x.jpg"], "a figure ends in .png or .svg, got 'x.jpg'"),
    ],
)
def test_mistake_in_a_plot_is_one_line(tmp_path: Path, alga: Alga, arguments: list[str], message: str) -> None:
    refused = alga("lab", "plot", results(tmp_path / "out.jsonl", width=[8, 16]), *arguments)
    assert (refused.code, refused.out, refused.err) == (2, "", f"alga: {message}\n")


def test_other_file_is_not_drawn(tmp_path: Path, alga: Alga) -> None:
    (tmp_path / "out.jsonl").write_text('{"what": 1}\n')
    assert "has no valid sweep results" in alga("lab", "plot", tmp_path / "out.jsonl").err
    (tmp_path / "out.jsonl").write_text("")
    assert "has no sweep results" in alga("lab", "plot", tmp_path / "out.jsonl").err
