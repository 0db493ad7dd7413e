"""Hostile plans, results and task files: read, or refused in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.research import sweeps, trials
from alga.tasks import own
from tests.conftest import no_hang
from tests.runs.hostile_data import DEEP, JSON, file_of, only_refused

PLANS = {
    "deep": ("a = " + DEEP, "is not a TOML plan"),
    "not text": (b"\xff\xfe", "is not a TOML plan"),
    "too many seeds": ("seeds = 1_000_000_000_000", "expected 1 to 100,000 runs, got 1,000,000,000,000"),
    "fewer than no seeds": ("seeds = -5", "expected 1 to 100,000 runs, got 0"),
    "seeds that are none": ("seeds = [1, 'x']", "seeds must be a count or a list"),
    "too many of all": ("[grid]\n" + "".join(f"{name} = {[*range(1000)]}\n" for name in ("steps", "width", "hidden")),
                        "expected 1 to 100,000 runs, got 10,000,000,000"),
    "too large": ("#" * 2**21, "a plan has at most"),
    "an unknown setting": ("[grid]\nspeed = [1]", "a recipe has no setting 'speed'"),
    "a setting that is none": ("[grid]\nsteps = [nan]", "steps must be a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANS)
def test_hostile_plan_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    content, message = PLANS[kind]
    (tmp_path / "plan.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    with no_hang(), pytest.raises(AlgaError, match=message):
        trials.read(tmp_path / "plan.toml")


@settings(max_examples=60)
@given(
    st.text(max_size=40)
    | st.tuples(
        st.sampled_from(["recipe", "task", "seeds", "grid.steps", "grid.task", "grid.options", "runs"]), JSON
    ).map(lambda pair: f"{pair[0]} = {json.dumps(pair[1])}")
)
def test_any_plan_is_read_or_refused(text: str) -> None:
    with file_of(text.encode(errors="surrogatepass")) as path, only_refused():
        trials.read(path)


@pytest.mark.parametrize(
    "line", [DEEP, "null", "[]", '{"measure": 1}', '{"measure": "a:b", "settings": 3}', "\0", "{}"]
)
def test_invalid_results_are_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text(f"{line}\n")
    with pytest.raises(AlgaError, match="has a line that is not a sweep result"):
        sweeps.run("squares:square", [{"x": 1}], tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == f"{line}\n"


@settings(max_examples=50)
@given(
    st.binary(max_size=80)
    | st.sampled_from(
        [b"raise SystemExit(3)", b"1/0", b"def f(:", b"\0", b"raise RecursionError", b"Task = 3", DEEP.encode()]
    )
)
def test_any_task_file_is_run_or_refused(source: bytes) -> None:
    with file_of(source, "mine.py") as path, only_refused():
        own.load(f"{path}:Mine")


@given(st.text(max_size=30))
def test_any_task_name_is_found_or_refused(name: str) -> None:
    with only_refused():
        tasks.known(name)


def test_code_that_runs_is_the_code_that_is_hashed(tmp_path: Path) -> None:
    """Python's bytecode cache would run the old code if a file changes within a second and keeps its size."""
    import hashlib

    from alga.research.baselines.contract import Baseline

    path = tmp_path / "mine.py"
    for letter in "ab":
        path.write_text(
            f"from alga.research.baselines.contract import Baseline\nclass Mine(Baseline):\n    title = '{letter}'\n"
        )
        os.utime(path, (1, 1))
        kind, source = own.read(f"{path}:Mine", Baseline)
        assert (kind.title, source) == (letter, hashlib.sha256(path.read_bytes()).hexdigest())
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]
