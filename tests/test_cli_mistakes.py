"""Every mistake on the command line gets one clear line and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Alga

MISTAKES = {
    "empty text": (["add", "", "1"], "a number needs at least one digit, got the empty text"),
    "two signs": (["add", "5", "-+3"], "got '+' at position 2"),
    "a plus": (["add", "+5", "3"], "got '+' at position 1"),
    "a space": (["add", "1 2", "3"], "got ' ' at position 2"),
    "letters": (["add", "12x", "3"], "got 'x' at position 3"),
    "full-width digits": (["add", "１２", "3"], "got '１' at position 1"),
    "Arabic-Indic digits": (["add", "3", "١٢"], "at position 1"),
    "a bad third number": (["add", "1", "2", "x"], "got 'x' at position 1"),
    "one operand": (["add", "5"], "expected at least two numbers to add, got 1"),
    "no operand": (["add"], "expected at least two numbers to add, got 0"),
    "standard input twice": (["add", "-", "-"], "can be read once only"),
    "a missing file": (["add", "@nowhere.txt", "1"], "nowhere.txt: no such file or directory"),
    "a folder as file": (["add", "@.", "1"], "is a directory"),
    "an unknown engine": (["add", "1", "2", "--engine", "abacus"], "unknown engine 'abacus'; there are table,"),
    "an unknown model": (["add", "1", "2", "--model", "nowhere"], "no model 'nowhere'"),
    "an unknown option": (["add", "1", "2", "--jsn"], "no such option: --jsn"),
    "out into no folder": (["add", "1", "2", "--out", "nowhere/sum"], "nowhere is not a folder"),
    "out onto a folder": (["add", "1", "2", "--out", "."], "expected a file to write to, got the folder"),
    "pairs and numbers": (["add", "1", "2", "--pairs", "x"], "--pairs goes with neither numbers nor --trace"),
    "no pairs file": (["add", "--pairs", "nowhere"], "nowhere: no such file or directory"),
    "an unknown recipe": (["train", "--recipe", "slow"], "unknown recipe 'slow'; there are"),
    "an unknown task": (["train", "--task", "square"], "unknown task 'square'; there are"),
    "an unknown device": (["train", "--device", "tpu", "--out", "o"], "unknown device 'tpu'"),
    "a seed that is none": (["train", "--seed", "x"], "'--seed'"),
    "no steps": (["train", "--steps", "0"], "steps must be a whole number from 1 to"),
    "no threads": (["train", "--threads", "0"], "threads must lie in 1 to 1,024, got 0"),
    "too large a seed": (["train", "--seed", "9" * 30], "seed must lie in 0 to"),
    "resuming nothing": (["train", "--resume", "nowhere"], "no model 'nowhere'"),
    "resuming no run": (["train", "--resume", "."], "is not a run: it has no config.json"),
    "like with a seed": (["train", "--like", "parity", "--seed", "1"], "--like takes everything from that network"),
    "like an unknown one": (["train", "--like", "nobody"], "no model 'nobody'"),
    "resuming with a seed": (["train", "--resume", "x", "--seed", "1"], "--resume takes everything from the run"),
    "no recipe": (["train", "--recipe", ""], "unknown recipe ''"),
    "certify into no folder": (["certify", "--out", "nowhere/x"], "nowhere is not a folder"),
    "a figure of no kind": (["certify", "--figure", "x.jpg"], "a figure ends in .png or .svg"),
    "a figure into no folder": (["certify", "--figure", "nowhere/x.png"], "nowhere is not a folder"),
    "a model that is none": (["certify", "nowhere"], "no model 'nowhere'"),
    "an unknown verb": (["subtract"], "No such command 'subtract'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_clear_line_and_exit_code_2(
    mistake: str, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, expected = MISTAKES[mistake]
    result = alga(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert expected in result.err
    assert result.err.startswith("alga: ")
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 2 3", "expected two numbers"),
        ("", "got 0"),
        ("7", "got 1"),
        ("1 x", "got 'x' at position 1"),
        ("+5 3", "at least one digit"),
        ("1++2", "got 3"),
        ("5+3+", "got 3"),
        ("1\u00a02", "got 1"),
    ],
)
def test_a_bad_line_of_a_pairs_file_is_named(alga: Alga, tmp_path: Path, line: str, expected: str) -> None:
    (tmp_path / "pairs").write_text(f"1 2\n{line}\n3 4\n")
    result = alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums")
    assert result.code == 2
    assert "line 2: " in result.err
    assert expected in result.err
    assert not (tmp_path / "sums").exists()
