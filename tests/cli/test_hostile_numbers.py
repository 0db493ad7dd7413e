"""Hostile numbers: any text, pairs file or device is read or refused in one line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.base.progress import unwatched
from alga.cli.app import MESSAGE_LENGTH, in_one_line
from alga.cli.pairs import Pairs
from alga.solve.calculator import Calculator
from alga.solve.engines.bulk import Bulk
from alga.tasks.numbers import number
from tests.conftest import Alga
from tests.runs.hostile_data import file_of, only_refused


class Careful(Calculator):
    """Reads files of pairs line by line."""

    def bulk(self, *_: object) -> None:
        return None


class InBulk(Calculator):
    """Reads files of pairs in bulk from the first line on."""

    def bulk(self, operation: str, cost: float) -> Bulk | None:
        return super().bulk(operation, cost + 10**9)


ADD, IN_BULK = Careful(), InBulk()


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
def test_any_pairs_file_is_read_or_refused_with_a_line_number(given_lines: list[str], verb: str) -> None:
    with file_of("\n".join(given_lines).encode(errors="surrogatepass")) as path:
        answers, problem = answered(ADD, verb, path)
        assert problem is None or problem.startswith("line ") or "something other than text" in problem
        assert answered(IN_BULK, verb, path) == (answers, problem)


def answered(calculator: Calculator, verb: str, path: Path) -> tuple[str, str | None]:
    """Return the answers to a file of pairs, and why it was refused."""
    answers: list[bytes] = []
    try:
        answers.extend(Pairs(calculator, verb, str(path), unwatched, 0).answers(json=False))
    except AlgaError as problem:
        return b"".join(answers).decode(), str(problem)
    return b"".join(answers).decode(), None


def test_pairs_file_is_read_in_bounded_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("alga.cli.pairs.CHARACTERS_PER_READ", 60)
    monkeypatch.setattr("alga.cli.pairs.LONGEST_LINE", 50)
    (tmp_path / "pairs").write_text("1234567890 1234567890\n" * 9)
    pairs = Pairs(ADD, "add", str(tmp_path / "pairs"), unwatched, 0)
    assert [block.count(b"\n") for block in pairs._blocks()] == [2, 3, 3, 1]
    (tmp_path / "pairs").write_text(f"1 2\n{'1' * 40} {'2' * 40}\n")
    assert answered(ADD, "add", tmp_path / "pairs") == ("3\n", "line 2: expected at most 50 characters, got more")


def test_endless_device_is_refused(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    result = alga("add", "@/dev/zero", "1")
    assert (result.code, result.err) == (
        2,
        "alga: /dev/zero holds something other than a number: the character '\\x00'\n",
    )
    monkeypatch.setattr("alga.cli.operands.MOST_DIGITS_READ", 1000)
    monkeypatch.setattr("sys.stdin", io.StringIO("7" * 1001))
    result = alga("add", "-", "1")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "has more than 1,000 digits" in result.err


def test_message_is_one_line_without_control_characters(alga: Alga, tmp_path: Path) -> None:
    result = alga("add", "1", "2", "--model", "\x1b[2Jhidden\r\nevil\u202e")
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert not set("\x1b\r\u202e") & set(result.err)
    assert len(in_one_line("x" * 10**6)) < MESSAGE_LENGTH + 10
