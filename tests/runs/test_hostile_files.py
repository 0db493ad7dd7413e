"""Hostile input: whatever bytes there are, a value or one clear line, soon and in bounded memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.cli import operands
from alga.cli.app import LONGEST, in_one_line
from alga.research import sweeps, trials
from alga.runs import config, foreign, r_files, weight_file
from alga.solve.calculator import Calculator
from alga.tasks import own
from alga.tasks.numbers import number
from alga.training.trainer import Training
from alga.trust.certificate import Certificate
from alga.trust.table import Table
from tests.conftest import Alga, no_hang, tiny

PARITY = runs.SHIPPED / "parity"
DEEP = "[" * 100_000
ADD = Calculator()


@contextlib.contextmanager
def only_refused() -> Iterator[None]:
    """Let errors of ours pass; any other is a defect."""
    with contextlib.suppress(AlgaError):
        yield


@contextlib.contextmanager
def file_of(data: bytes, name: str = "file") -> Iterator[Path]:
    """Yield a file with these bytes (hypothesis and tmp_path do not go together)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        yield Path(folder) / name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def altered(draw: st.DrawFn, text: str) -> str:
    """A JSON document with one place in it put to anything else, or taken away."""
    content: Any = json.loads(text)
    at: Any = content
    while True:
        key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if isinstance(at[key], dict | list) and at[key] and draw(st.booleans()):
            at = at[key]
            continue
        if isinstance(at, dict) and draw(st.integers(0, 5)) == 0:
            del at[key]
        else:
            at[key] = draw(JSON)
        return json.dumps(content)


# --- numbers ----------------------------------------------------------------------------------------------------------


@given(st.text() | st.text("0123456789abcdefghijklmnopqrstuvwxyzABCZ", min_size=1), st.integers(2, 36))
def test_any_text_is_a_number_or_is_refused(text: str, base: int) -> None:
    with only_refused():
        read = number(text, tasks.numbers.digits_of(base))
        assert read
        assert set(read) <= set(tasks.numbers.digits_of(base))
        assert int(read, base) == int(text, base)


@given(
    st.lists(st.text("0123456789+- \t\r\n\0x１\ud800", max_size=12), max_size=6), st.sampled_from(["add", "sub", "mul"])
)
def test_any_pairs_file_gives_pairs_or_is_refused_with_its_line(given_lines: list[str], verb: str) -> None:
    with file_of("\n".join(given_lines).encode(errors="surrogatepass")) as path:
        try:
            for problems in operands.problems(str(path), verb, ADD):
                assert all(len(problem) == 2 for problem in problems)
        except AlgaError as problem:
            assert str(problem).startswith("line ") or "something other than text" in str(problem)  # noqa: PT017


def test_a_pairs_file_is_read_in_bounded_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("alga.cli.operands.LONGEST_LINE", 50)
    (tmp_path / "pairs").write_text("1234567890 1234567890\n" * 9)
    assert [len(problems) for problems in operands.problems(str(tmp_path / "pairs"), "add", ADD)] == [3, 3, 3]
    (tmp_path / "pairs").write_text(f"1 2\n{'1' * 40} {'2' * 40}\n")
    with pytest.raises(AlgaError, match="line 2: expected at most 50 characters"):
        list(operands.problems(str(tmp_path / "pairs"), "add", ADD))


def test_a_device_without_end_is_no_number(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    result = alga("add", "@/dev/zero", "1")
    assert (result.code, result.err) == (
        2,
        "alga: /dev/zero holds something other than a number: the character '\\x00'\n",
    )
    monkeypatch.setattr("alga.cli.operands.LONGEST", 1000)
    monkeypatch.setattr("sys.stdin", io.StringIO("7" * 1001))
    result = alga("add", "-", "1")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "has more than 1,000 digits" in result.err


def test_a_message_is_one_line_that_cannot_steer_the_terminal(alga: Alga, tmp_path: Path) -> None:
    result = alga("add", "1", "2", "--model", "\x1b[2Jhidden\r\nevil\u202e")
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert not set("\x1b\r\u202e") & set(result.err)
    assert len(in_one_line("x" * 10**6)) < LONGEST + 10


# --- run folders ------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json"])
def test_an_altered_file_of_a_run_is_refused(name: str, data: st.DataObject) -> None:
    text = (PARITY / name).read_text()
    changed = data.draw(altered(text))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(PARITY, Path(folder) / "run"))
        (copy / name).write_text(changed)
        if json.loads(changed) == json.loads(text):
            return
        with pytest.raises(AlgaError) as refused:
            runs.load(copy)
        assert "\n" not in in_one_line(str(refused.value))


READERS: dict[str, Callable[[bytes], object]] = {
    "certificate": lambda data: Certificate.from_json(data.decode(errors="replace")),
    "table": lambda data: Table.from_json(data.decode(errors="replace")),
    "R data": r_files.parse,
    "R data after its header": lambda data: r_files.parse(b"X\n" + bytes([0, 0, 0, 2]) + bytes(8) + data),
}


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=300) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_read_or_refused(reader: str, data: bytes) -> None:
    with only_refused():
        READERS[reader](data)


