"""Every mistake on the command line gets one clear line and exit code 2."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT, Alga

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
    "no threads": (["train", "--threads", "0"], "threads must be 1 to 1,024, got 0"),
    "too large a seed": (["train", "--seed", "9" * 30], "seed must be 0 to"),
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
def test_mistake_gets_one_clear_line_and_exit_code_2(
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
def test_bad_line_of_a_pairs_file_is_named(alga: Alga, tmp_path: Path, line: str, expected: str) -> None:
    (tmp_path / "pairs").write_text(f"1 2\n{line}\n3 4\n")
    result = alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums")
    assert result.code == 2
    assert "line 2: " in result.err
    assert expected in result.err
    assert not (tmp_path / "sums").exists()


@pytest.mark.parametrize(("verb", "line", "message"), [
    ("divmod", "7 0", "a number cannot be divided by zero"),
    ("divmod", "-7/000", "a number cannot be divided by zero"),
    ("add", "7 x", "got 'x' at position 1"),
    ("add", "7", "expected two numbers"),
    ("add", "\x00 1", "at position 1"),
])  # fmt: skip
@pytest.mark.parametrize("before", [0, 2, 5])
def test_answers_before_a_bad_line_are_kept(
    verb: str, line: str, message: str, before: int, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alga.cli.pairs.PROBLEMS_PER_BATCH", 3)
    (tmp_path / "pairs").write_text("8 2\n" * before + f"{line}\n8 2\n")
    result = alga(verb, "--pairs", tmp_path / "pairs")
    assert result.code == 2
    assert result.out.splitlines() == ["4 0" if verb == "divmod" else "10"] * before
    assert result.err.count("\n") == 1
    assert result.err.startswith(f"alga: line {before + 1}: ")
    assert message in result.err
    (tmp_path / "sums").write_text("old")
    assert alga(verb, "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums").code == 2
    assert (tmp_path / "sums").read_text() == "old"  # files are written atomically
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs", "sums"]


@pytest.mark.parametrize("certified", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        ["lab", "compare", "plain", "--setting", "quick", "--out", "RUN"],
        ["lab", "compare", "plain", "--setting", "quick", "--out", "o", "--results", "RUN/compare.json"],
        ["lab", "compare", "plain", "--setting", "quick", "--out", "o", "--page", "RUN/README.md"],
        ["lab", "compare", "--report", "--results", "RESULTS/compare.json", "--out", "RUN"],
        ["lab", "compare", "--report", "--results", "RESULTS/compare.json", "--page", "RUN/README.md"],
        ["lab", "study", "size", "--quick", "--out", "RUN", "--results", "o"],
        ["lab", "study", "size", "--quick", "--out", "o", "--results", "RUN"],
        ["lab", "report", "--results", "RESULTS/lab", "--page", "RUN/README.md"],
        ["lab", "verify", "parity", "--out", "RUN"],
        ["lab", "verify", "parity", "--out", "o", "--results", "RUN/config.json"],
        ["lab", "verify", "parity", "--out", "o", "--page", "RUN/README.md"],
        ["lab", "paper", "--quick", "--out", "RUN"],
        ["lab", "paper", "--quick", "--out", "o", "--page", "RUN/README.md"],
        ["lab", "sweep", "plan.toml", "--out", "RUN/metrics.jsonl"],
    ],
)
def test_pages_and_results_are_not_written_into_a_run_folder(
    arguments: list[str], certified: bool, alga: Alga, parity: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not certified:
        for name in ("certificate.json", "table.json", "SHA256SUMS"):
            (parity / name).unlink()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text('recipe = "small"\ntask = "parity"\nseeds = 1\n')
    results = ROOT / "results"
    before = {path: path.read_bytes() for path in parity.iterdir()}
    result = alga(*(argument.replace("RUN", str(parity)).replace("RESULTS", str(results)) for argument in arguments))
    assert result.code == 2
    assert result.err == f"alga: {parity} holds a run; choose another folder, nothing was written\n"
    assert {path: path.read_bytes() for path in parity.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parity", "plan.toml"]


def test_docs_pages_do_not_share_files() -> None:
    docs = ROOT / "docs"
    named = [
        set(re.findall(r"(?<![\w/])\w+\.py\b|\bruns/[\w-]+", (docs / page).read_text()))
        for page in ("own-task.md", "rivals.md")
    ]
    assert all(len(names) >= 2 for names in named)
    assert named[0].isdisjoint(named[1])
