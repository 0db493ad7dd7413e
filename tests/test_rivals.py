"""Rivals: each format says what it should, every method runs behind one contract, and a new one is one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from alga import rivals
from alga.rivals import comparison, page
from alga.rivals.contract import Attempt, Scale
from alga.rivals.language import END, Language
from alga.rivals.problems import draw, longest_chain, with_chain
from tests.conftest import Result

ROOT = Path(__file__).parents[1]
TINY = Scale(digits=2, width=16, heads=2, layers=1, hidden=32, tokens=3000, batch_tokens=512)
LANGUAGES = [name for name in rivals.METHODS if name not in {"alga", "first-type", "concatenated"}]


def made(name: str, **changes: Any) -> Any:
    return rivals.find(name)(Scale(**{**vars(TINY), **changes}), 3e-3, 0)


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_reply_it_is_taught_is_read_as_the_sum(name: str) -> None:
    rival = made(name)
    rng = Random(0)
    for _ in range(300):
        problem = draw(rng, 7)
        reply = rival.reply(*problem)
        assert rival.read(reply) == str(int(problem[0]) + int(problem[1])), problem
        text = [*rival.question(*problem), *reply, END]
        assert set(text) <= set(rival.tokens)
        assert len(rival.places(text)) == len(text)
    assert rival.read([]) is None
    assert rival.read(["+"]) is None


def test_formats_are_those_of_their_papers() -> None:
    assert " ".join(made("markers").question("32", "5")) == "3 10e 1 2 10e 0 + 5 10e 0 ="
    assert "".join(made("reversed").reply("128", "367")) == "594"
    assert "".join(made("abacus").question("128", "367")) == "821+763="
    assert "".join(made("coupling").question("653", "49")) == "653+049="
    assert "".join(made("coupling").reply("653", "49")) == "2070"
    assert made("coupling").places([*"653+049=2070", END]) == [4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5, 0]


def test_coupled_digits_of_one_column_share_a_position() -> None:
    rival = made("coupling")
    text = [*rival.question("4321", "8765"), *rival.reply("4321", "8765")]
    places = rival.places(text)
    assert places[3] == places[8] == places[10] == 2  # the units of both numbers and of the sum


def test_places_are_moved_together_and_never_off_the_end() -> None:
    for name in ("abacus", "coupling"):
        rival = made(name)
        text = [*rival.question("12", "34"), *rival.reply("12", "34"), END]
        seen = [rival.moved(rival.places(text)) for _ in range(300)]
        assert max(map(max, seen)) < rival.rows
        assert len({row[0] for row in seen}) > 50
        for row in seen:
            assert {b - a for a, b in zip(rival.places(text), row, strict=True) if a} == {
                row[0] - rival.places(text)[0]
            }


def test_carry_chains_are_as_long_as_asked_for() -> None:
    rng = Random(0)
    for digits in (1, 2, 5, 9):
        for chain in range(digits + 1):
            for _ in range(20):
                problem = with_chain(rng, digits, chain)
                assert longest_chain(*problem) == chain
                assert [len(number.lstrip("0")) for number in problem] == [digits, digits]


@pytest.mark.parametrize("name", rivals.METHODS)
def test_every_method_learns_and_answers_within_its_compute(name: str) -> None:
    rival = made(name)
    learned = rival.train()
    assert 0 < learned.tokens <= TINY.tokens * 1.4
    assert learned.examples > 0
    attempts = rival.answer([("5", "7"), ("12", "34"), ("123456789", "987654321")])
    assert all(isinstance(attempt, Attempt) and isinstance(attempt.generated, str) for attempt in attempts)
    assert len(attempts) == 3
    assert rival.parameters > 1000


def test_the_same_seed_gives_the_same_network() -> None:
    def weights(seed: int) -> list[float]:
        rival = rivals.find("reversed")(TINY, 3e-3, seed)
        assert isinstance(rival, Language)
        rival.train()
        return torch.cat([parameter.flatten() for parameter in rival.network.parameters()]).tolist()

    assert weights(3) == weights(3) != weights(4)


def test_generation_with_a_cache_writes_what_reading_everything_again_writes() -> None:
    rival = made("abacus")
    rival.network.eval()  # untrained, it does not end soon
    question = rival.question("1234", "567")
    (written,) = rival.generate([question], 6)
    assert len(written) == 6
    text = list(question)
    for token in written:
        with torch.inference_mode():
            logits = rival.network(torch.tensor([[rival.ids[t] for t in text]]), torch.tensor([rival.places(text)]))
        assert rival.tokens[int(logits[0, -1].argmax())] == token
        text.append(token)


@pytest.mark.slow
def test_a_language_model_learns_what_it_is_shown() -> None:
    """One-digit sums, reversed: a network of this kind learns them in seconds."""
    rival = rivals.find("reversed")(Scale(digits=1, width=32, hidden=64, tokens=200_000, batch_tokens=256), 1e-2, 0)
    rival.train()
    problems = [(str(a), str(b)) for a in range(10) for b in range(10)]
    right = [
        attempt.answer == str(int(a) + int(b)) for attempt, (a, b) in zip(rival.answer(problems), problems, strict=True)
    ]
    assert sum(right) >= 97


OWN = '''
from alga.rivals.contract import Attempt, Learned, Rival


class Zero(Rival):
    """Always answers 0, in no time."""

    name, title, source, given = "zero", "always zero", "nobody", "nothing"
    parameters = 1

    def train(self, watch=None):
        return Learned(examples=0, tokens=0, steps=0)

    def answer(self, problems):
        return [Attempt("0", "0") for _ in problems]
'''


@pytest.mark.slow
def test_a_new_method_is_one_file(tmp_path: Path, alga: Callable[..., Result]) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    done = alga("compare", f"{tmp_path}/mine.py:Zero", "reversed", "--setting", "quick", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    written = (tmp_path / "out" / "compare.md").read_text()
    assert "| always zero | nobody | 0.0 % † |" in written
    assert (tmp_path / "out" / "figures" / "compare.png").is_file()
    again = alga("compare", "--report", "--out", tmp_path / "out")
    assert again.code == 0
    assert (tmp_path / "out" / "compare.md").read_text() == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "unknown method 'nobody'; there are plain, markers"),
        (["--setting", "huge"], "unknown setting 'huge'; there are small, quick, large"),
        (["{}/none.py:Mine"], "none.py: no such file"),
        (["{}/mine.py:Nothing"], "has no class Nothing that is a Rival"),
        (["--report", "--out", "{}"], "holds no comparison"),
        (["--report", "--results", "{}/other.json"], "other.json holds no comparison (KeyError: 'records')"),
        (["--results", "{}/nowhere/compare.json", "--out", "{}/out"], "nowhere is not a folder"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, alga: Callable[..., Result], arguments: list[str], message: str) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "other.json").write_text("{}")
    result = alga("compare", *(argument.format(tmp_path) for argument in arguments))
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_barren_lengths_end_the_test_of_a_method() -> None:
    class Short(rivals.find("plain")):  # type: ignore[misc]
        def answer(self, problems: list[tuple[str, str]]) -> list[Attempt]:
            return [Attempt(str(int(a) + int(b)) if len(a) < 3 else None, "") for a, b in problems]

    found = comparison._by_length(Short(TINY, 1e-3, 0), [1, 2, 3, 4, 5, 6, 7], 4, Random(0))
    assert found == {"1": [4, 4], "2": [4, 4], "3": [0, 4], "4": [0, 4], "5": [0, 4], "6": None, "7": None}


def test_ties_are_ties_and_failures_are_told() -> None:
    runs = [{"lengths": {"2": [4, 4], "3": [1, 4], "4": [1, 4]}}]
    weak = [{"lengths": {"2": [1, 4], "3": [0, 4], "4": None}}]
    records = [{"title": name, "runs": each} for name, each in (("a", runs), ("b", runs), ("c", weak))]
    assert page._order(records, 2) == ["1. 25.0 %: a (25.0), b (25.0)", "2. 0.0 %: c (0.0)"]
    assert page._inside(records, 2)[1] == "- Did not get there: c (25.0 %: 25.0)."


def test_a_seed_that_was_given_up_counts_as_wrong() -> None:
    assert page._shares([None, None, [30, 100]]) == [0.0, 0.0, 0.3]
    record = {"runs": [{"lengths": {"6": pair, "7": None}} for pair in (None, None, [30, 100])]}
    assert page.accuracy(record, 6) == pytest.approx(0.1)
    assert page.accuracy(record, 7) is None


@pytest.mark.parametrize("name", LANGUAGES)
def test_learned_places_are_enough_for_the_longest_training(name: str) -> None:
    rival = made(name, digits=20)
    text = [*rival.question("9" * 20, "9" * 20), *rival.reply("9" * 20, "9" * 20), END]
    assert rival.rows == 0 or max(rival.places(text)) + rival.offsets < rival.rows


def test_a_changed_file_is_another_method(tmp_path: Path) -> None:
    def settings() -> Any:
        return comparison._settings(f"{tmp_path}/mine.py:Zero", TINY, 1e-3, 0, comparison.quick())

    (tmp_path / "mine.py").write_text(OWN)
    before = settings()
    assert before == settings()
    (tmp_path / "mine.py").write_text(OWN.replace('"0"', '"1"'))
    assert before != settings()


def test_a_method_of_a_later_version_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> Any:
        return comparison._settings("plain", TINY, 1e-3, 0, comparison.quick())

    before = settings()
    monkeypatch.setattr(rivals.find("plain"), "version", 2)
    assert before != settings()


@pytest.mark.parametrize("name", ["alga", "first-type", "concatenated"])
def test_methods_that_feed_columns_say_what_they_wrote_for_each(name: str) -> None:
    rival = made(name)
    rival.train()
    assert rival.answer([("12", "34")])[0].generated.startswith("24:")


def test_the_page_tells_rightly_where_tokens_stand() -> None:
    texts = {name: made(name) for name in [*LANGUAGES, "concatenated"]}
    assert {name for name, rival in texts.items() if not rival.rows} == {"plain", "concatenated"}
    assert {name: rival.offsets for name, rival in texts.items() if rival.offsets} == {"abacus": 100, "coupling": 100}


def test_the_committed_page_and_the_readme_say_what_the_records_say() -> None:
    content = json.loads((ROOT / "results" / "compare.json").read_text())
    said = page.page(content, "figures/compare.png", "figures/compare-carries.png")
    assert (ROOT / "docs" / "compare.md").read_text() == said
    assert content["setting"] == "small"
    assert [record["method"] for record in content["records"]] == list(rivals.METHODS)
    assert all(len(record["runs"]) >= 3 and len(record["search"]) >= 4 for record in content["records"])
    brief = page.table(content["records"], content["scale"]["digits"], brief=True)
    assert "\n".join(brief) in (ROOT / "README.md").read_text()


def test_the_method_of_the_docs_runs_as_written(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "rivals.md").read_text()
    code = text.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(code)
    kind = rivals.find(f"{tmp_path}/mine.py:Mine")
    mine = kind(TINY, 1e-3, 0)
    assert mine.reply("128", "367") == made("reversed").reply("128", "367")
    assert mine.train().tokens >= TINY.tokens
    assert len(mine.answer([("12", "34"), ("5", "7")])) == 2
    assert mine.read(mine.reply("128", "367")) == "495"