@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json", "model.safetensors", "SHA256SUMS"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_what_is_no_file_in_a_run_is_refused_at_once(parity: Path, name: str, kind: str) -> None:
    (parity / name).unlink()
    match kind:
        case "pipe":
            os.mkfifo(parity / name)
        case "folder":
            (parity / name).mkdir()
        case "loop":
            (parity / name).symlink_to(parity / name)
        case "device":
            (parity / name).symlink_to("/dev/zero")
    with no_hang(), pytest.raises(AlgaError):
        runs.load(parity)


@pytest.mark.parametrize("name", ["config.json", "certificate.json", "table.json"])
def test_too_large_a_file_of_a_run_is_refused_unread(parity: Path, name: str) -> None:
    os.truncate(parity / name, 2**40)
    with pytest.raises(AlgaError, match=r"has more than the .* bytes that are read"):
        runs.load(parity)


def test_a_run_folder_brings_no_code_along(parity: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task's name in config.json could be that of a Python file, which would be run."""
    (parity / "evil.py").write_text(f"open({str(parity / 'trap')!r}, 'w')\n")
    content = json.loads((parity / "config.json").read_text())
    for name in (f"{parity}/evil.py:Evil", "evil.py:Evil"):
        monkeypatch.chdir(parity)
        content["task"] = name
        (parity / "config.json").write_text(json.dumps(content))
        with pytest.raises(AlgaError, match="unknown task"):
            runs.load(parity)
        content["task"] = "parity"
        content["training"]["recipe"]["task"] = name
        (parity / "config.json").write_text(json.dumps(content))
        with contextlib.suppress(AlgaError):
            runs.load(parity)
        like = alga("train", "--like", parity, "--out", parity / f"like-{len(name)}", "--steps", 1)
        assert (like.code, "trap" in like.err) == (1, False), like.err  # it trains parity, for one step
    stopped = Training.start(parity / "stopped", tiny(), seed=5, threads=1)
    list(stopped.run(should_stop=lambda: stopped.step >= 10))
    content = json.loads((parity / "stopped" / "config.json").read_text())
    content["training"]["recipe"]["task"] = f"{parity}/evil.py:Evil"
    (parity / "stopped" / "config.json").write_text(json.dumps(content))
    resumed = alga("train", "--resume", parity / "stopped")
    assert (resumed.code, "belongs to other settings" in resumed.err) == (2, True), resumed.err
    assert not (parity / "trap").exists()


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 2**64 - 1))
def test_any_weight_file_is_opened_or_refused(data: bytes, place: int, size: int) -> None:
    whole = (PARITY / "model.safetensors").read_bytes()
    spoiled = whole[:place] + data + whole[place + len(data) :]
    loaded = config.load(PARITY)
    for content in (data, size.to_bytes(8, "little") + data, size.to_bytes(8, "little") + whole[8:], spoiled):
        with only_refused():
            loaded.check_weights(content, Path("x"))
            weight_file.unpack(content, loaded, Path("x"))


def header(entries: dict[str, object], more: bytes = b"") -> bytes:
    text = json.dumps({"__metadata__": {"alga": config.load(PARITY).identity}} | entries).encode()
    return len(text).to_bytes(8, "little") + text + more


HEADERS = {
    "a huge shape": header(
        {"head.weight": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 8]}}, bytes(8)
    ),
    "a shape that overflows": header({"a": {"dtype": "F32", "shape": [2**63, 2**63], "data_offsets": [0, 0]}}),
    "a shape below zero": header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
    "offsets beyond the end": header({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, bytes(4)),
    "offsets backwards": header({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, bytes(4)),
    "an unknown type": header({"a": {"dtype": "F7", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "no weights": header({}),
    "numbers for entries": header({"a": 3}),
    "deep": len(DEEP).to_bytes(8, "little") + DEEP.encode(),
    "a header of 2^60 bytes": (2**60).to_bytes(8, "little") + b"{}",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_hostile_header_is_refused(kind: str, parity: Path) -> None:
    (parity / "model.safetensors").write_bytes(HEADERS[kind])
    with pytest.raises(AlgaError, match=r"model\.safetensors is damaged"):
        runs.load(parity)
    with only_refused():
        foreign.read(parity / "model.safetensors")


# --- plans, results, tasks --------------------------------------------------------------------------------------------

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
def test_a_hostile_plan_is_refused_at_once(kind: str, tmp_path: Path) -> None:
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
def test_results_that_are_none_are_refused(line: str, tmp_path: Path) -> None:
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
def test_any_name_of_a_task_is_found_or_refused(name: str) -> None:
    with only_refused():
        tasks.known(name)


def test_the_code_that_runs_is_the_code_that_is_hashed(tmp_path: Path) -> None:
    """Python's own cache would run the old code where a file changes within a second and keeps its size."""
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
