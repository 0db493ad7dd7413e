"""The table engine on files: same answers as on texts, in bounded memory, written atomically."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from alga.base.errors import AlgaError
from alga.solve.engines import loop
from alga.solve.engines import table as engine
from alga.solve.engines.rows import FileRow
from alga.solve.solver import Solver
from tests.conftest import Alga
from tests.solve.machines import ADDITION, Make, machine


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "FILE_BLOCK", 7)
    monkeypatch.setattr("alga.solve.engines.rows.BYTES_PER_READ", 5)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("9" * 100, "1"),
        ("1", "9" * 100),
        ("0" * 30 + "5" * 70, "4" * 70 + "5"),
        ("1" + "0" * 99, "0" * 200),
        ("7" * 64, "2" * 64),
        ("123", "989"),
        ("0", "000"),
        ("0" * 70, "0" * 90),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_files_are_added_like_texts(
    alga: Alga, tmp_path: Path, in_small_blocks: None, a: str, b: str, end: str
) -> None:
    (tmp_path / "a").write_text(a + end, newline="")
    (tmp_path / "b").write_text(b)
    result = alga("add", f"@{tmp_path / 'a'}", f"@{tmp_path / 'b'}", "--out", tmp_path / "sum")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert (tmp_path / "sum").read_text() == f"{int(a) + int(b)}\n"


@pytest.mark.parametrize("end", ["\n" * 10_000_000, "\r\n" * 5_000_000])
def test_line_ends_are_read_in_blocks(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    (tmp_path / "a").write_text("0" * 3_000_000 + "9" * 64 + end, newline="")
    (tmp_path / "b").write_text("1")
    reads, read = [], FileRow._read
    monkeypatch.setattr(FileRow, "_read", lambda *given: reads.append(given) or read(*given))
    result = alga("add", f"@{tmp_path / 'a'}", f"@{tmp_path / 'b'}")
    assert (result.code, result.out, result.err) == (0, f"1{'0' * 64}\n", "")
    assert len(reads) < 30
    (tmp_path / "a").write_text(end, newline="")
    empty = alga("add", f"@{tmp_path / 'a'}", f"@{tmp_path / 'b'}")
    assert (empty.code, empty.err) == (
        2, f"alga: {tmp_path / 'a'}: a number needs at least one digit, got the empty text\n"
    )  # fmt: skip
    assert len(reads) < 50


def test_random_files_are_added_in_small_blocks(adder: Solver, tmp_path: Path, in_small_blocks: None) -> None:
    rng = Random(0)
    for _ in range(40):
        a, b = ("".join(rng.choices("0123456789", k=rng.randint(64, 300))) for _ in range(2))
        (tmp_path / "a").write_text(a)
        (tmp_path / "b").write_text(b)
        with (tmp_path / "sum").open("wb") as sink:
            adder.stream([tmp_path / "a", tmp_path / "b"], sink)
        assert (tmp_path / "sum").read_text() == str(int(a) + int(b))


def test_faulty_network_streams_the_same_answers(tmp_path: Path, in_small_blocks: None, faulty: Make) -> None:
    made = machine("one wrong digit", faulty)
    a, b = "41" * 45, "52" * 45
    (tmp_path / "a").write_text(a)
    (tmp_path / "b").write_text(b)
    with (tmp_path / "sum").open("wb") as sink:
        engine.stream(ADDITION, made.table, [tmp_path / "a", tmp_path / "b"], sink)
    assert (tmp_path / "sum").read_text() == engine.replay(made, (a, b)).answer != str(int(a) + int(b))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1" * 90 + b"x" + b"2" * 10, "a number has only the digits 0-9, got 'x' at position 91"),
        (b"000" + b"1" * 90 + b" 2\n", "got ' ' at position 94"),
        (b"1" * 80 + "１".encode() + b"2", "got '１' at position 81"),
        (b"1" * 90 + b"\0" + b"2" * 10, "got '\\x00' at position 91"),
        (b"000x1", "got 'x' at position 4"),
        (b"\n\n", "a number needs at least one digit, got the empty text"),
        (b"\xff" * 100, "at position 1"),
        (b"+" + b"1" * 90, "got '+' at position 1"),
    ],
)
def test_file_without_a_number_is_refused_and_nothing_is_written(
    alga: Alga, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "b").write_text("5" * 200)
    result = alga("add", f"@{tmp_path / 'a'}", f"@{tmp_path / 'b'}", "--out", tmp_path / "sum")
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert f"{tmp_path / 'a'}: " in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("7" * 100)
    row = FileRow(tmp_path / "a")
    (tmp_path / "a").write_text("7" * 50)
    with pytest.raises(AlgaError, match="was changed while it was read"):
        row.read(0, 100)
    with pytest.raises(AlgaError, match="was changed while it was read"):
        row.close()


def test_other_engines_read_whole_files(alga: Alga, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("8" * 70)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Solver, "stream", lambda *_: pytest.fail("the table engine was run"))
        added = alga("add", f"@{tmp_path / 'a'}", f"@{tmp_path / 'b'}", "--engine", "sequential")
    assert added.out == f"{2 * int('8' * 70)}\n"


def test_sum_of_files_can_go_to_stdout(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from alga.cli.arithmetic import _stream
    from alga.solve.calculator import Calculator

    for name in "ab":
        (tmp_path / name).write_text("8" * 100)
    _stream(Calculator(), [tmp_path / "a", tmp_path / "b"], None)
    assert capfdbinary.readouterr().out == f"{2 * int('8' * 100)}\n".encode()


def test_pipe_or_third_file_is_read_whole(alga: Alga, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("8" * 100)
    files = [f"@{tmp_path / name}" for name in "abc"]
    assert alga("add", *files).out == f"{3 * int('8' * 100)}\n"
    os.mkfifo(tmp_path / "pipe")
    writer = os.fork()
    if writer == 0:
        (tmp_path / "pipe").write_text("8" * 100)
        os._exit(0)
    assert alga("add", files[0], f"@{tmp_path / 'pipe'}").out == f"{2 * int('8' * 100)}\n"
    os.waitpid(writer, 0)
