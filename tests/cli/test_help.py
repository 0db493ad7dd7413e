"""Help: complete at every width, with defaults and examples, for both `-h` and `--help`."""

from __future__ import annotations

import re

import pytest
import typer.main

from alga.cli import options
from alga.cli.app import app
from alga.cli.verbs import RenamedVerb, Verb, VerbGroup
from alga.solve.engines.names import ENGINES
from tests.conftest import Alga

GROUP = typer.main.get_command(app)
assert isinstance(GROUP, VerbGroup)
LAB = GROUP.commands["lab"]
assert isinstance(LAB, VerbGroup)
VISIBLE = [name for name, command in GROUP.commands.items() if not command.hidden]
PATHS = [[], *([name] for name in VISIBLE), *(["lab", name] for name in LAB.commands)]
VERBS = [path for path in PATHS if path and path != ["lab"]]


def verb(path: list[str]) -> Verb:
    group = LAB if path[0] == "lab" else GROUP
    assert isinstance(group, VerbGroup)
    found = group.commands[path[-1]]
    assert isinstance(found, Verb)
    return found


def words(text: str) -> str:
    """Return text without line breaks; wrapping may also break a word at its hyphen."""
    return re.sub(r"\s+", "", text)


def test_everyday_verbs_come_first_and_research_is_under_lab() -> None:
    assert VISIBLE == [
        "demo", "add", "sub", "mul", "divmod", "cmp", "solve", "tasks", "serve", "train", "recipes", "certify",
        "verify", "evaluate", "diff", "export", "import", "lab",
    ]  # fmt: skip
    assert list(LAB.commands) == ["sweep", "plot", "bench", "compare", "paper", "study", "report", "verify"]  # type: ignore[union-attr]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_dash_h_is_help(path: list[str], alga: Alga) -> None:
    assert alga(*path, "-h") == alga(*path, "--help")
    assert "-h, --help" in alga(*path, "-h").out


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("path", VERBS, ids=" ".join)
def test_option_help_is_never_truncated(
    path: list[str], width: int, alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = words(alga(*path, "-h").out)
    for option in verb(path).params:
        if not getattr(option, "hidden", False):
            assert words(str(getattr(option, "help", ""))) in shown
    assert words(str(verb(path).help)) in shown


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("group", [[], ["lab"]])
def test_verb_summaries_are_never_truncated(
    group: list[str], width: int, alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = words(alga(*group, "-h").out)
    assert "...Add" not in shown
    for path in VERBS:
        if path[:-1] == group:
            assert words(path[-1] + str(verb(path).help).partition("\n\n")[0]) in shown


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_ends_with_one_example_per_line(
    path: list[str], alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # narrower than most examples
    *_, examples = alga(*path, "-h").out.split("\nExamples:\n")
    lines = examples.splitlines()
    assert lines
    command = " ".join(["alga", *path])
    assert all(re.match(rf"  (printf .* \| )?{command}\b", line) for line in lines)


@pytest.mark.parametrize("path", VERBS, ids=" ".join)
def test_defaults_are_shown(path: list[str], alga: Alga) -> None:
    shown = words(alga(*path, "-h").out)
    for option in verb(path).params:
        if option.default not in (None, False) and not getattr(option, "hidden", False):
            assert f"[default:{option.default}" in shown


def test_help_lists_the_available_engines() -> None:
    assert re.split(", | or ", options.ENGINES) == list(ENGINES)


def test_old_names_are_hidden() -> None:
    assert isinstance(GROUP, VerbGroup)
    hidden = {name for name, command in GROUP.commands.items() if command.hidden}
    assert hidden == {"sweep", "bench", "compare", "reproduce", "report"}
    assert all(isinstance(GROUP.commands[name], RenamedVerb) for name in hidden)


@pytest.mark.parametrize("number", ["-1h", "-h1"])
def test_h_within_a_number_is_not_help(number: str, alga: Alga) -> None:
    result = alga("add", number, "5", "--base", "16")
    assert (result.code, result.out) == (2, "")
    assert "'h'" in result.err
