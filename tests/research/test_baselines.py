"""Baselines: formats match their papers, and every method trains and answers."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from alga.research import baselines
from alga.research.baselines.contract import Attempt, Scale
from alga.research.baselines.language import END
from alga.research.baselines.problems import draw, with_chain
from tests.conftest import ROOT

TINY = Scale(digits=2, width=16, heads=2, layers=1, hidden=32, tokens=3000, batch_tokens=512)


LANGUAGES = [name for name in baselines.METHODS if name not in {"alga", "first-type", "concatenated", "reader"}]


def made(name: str, **changes: Any) -> Any:
    return baselines.find(name)(Scale(**{**vars(TINY), **changes}), 3e-3, 0)


@pytest.mark.parametrize("name", LANGUAGES)
def test_taught_reply_reads_back_as_the_sum(name: str) -> None:
    baseline = made(name)
    rng = Random(0)
    for _ in range(300):
        problem = draw(rng, 7)
        reply = baseline.reply(*problem)
        assert baseline.read(reply) == str(int(problem[0]) + int(problem[1])), problem
        text = [*baseline.question(*problem), *reply, END]
        assert set(text) <= set(baseline.tokens)
        assert len(baseline.places(text)) == len(text)
    assert baseline.read([]) is None
    assert baseline.read(["+"]) is None


def test_formats_match_their_papers() -> None:
    assert " ".join(made("markers").question("32", "5")) == "3 10e 1 2 10e 0 + 5 10e 0 ="
    assert "".join(made("reversed").reply("128", "367")) == "594"
    assert "".join(made("abacus").question("128", "367")) == "821+763="
    assert made("coupling").question("653", "49") == [END, *"653+049="]
    assert "".join(made("coupling").reply("653", "49")) == "2070"
    assert made("coupling").places([END, *"653+049=2070", END]) == [0, 4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5, 0]


def test_coupled_digits_share_a_position() -> None:
    baseline = made("coupling")
    text = [*baseline.question("4321", "8765"), *baseline.reply("4321", "8765")]
    places = baseline.places(text)
    assert places[4] == places[9] == places[11] == 2  # the units of both numbers and of the sum


def test_positions_shift_together_within_the_embeddings() -> None:
    for name in ("abacus", "coupling"):
        baseline = made(name, digits=5)
        question, reply = baseline.question("12", "34"), baseline.reply("12", "34")
        places = baseline.places([*question, *reply])
        offsets = {baseline.offset(places) for _ in range(2000)}
        assert offsets == set(range(max(offsets) + 1))
        assert len(offsets) > 10
        for offset in offsets:
            shifted = baseline._text(question, reply, offset, 0).places
            assert max(shifted) < baseline.rows
            pairs = zip(baseline.places([*question, *reply, END]), shifted, strict=True)
            assert {b - a for a, b in pairs if a} == {offset}


def test_places_have_the_published_range() -> None:
    assert (made("abacus", digits=10).most_offset, made("coupling", digits=5).reach) == (20, 17)
    coupling = made("coupling", digits=5)
    assert max(coupling.offset([4]) + 4 for _ in range(1000)) == 17  # short sums reach the last place
    assert coupling.offset(list(range(18))) == 0
    assert (made("abacus", digits=10).longest, coupling.longest) == (30, 15)


@pytest.mark.parametrize("name", ["abacus", "coupling"])
def test_longest_sum_just_fits_the_places(name: str) -> None:
    baseline = made(name)
    for digits, fits in ((baseline.longest, True), (baseline.longest + 1, False)):
        text = [*baseline.question("9" * digits, "9" * digits), *baseline.reply("9" * digits, "9" * digits)]
        assert (max(baseline.places(text)) < baseline.rows) is fits


def longest_chain(first: str, second: str) -> int:
    """Return the length of the longest carry chain of two numbers of equal length, in columns."""
    longest = run = 0
    for a, b in zip(reversed(first), reversed(second), strict=True):
        total = int(a) + int(b)
        run = 1 if total > 9 else run + 1 if run and total == 9 else 0
        longest = max(longest, run)
    return longest


def test_longest_chain_counts_columns() -> None:
    assert [longest_chain("95", "07"), longest_chain("12", "34"), longest_chain("999", "001")] == [2, 0, 3]


def test_carry_chain_has_the_requested_length() -> None:
    rng = Random(0)
    for digits in (1, 2, 5, 9):
        for chain in range(digits + 1):
            for _ in range(20):
                problem = with_chain(rng, digits, chain)
                assert longest_chain(*problem) == chain
                assert [len(number.lstrip("0")) for number in problem] == [digits, digits]


@pytest.mark.parametrize("name", baselines.METHODS)
def test_method_trains_within_its_compute_and_answers(name: str) -> None:
    baseline = made(name)
    learned = baseline.train()
    assert 0 < learned.tokens <= TINY.tokens * 1.4
    assert learned.examples > 0
    attempts = baseline.answer([("5", "7"), ("12", "34"), ("123456789", "987654321")])
    assert all(isinstance(attempt, Attempt) and isinstance(attempt.generated, str) for attempt in attempts)
    assert len(attempts) == 3
    assert baseline.parameters > 1000


def test_cached_generation_matches_uncached() -> None:
    baseline = made("abacus")
    baseline.network.eval()  # untrained, so it writes no end soon
    question = baseline.question("1234", "567")
    (written,) = baseline.generate([question], 6)
    assert len(written) == 6
    text = list(question)
    for token in written:
        with torch.inference_mode():
            logits = baseline.network(
                torch.tensor([[baseline.ids[t] for t in text]]), torch.tensor([baseline.places(text)])
            )
        assert baseline.tokens[int(logits[0, -1].argmax())] == token
        text.append(token)


@pytest.mark.slow
def test_language_model_learns_one_digit_sums() -> None:
    baseline = baselines.find("reversed")(
        Scale(digits=1, width=32, hidden=64, tokens=200_000, batch_tokens=256), 1e-2, 0
    )
    baseline.train()
    problems = [(str(a), str(b)) for a in range(10) for b in range(10)]
    right = [
        attempt.answer == str(int(a) + int(b))
        for attempt, (a, b) in zip(baseline.answer(problems), problems, strict=True)
    ]
    assert sum(right) >= 97


@pytest.mark.parametrize("name", LANGUAGES)
def test_position_embeddings_cover_the_training_lengths(name: str) -> None:
    baseline = made(name, digits=20)
    text = [*baseline.question("9" * 20, "9" * 20), *baseline.reply("9" * 20, "9" * 20), END]
    assert baseline.rows == 0 or max(baseline.places(text)) + baseline.most_offset < baseline.rows


@pytest.mark.parametrize("name", ["alga", "first-type", "concatenated"])
def test_column_methods_show_each_step(name: str) -> None:
    baseline = made(name)
    baseline.train()
    assert baseline.answer([("12", "34")])[0].generated.startswith("24:")


def test_few_methods_shift_positions_and_two_have_sinusoids() -> None:
    texts = {name: made(name) for name in [*LANGUAGES, "concatenated"]}
    shifting = {"abacus", "looped-abacus", "coupling"}
    assert {name for name, baseline in texts.items() if not baseline.rows} == {"plain", "concatenated"}
    assert {name for name, baseline in texts.items() if baseline.most_offset or baseline.reach} == shifting
    assert {name for name in baselines.METHODS if baselines.find(name).extrapolates} == {*shifting, "reader"}
    assert {name for name in baselines.METHODS if baselines.find(name).looped} == {"alga", "first-type", "concatenated"}


def test_method_in_the_docs_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "rivals.md").read_text()
    code = text.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "my_method.py").write_text(code)
    kind = baselines.find(f"{tmp_path}/my_method.py:MyMethod")
    mine = kind(TINY, 1e-3, 0)
    assert mine.reply("128", "367") == made("reversed").reply("128", "367")
    assert mine.train().tokens >= TINY.tokens
    assert len(mine.answer([("12", "34"), ("5", "7")])) == 2
    assert mine.read(mine.reply("128", "367")) == "495"


def test_old_name_rival_still_works() -> None:
    from alga.research.baselines.contract import Baseline, Rival

    assert Rival is Baseline
