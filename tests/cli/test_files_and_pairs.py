"""Numbers from files and stdin, files of pairs, and where results are written."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from alga.solve.calculator import Calculator
from tests.conftest import ROOT, Alga, Result

ADD_KEYS = [
    "task", "engine", "model", "operands", "answer", "steps", "rounds", "generated_tokens", "certified",
    "network_calls", "base", "certificates",
]  # fmt: skip


def test_numbers_come_from_files_and_standard_input(
    alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("99\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("0001\r\n"))
    assert alga("add", f"@{tmp_path / 'a'}", "-").out == "100\n"


def test_out_writes_the_answer_to_a_file(alga: Alga, tmp_path: Path) -> None:
    assert alga("add", "2", "2", "--out", tmp_path / "sum").out == ""
    assert (tmp_path / "sum").read_text() == "4\n"


def test_pairs_are_streamed_to_the_output_file(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block by block in bounded memory, and still atomically."""
    monkeypatch.setattr("alga.cli.pairs.PROBLEMS_PER_BATCH", 10)
    monkeypatch.setattr(Calculator, "bulk", lambda *_: None)  # whether or not the compiler is loaded
    (tmp_path / "pairs").write_text("1 2\n" * 35)
    seen = []
    solve_many = Calculator.solve_many

    def watched(*given: Any, **options: Any) -> Any:
        (unfinished,) = tmp_path.glob(".sums.*")
        seen.append((unfinished.stat().st_size, (tmp_path / "sums").exists()))
        return solve_many(*given, **options)

    monkeypatch.setattr(Calculator, "solve_many", watched)
    assert alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums") == Result(0, "", "")
    assert seen == [(0, False), (20, False), (40, False), (60, False)]
    assert (tmp_path / "sums").read_text() == "3\n" * 35
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs", "sums"]


