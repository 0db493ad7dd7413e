"""Single, deterministic faults: kills between writes, locks, flipped bits, full disks."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.runs import checksums
from alga.solve.solver import Solver
from alga.training.trainer import Training
from tests.conftest import ROOT, Alga, tiny
from tests.killing import Kill, kill_before
from tests.reliability import page
from tests.training.small_runs import begin


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Kill the process before the first folder change with this name."""
    return lambda change: kill_before(monkeypatch, lambda each: each.startswith(change)) and None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without faults."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alga.training.metrics.draw", lambda folder, title: None)
        list(begin(folder).run())
    return folder


def same(run: Path, other: Path) -> None:
    assert {path.name for path in run.iterdir()} == {path.name for path in other.iterdir()}
    for name in ("model.safetensors", "table.json", "config.json"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name
    losses = [
        [json.loads(line)["loss"] for line in (each / "metrics.jsonl").read_text().splitlines()]
        for each in (run, other)
    ]
    assert losses[0] == losses[1]
    assert Solver.load(run).certified


ENDS = (
    "write .model.safetensors", "write SHA256SUMS", "place SHA256SUMS", "place certificate.json",
    "place model.safetensors", "remove checkpoint.safetensors",
)  # fmt: skip
OTHERS = ("write checkpoint.safetensors", "write .README.md", "write .table.json", "write .certificate.json")


@pytest.mark.parametrize("name", [*ENDS, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_run_killed_while_finishing_resumes_to_the_same_bits(
    name: str, tmp_path: Path, whole: Path, kill_at: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = begin(tmp_path / "run")
    kill_at(name)
    with pytest.raises(Kill):
        list(training.run())
    monkeypatch.undo()
    monkeypatch.setattr("alga.training.metrics.draw", lambda folder, title: None)
    del training
    resumed_steps = list(Training.resume(tmp_path / "run").run())
    if name in ENDS:
        assert resumed_steps == []  # missing files are written; no step is trained
    same(tmp_path / "run", whole)
    assert not list((tmp_path / "run").glob(".*"))


def test_run_killed_after_its_last_step_is_written_on_resume(
    tmp_path: Path, kill_at: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    training = begin(tmp_path / "run", steps=20, margin=99.0)
    kill_at("write .model.safetensors")
    with pytest.raises(Kill):
        list(training.run())
    monkeypatch.undo()
    monkeypatch.setattr("alga.training.metrics.draw", lambda folder, title: None)
    assert not (tmp_path / "run" / "model.safetensors").exists()
    assert list(Training.resume(tmp_path / "run").run()) == []
    assert not Solver.load(tmp_path / "run").certified
    with pytest.raises(AlgaError, match="has done its 20 steps"):
        Training.resume(tmp_path / "run")


def test_checkpoint_with_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    training = begin(tmp_path / "run")
    list(training.run(should_stop=lambda: training.step >= 5))
    path = tmp_path / "run" / "checkpoint.safetensors"
    data = path.read_bytes()
    for place in (
        len(data) // 2,
        len(data) - 1,
        data.index(b'sha256\\"') if b'sha256\\"' in data else data.index(b"sha256"),
    ):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(AlgaError, match="is damaged"):
            Training.resume(tmp_path / "run")


def test_damaged_metrics_are_refused_on_resume(tmp_path: Path) -> None:
    training = begin(tmp_path / "run")
    list(training.run(should_stop=lambda: training.step >= 25))
    path = tmp_path / "run" / "metrics.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    huge = json.dumps(json.loads(first) | {"accuracy": 1e308}) + "\n"  # no figure can show it
    for line in ("{}\n", "nonsense\n", first.replace("10", "1" + "0" * 400, 1), "[" * 100_000 + "\n", huge):
        path.write_text("".join([line, *rest]))
        with pytest.raises(AlgaError, match=r"metrics\.jsonl is damaged"):
            Training.resume(tmp_path / "run")


# --- one training per folder ------------------------------------------------------------------------------------------


def test_second_training_in_a_folder_is_refused_while_the_first_runs(tmp_path: Path, alga: Alga) -> None:
    first = begin(tmp_path / "run", steps=20, margin=99.0)
    steps = first.run()
    next(steps)
    busy = "another process is writing to .*run; wait for it, or choose another folder"
    with pytest.raises(AlgaError, match=busy):
        Training.resume(tmp_path / "run")
    with pytest.raises(AlgaError, match=busy):
        Training.start(tmp_path / "run", tiny())
    refused = alga("train", "--resume", tmp_path / "run")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    list(steps)
    assert not (tmp_path / "run" / files.LOCK).exists()
    Training.resume(tmp_path / "run", steps=40)


def test_kill_9_releases_the_lock(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from alga.base import files; held = files.Lock(Path(sys.argv[1]))"
    )
    script += "; print('held', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(AlgaError, match="another process is writing to"):
        files.Lock(tmp_path)
    process.kill()
    process.wait()
    process.stdout.close()
    assert (tmp_path / files.LOCK).exists()  # the file stays, the lock is gone
    files.Lock(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_fork_does_not_release_its_parents_lock(tmp_path: Path) -> None:
    held = files.Lock(tmp_path)
    child = os.fork()
    if child == 0:
        held.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(AlgaError, match="another process"):
        files.Lock(tmp_path)
    held.release()


def test_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(handle: int, operation: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.raises(AlgaError, match="is on a file system without locks"):
        files.Lock(tmp_path)
    files.write(tmp_path / "file", b"written all the same")
    assert (tmp_path / "file").read_bytes() == b"written all the same"


# --- writing ----------------------------------------------------------------------------------------------------------


def test_next_writer_removes_only_its_own_abandoned_temporary_files(tmp_path: Path) -> None:
    for name in (".sum.abc.unfinished", ".other.abc.unfinished", ".sum.txt"):
        (tmp_path / name).write_text("left")
    with files.writing(tmp_path / "sum") as file:
        file.write(b"new")
        assert len(list(tmp_path.glob(".sum.*.unfinished"))) == 1
        files.write(tmp_path / "sum", b"someone else's")  # must not remove ours, which is in use
        assert len(list(tmp_path.glob(".sum.*.unfinished"))) == 1
    assert (tmp_path / "sum").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.abc.unfinished", ".sum.txt", "sum"]


def test_long_multibyte_file_name_can_be_written(tmp_path: Path) -> None:
    files.write(tmp_path / ("数" * 80), b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["数" * 80]


def test_symlink_loop_is_a_one_line_error(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    result = alga("add", "1", "2", "--out", tmp_path / "loop")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "too many levels of symbolic links" in result.err


@pytest.mark.parametrize("when", ["os.fsync", "write"])
def test_full_disk_error_names_the_file(when: str, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in "ab":
        (tmp_path / name).write_text("8" * 100)
    if when == "write":
        monkeypatch.setattr(Solver, "stream", full)
    else:
        monkeypatch.setattr(when, full)
    result = alga("add", f"@{tmp_path / 'a'}", f"@{tmp_path / 'b'}", "--out", tmp_path / "sum")
    assert (result.code, result.err) == (2, f"alga: {tmp_path / 'sum'}: no space left on device\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


# --- checksums --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*checksums.SEALED, checksums.CHECKSUMS])
def test_flipped_bit_in_any_file_of_a_shipped_network_is_detected(name: str, parity: Path) -> None:
    data = (parity / name).read_bytes()
    for place in {*range(0, len(data), max(1, len(data) // 10)), len(data) - 1}:
        (parity / name).write_bytes(data[:place] + bytes([data[place] ^ 0x20]) + data[place + 1 :])
        with pytest.raises(AlgaError):
            runs.load(parity)
    (parity / name).write_bytes(data)
    assert runs.load(parity).certified


def test_flipped_bit_in_an_uncertified_run_is_detected(
    parity: Path,
) -> None:
    (parity / "certificate.json").unlink()
    data = (parity / "model.safetensors").read_bytes()
    (parity / "model.safetensors").write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    with pytest.raises(AlgaError, match=r"model\.safetensors is not what was sealed"):
        runs.load(parity)
    assert runs.load(parity, read_certificate=False).certificate is None


def test_every_shipped_network_has_valid_checksums() -> None:
    for name in runs.shipped():
        checksums.steady(runs.SHIPPED / name, checksums.Snapshot.check)
        stated = [line.split()[1] for line in (runs.SHIPPED / name / checksums.CHECKSUMS).read_text().splitlines()]
        assert stated == [*checksums.SEALED]


def test_extra_file_is_ignored_but_a_missing_checksum_is_not(parity: Path) -> None:
    (parity / "notes.txt").write_text("mine")
    assert runs.load(parity).certified
    lines = (parity / checksums.CHECKSUMS).read_text().splitlines(keepends=True)
    (parity / checksums.CHECKSUMS).write_text("".join(line for line in lines if "README" not in line))
    with pytest.raises(AlgaError, match=r"README\.md is not what was sealed"):
        runs.load(parity)


# --- the committed page -----------------------------------------------------------------------------------------------


def test_committed_page_matches_the_results_and_shows_no_loss() -> None:
    results = json.loads((ROOT / "results" / "faults.json").read_text())
    load = json.loads((ROOT / "results" / "load.json").read_text())
    fuzz = json.loads((ROOT / "results" / "fuzz.json").read_text())
    assert (ROOT / "docs" / "reliability.md").read_text() == page(results, load, fuzz)
    assert not results["cut"]
    assert results["mounts"]
    assert [row for row in results["faults"] if row["lost"]] == []
    kills = {row["during"]: row["injected"] for row in results["faults"] if row["fault"] == "kill -9"}
    assert len(kills) >= 5
    assert all(injected >= 50 for injected in kills.values())


def test_page_shows_losses() -> None:
    results = json.loads((ROOT / "results" / "faults.json").read_text())
    results["faults"][0]["lost"] = 3
    injected = sum(row["injected"] for row in results["faults"])
    assert f"{injected - 3:,} survived, 3 lost" in page(results)
