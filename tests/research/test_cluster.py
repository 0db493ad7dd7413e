"""Slow: sweeps that are killed, and a real Dask cluster that loses workers and its scheduler."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from alga.research import sweeps, trials
from alga.solve.loading import load
from tests.conftest import ROOT, Alga, no_hang, start, wait_for
from tests.faults.commands import alive, children

pytestmark = pytest.mark.slow

PLAN = """
recipe = "small"
task = "comparison"
seeds = 4
[grid]
batch_size = [64, 128]
steps = 600
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def results(path: Path) -> dict[str, Any]:
    """Return a sweep's results by their settings, without measured times."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    named = {json.dumps(row["settings"], sort_keys=True): row["result"] for row in rows}
    assert len(named) == len(rows)
    for result in named.values():
        del result["seconds"], result["all_seconds"]
    return named


def test_sweep_killed_ten_times_gives_the_same_results(plan: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    undisturbed = start("alga", "lab", "sweep", plan, "--out", whole)
    undisturbed.communicate()
    assert undisturbed.returncode in {0, 1}
    expected = results(whole)
    assert len(expected) == 8
    rng, kills = random.Random(1), 0
    while kills < 10:
        process = start("alga", "lab", "sweep", plan, "--out", killed)
        try:
            process.communicate(timeout=rng.uniform(1, 9))
            assert process.returncode in {0, 1}
            killed.write_text(
                "".join(killed.read_text().splitlines(keepends=True)[:3])
            )  # it finished before the kill: once more
        except subprocess.TimeoutExpired:
            started = children(process.pid)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            until = time.monotonic() + 30
            while alive(started) and time.monotonic() < until:
                time.sleep(0.05)
            assert not alive(started), "workers outlive their sweep"
    final = start("alga", "lab", "sweep", plan, "--out", killed)
    final.communicate()
    assert results(killed) == expected


def test_ctrl_c_ends_a_sweep_without_traceback(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    process = start("alga", "lab", "sweep", plan, "--out", out, start_new_session=True)
    wait_for(out.exists, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert 0 < len(out.read_text().splitlines()) < 8


class Dask(NamedTuple):
    """A real scheduler, its address, and a function that starts a worker."""

    address: str
    add_worker: Callable[..., subprocess.Popen[str]]
    scheduler: subprocess.Popen[str]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Dask]:
    """Start a scheduler; end it and its workers afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    log = (tmp_path / "cluster.log").open("w")
    dask = Path(sys.executable).with_name("dask")
    started = []

    def run(*command: object) -> subprocess.Popen[str]:
        process = subprocess.Popen([str(dask), *map(str, command)], stdout=log, stderr=log, text=True)
        started.append(process)
        return process

    scheduler = run("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    local = str(tmp_path / "dask")
    worker = ("worker", address, "--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", local)
    yield Dask(address, lambda *options: run(*worker, *options), scheduler)
    for process in started:
        process.kill()
        process.wait()
    log.close()


def test_lost_worker_loses_no_run(plan: Path, tmp_path: Path, cluster: Dask) -> None:
    workers = [cluster.add_worker(), cluster.add_worker()]
    said: list[str] = []
    done: list[int] = []

    def watch(count: int, total: int) -> None:
        if count == 2 and 2 not in done:  # in the middle of the third and fourth
            time.sleep(1)
            workers[0].send_signal(signal.SIGKILL)
        done.append(count)

    runs = trials.read(plan)
    rows = sweeps.run(
        trials.MEASURE, runs, tmp_path / "far.jsonl", cluster=cluster.address, watch=watch, say=said.append
    )
    assert all(row.error is None for row in rows)
    assert max(row.attempts for row in rows) > 1
    assert [line for line in said if line.startswith("a worker was lost")]
    sweeps.run(trials.MEASURE, runs, tmp_path / "near.jsonl")
    assert results(tmp_path / "far.jsonl") == results(tmp_path / "near.jsonl")


def test_sweep_waits_for_a_first_worker_and_says_how_to_start_one(plan: Path, tmp_path: Path, cluster: Dask) -> None:
    far = start("alga", "lab", "sweep", plan, "--out", tmp_path / "out.jsonl", "--cluster", cluster.address)
    assert far.stderr is not None
    with no_hang():
        assert far.stderr.readline() == (
            f"waiting for a worker of the Dask scheduler at {cluster.address}; start one: "
            f"dask worker {cluster.address} --nthreads 1\n"
        )
    cluster.add_worker()
    _, err = far.communicate(timeout=300)
    assert far.returncode in {0, 1}, err
    assert "waiting for a worker" not in err
    assert len(results(tmp_path / "out.jsonl")) == 8


@pytest.mark.parametrize("late", [False, True])
def test_worker_without_alga_stops_the_sweep(late: bool, plan: Path, tmp_path: Path, cluster: Dask) -> None:
    (tmp_path / "hide.py").write_text("import sys\nsys.modules['alga'] = None\n")
    out = tmp_path / "out.jsonl"
    if late:
        cluster.add_worker()
    else:
        cluster.add_worker("--preload", tmp_path / "hide.py")
    far = start("alga", "lab", "sweep", plan, "--out", out, "--cluster", cluster.address)
    if late:
        wait_for(lambda: out.exists() and out.read_text(), far)
        cluster.add_worker("--preload", tmp_path / "hide.py")
    _, err = far.communicate(timeout=300)
    assert far.returncode == 2, err
    last = err.splitlines()[-1]
    assert re.fullmatch(
        r"alga: (the|a) Dask worker( at tcp://127\.0\.0\.1:\d+)? has no alga: install .* there, or stop that worker",
        last,
    )
    assert "Traceback" not in err


def test_lost_scheduler_is_one_line_and_the_sweep_resumes_locally(plan: Path, tmp_path: Path, cluster: Dask) -> None:
    cluster.add_worker()
    out = tmp_path / "out.jsonl"
    far = start("alga", "lab", "sweep", plan, "--out", out, "--cluster", cluster.address)
    wait_for(lambda: out.exists() and out.read_text(), far)
    cluster.scheduler.kill()
    _, err = far.communicate(timeout=120)
    assert far.returncode == 2, err
    assert "alga: the cluster's scheduler was lost" in err
    assert "Traceback" not in err
    done = len(out.read_text().splitlines())
    assert 0 < done < 8
    near = start("alga", "lab", "sweep", plan, "--out", out)
    near.communicate()
    assert len(results(out)) == 8


def test_run_that_kills_every_dask_worker_is_given_up(
    tmp_path: Path, cluster: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask gives the run up; the sweep neither hangs nor loses other runs."""
    (tmp_path / "deadly.py").write_text(
        "import os, signal\ndef run(settings):\n"
        "    if settings['x'] == 0:\n        os.kill(os.getpid(), signal.SIGKILL)\n    return {}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)  # beside the checkout under test
    workers = [cluster.add_worker()]

    def watch(count: int, total: int) -> None:
        if workers[-1].poll() is not None:
            workers.append(cluster.add_worker())

    plan = [{"x": x} for x in range(4)]
    rows = sweeps.run("deadly:run", plan, tmp_path / "out.jsonl", cluster=cluster.address, watch=watch)
    assert rows[0].error is not None
    assert "its worker was lost" in rows[0].error
    assert [row.result for row in rows[1:]] == [{}, {}, {}]


def test_comparison_on_a_cluster_matches_a_local_one(tmp_path: Path, cluster: Dask, alga: Alga) -> None:
    cluster.add_worker()
    compare = ("lab", "compare", "reversed", "--setting", "quick")
    far = alga(*compare, "--out", tmp_path / "far", "--cluster", cluster.address)
    near = alga(*compare, "--out", tmp_path / "near")
    assert (far.code, near.code) == (0, 0), far.err + near.err
    there, here = (json.loads((tmp_path / name / "compare.json").read_text()) for name in ("far", "near"))
    for content in (there, here):
        for run in content["records"][0]["runs"]:
            del run["seconds"]
    assert there == here


def test_examples_in_the_docs_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "sweeps.md").read_text()
    toml = text.partition("```toml\n")[2].partition("```")[0]
    (python,) = (block.partition("```")[0] for block in text.split("```python\n")[1:] if "sweeps.run" in block[:600])
    (tmp_path / "shares.toml").write_text(toml)
    (tmp_path / "runs").mkdir()
    swept = start("alga", "lab", "sweep", "shares.toml", "--out", "runs/shares.jsonl", cwd=tmp_path)
    out, err = swept.communicate()
    assert swept.returncode == 0, err
    assert "second_type_share 0.85: 3 of 3 certified" in out
    assert out.splitlines()[-2] == "runs/shares.jsonl: 6 of 6 certified"
    assert load(tmp_path / out.splitlines()[-1].removeprefix("kept: ")).certified
    (tmp_path / "batches.py").write_text(python)
    done = subprocess.run([sys.executable, "batches.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line.partition("}")[0] for line in done.stdout.splitlines()] == ["{'batch_size': 64", "{'batch_size': 128"]