@pytest.fixture
def in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the compiled code from the first line on, and small blocks."""
    import alga.solve.engines.bulk  # noqa: F401 - once it is loaded, it is used

    monkeypatch.setattr("alga.cli.pairs.CHARACTERS_PER_READ", 37)


@pytest.mark.usefixtures("in_bulk")
def test_pairs_in_bulk_are_answered_like_others(alga: Alga, tmp_path: Path) -> None:
    numbers = [(i * 7919 % 10**9, i**3) for i in range(300)]
    lines = [f"{a}{' + ' if a % 3 else ' '}{-b if b % 7 == 1 else b}{chr(13) * (a % 2)}" for a, b in numbers]
    expected = [str(a + (-b if b % 7 == 1 else b)) for a, b in numbers]
    (tmp_path / "pairs").write_text("\n".join(lines), newline="")
    assert alga("add", "--pairs", tmp_path / "pairs").out.split("\n") == [*expected, ""]
    (tmp_path / "plain").write_text("".join(f"{a} {b}\n" for a, b in numbers))
    signs = alga("cmp", "--pairs", tmp_path / "plain").out.split()
    assert signs == ["<" if a < b else "=" if a == b else ">" for a, b in numbers]


@pytest.mark.usefixtures("in_bulk")
@pytest.mark.parametrize(
    ("content", "answers", "problem"),
    [
        (b"1 2\n3 4\nx 5\n6 7\n", "3\n7\n", "line 3: a number has only the digits 0-9, got 'x' at position 1"),
        (b"1 2\n-3 4\n\n6 7\n", "3\n1\n", 'line 3: expected two numbers, "A B" or "A+B", got 0'),
        (b"1 2\n3 4\n\xff 5\n", "3\n7\n", "holds something other than text"),
        (b"1 2\n3\x00 4\n", "3\n", "line 2: a number has only the digits 0-9"),
        (b"1 2\r3 4\r5 x\n", "3\n7\n", "line 3: a number has only the digits 0-9, got 'x' at position 1"),
    ],
)
def test_bad_line_is_refused_after_all_before_it(
    content: bytes, answers: str, problem: str, alga: Alga, tmp_path: Path
) -> None:
    (tmp_path / "pairs").write_bytes(content)
    found = alga("add", "--pairs", tmp_path / "pairs")
    assert (found.code, found.out) == (2, answers)
    assert problem in found.err
    assert found.err.count("\n") == 1


@pytest.mark.usefixtures("in_bulk")
def test_too_long_line_is_refused(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.cli.pairs.LONGEST_LINE", 100)
    (tmp_path / "pairs").write_text("1 2\n" + "3" * 300)
    found = alga("add", "--pairs", tmp_path / "pairs")
    assert (found.code, found.out) == (2, "3\n")
    assert "line 2: expected at most 100 characters, got more" in found.err


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o640])
def test_out_keeps_the_permissions_of_the_replaced_file(alga: Alga, tmp_path: Path, mode: int) -> None:
    (tmp_path / "sum").write_text("old")
    (tmp_path / "sum").chmod(mode)
    (tmp_path / "link").symlink_to("sum")
    for name in ("sum", "link"):
        assert alga("add", "2", "2", "--out", tmp_path / name).code == 0
        assert ((tmp_path / "sum").read_text(), (tmp_path / "sum").stat().st_mode & 0o777) == ("4\n", mode)
    assert (tmp_path / "link").is_symlink()
    mask = os.umask(0o027)
    try:
        alga("add", "2", "2", "--out", tmp_path / "new")
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_pairs_are_answered_one_line_each_in_order(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i}{'+' if i % 2 else ' '}{7 * i}" for i in range(1100)]  # more than one batch
    (tmp_path / "pairs").write_text("\n".join(lines))
    assert alga("add", "--pairs", tmp_path / "pairs").out.split() == [str(8 * i) for i in range(1100)]
    alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums")
    assert (tmp_path / "sums").read_text().split() == [str(8 * i) for i in range(1100)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 2\n3+4\n"))
    as_json = [json.loads(line) for line in alga("add", "--pairs", "-", "--json").out.splitlines()]
    assert [line["answer"] for line in as_json] == ["3", "7"]
    assert list(as_json[0]) == ADD_KEYS


def test_pairs_may_use_tabs_spaces_and_carriage_returns(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_bytes(b"1\t2\r\n 3   4 \r\n5 + 6\r\n")
    assert alga("add", "--pairs", tmp_path / "pairs").out.split() == ["3", "7", "11"]


def test_no_pairs_give_no_answers(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "pairs").touch()
    assert alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums") == Result(0, "", "")
    assert (tmp_path / "sums").read_bytes() == b""


def test_closed_stdin_is_an_error(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for arguments in (["add", "-", "1"], ["add", "--pairs", "-"]):
        result = alga(*arguments)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "standard input, which is closed" in result.err


def test_broken_pipe_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("1 2\n" * 20_000)
    command = f"{sys.executable} -m alga add --pairs {tmp_path / 'pairs'} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_binary_input_is_refused(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for arguments in (["add", f"@{tmp_path / 'binary'}", "1"], ["add", "--pairs", tmp_path / "binary"]):
        result = alga(*arguments)
        assert result.code == 2
        assert "holds something other than text" in result.err


@pytest.mark.parametrize(
    "arguments",
    [["add", "1", "2"], ["add", "--pairs", "pairs"], ["certify", "parity"], ["tasks"], ["--help"], ["--version"],
     ["add", "--help"], ["train", "--task", "parity", "--recipe", "small", "--out", "run"],
     ["lab", "compare", "--report", "--results", "RESULTS", "--out", "o"]],
)  # fmt: skip
def test_closed_stdout_is_an_error(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("1 2\n")
    results = str(ROOT / "results" / "compare.json")
    given = [results if argument == "RESULTS" else argument for argument in arguments]
    command = ["bash", "-c", f'{sys.executable} -m alga "$@" >&-', "bash", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard output is closed" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs"]


def test_writing_to_a_file_needs_no_stdout(tmp_path: Path) -> None:
    command = f"{sys.executable} -m alga add 1 2 --out sum >&- && {sys.executable} -m alga add 1 2 --out /dev/null >&-"
    subprocess.run(["bash", "-c", command], check=True, cwd=tmp_path)
    assert (tmp_path / "sum").read_text() == "3\n"


def test_devices_and_pipes_are_written_to_not_replaced(tmp_path: Path) -> None:
    alga = f"{sys.executable} -m alga"
    script = f"""cd {tmp_path}; echo keep > log
    {alga} add 1 2 --out /dev/stdout >> log; {alga} add 3 4 --out /dev/stdout | cat >> log
    {alga} add 5 6 2>&- >> log; seq -s '' 1 90 > a; {alga} add @a @a >&-; echo $? >> log"""
    subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert (tmp_path / "log").read_text().split() == ["keep", "3", "7", "11", "2"]


def test_results_are_plain_when_piped(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "alga", "add", "2", "3"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")
