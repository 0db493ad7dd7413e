"""`alga lab`: the research verbs, and their names in 0.1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT, Alga

OLD = {"sweep": "sweep", "bench": "bench", "compare": "compare", "reproduce": "paper", "report": "report"}


def test_lab_alone_prints_its_help(alga: Alga) -> None:
    shown = alga("lab")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == alga("lab", "--help").out
    assert "`alga lab study` runs the studies" in " ".join(shown.out.split())


@pytest.mark.parametrize("old", OLD)
def test_old_verb_announces_its_new_name_in_one_line(old: str, alga: Alga) -> None:
    shown, now = alga(old, "--help"), alga("lab", OLD[old], "--help")
    assert shown.code == 0
    assert shown.err == f"alga: 'alga {old}' is now 'alga lab {OLD[old]}'\n"
    assert shown.out.replace(f"alga {old} ", f"alga lab {OLD[old]} ", 1) == now.out
    assert now.err == ""


@pytest.mark.slow
def test_old_verb_still_runs(alga: Alga, tmp_path: Path) -> None:
    page = tmp_path / "lab.md"
    old = alga("report", "--results", ROOT / "results" / "lab", "--page", page)
    assert (old.code, old.err) == (0, "alga: 'alga report' is now 'alga lab report'\n")
    assert page.exists()
    assert alga("lab", "report", "--results", ROOT / "results" / "lab", "--page", page).out == old.out


def test_error_of_an_old_verb_follows_its_new_name(alga: Alga, tmp_path: Path) -> None:
    first, second = alga("sweep", tmp_path / "none.toml").err.splitlines()
    assert first == "alga: 'alga sweep' is now 'alga lab sweep'"
    assert second == alga("lab", "sweep", tmp_path / "none.toml").err.strip()


@pytest.mark.parametrize(
    "arguments", [["--quick", "size", "--out", "OUT"], ["size", "--quick", "--out", "OUT"], ["--out=OUT", "size"]]
)
def test_old_verb_lab_runs_the_studies(
    arguments: list[str], alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    monkeypatch.setattr(
        "alga.research.studies.lab.run", lambda study, out, results, **more: ran.append((study.name, out))
    )
    given = [argument.replace("OUT", str(tmp_path)) for argument in arguments]
    old = alga("lab", *given, "--results", tmp_path)
    assert old.code == 0
    assert old.err.splitlines()[0] == "alga: 'alga lab' is now 'alga lab study'"
    new = alga("lab", "study", *given, "--results", tmp_path)
    assert old.err.splitlines()[1:] == new.err.splitlines()
    assert ran == [("size", tmp_path)] * 2


@pytest.mark.parametrize("word", ["--nonsense", "dance", "swep"])
def test_unknown_word_after_lab_is_one_error(word: str, alga: Alga) -> None:
    result = alga("lab", word)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert word in result.err
    assert "see alga lab --help" in result.err


def test_bench_takes_its_network_as_argument_or_old_option(alga: Alga) -> None:
    refused = [
        alga("lab", "bench", *named, "--max-digits", "100").err for named in (["nowhere"], ["--model", "nowhere"])
    ]
    assert refused[0] == refused[1]
    assert "no model 'nowhere'" in refused[0]
    both = alga("lab", "bench", "addition", "--model", "parity")
    assert (both.code, both.err) == (2, "alga: expected one network, got addition and --model parity\n")


def test_export_takes_its_network_as_argument_or_old_option(alga: Alga, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("first.json", "option.json", "adder.json")]
    assert alga("export", "parity", paths[0]).code == 0
    assert alga("export", paths[1], "--model", "parity").code == 0
    assert alga("export", paths[2]).code == 0
    contents = [json.loads(path.read_text()) for path in paths]
    assert contents[0] == contents[1]
    assert [content["task"] for content in contents] == ["parity", "parity", "addition"]
    three = alga("export", "parity", "addition", paths[0])
    assert (three.code, three.err.count("\n")) == (2, 1)
    assert "expected a network and a file, got 3 arguments" in three.err


@pytest.mark.parametrize("option", [[], ["--model"]])
def test_serve_takes_networks_as_arguments_or_old_option(option: list[str], alga: Alga) -> None:
    result = alga("serve", *option, "nowhere", "--no-open", "--port", "0")
    assert result.code == 2
    assert "no model 'nowhere'" in result.err
