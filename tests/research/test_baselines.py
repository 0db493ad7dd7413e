"""Baselines: formats match their papers, and every method trains and answers."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from alga.research import baselines
from alga.research.baselines.contract import Attempt, Scale
from alga.research.baselines.language import END, Language
from alga.research.baselines.problems import draw, with_chain
from tests.conftest import ROOT

TINY = Scale(digits=2, width=16, heads=2, layers=1, hidden=32, tokens=3000, batch_tokens=512)


LANGUAGES = [name for name in baselines.METHODS if name not in {"alga", "first-type", "concatenated"}]


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
    assert "".join(made("coupling").question("653", "49")) == "653+049="
    assert "".join(made("coupling").reply("653", "49")) == "2070"
    assert made("coupling").places([*"653+049=2070", END]) == [4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5, 0]


def test_coupled_digits_share_a_position() -> None:
    baseline = made("coupling")
    text = [*baseline.question("4321", "8765"), *baseline.reply("4321", "8765")]
    places = baseline.places(text)
    assert places[3] == places[8] == places[10] == 2  # the units of both numbers and of the sum


def test_positions_shift_together_within_the_embeddings() -> None:
    for name in ("abacus", "coupling"):
        baseline = made(name)
        text = [*baseline.question("12", "34"), *baseline.reply("12", "34"), END]
        seen = [baseline.moved(baseline.places(text)) for _ in range(300)]
        assert max(map(max, seen)) < baseline.rows
        assert len({row[0] for row in seen}) > 50
        for row in seen:
            assert {b - a for a, b in zip(baseline.places(text), row, strict=True) if a} == {
                row[0] - baseline.places(text)[0]
            }


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


@pytest.mark.parametrize("name", [*LANGUAGES, "concatenated"])
def test_training_lowers_the_loss(name: str) -> None:
    baseline = made(name, tokens=20_000)

    def loss() -> float:
        baseline.rng = Random(99)
        ids_BL, places_BL, learned_BL = baseline._batch(2048)
        with torch.inference_mode():
            logits_BLV = baseline.network(ids_BL[:, :-1], places_BL[:, :-1])
        targets = ids_BL[:, 1:][learned_BL[:, 1:]]
        return float(F.cross_entropy(logits_BLV[learned_BL[:, 1:]], targets))

    before = loss()
    baseline.rng = Random(0)
    baseline.train()
    assert loss() < 0.9 * before


def test_step_follows_the_clipped_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    baseline = made("reversed")
    scale = 1000.0  # so that every gradient is clipped
    exact = F.cross_entropy
    monkeypatch.setattr(F, "cross_entropy", lambda *args, **more: scale * exact(*args, **more))
    batches, draw_batch = [], baseline._batch
    monkeypatch.setattr(baseline, "_batch", lambda size: batches.append(draw_batch(size)) or batches[-1])
    step, tokens = torch.optim.AdamW.step, 0

    def checked(optimizer: torch.optim.AdamW) -> None:
        nonlocal tokens
        ids_BL, places_BL, learned_BL = batches[-1]
        given = [parameter.grad for parameter in baseline.network.parameters()]
        logits_BLV = baseline.network(ids_BL[:, :-1], places_BL[:, :-1])
        loss = scale * exact(logits_BLV[learned_BL[:, 1:]], ids_BL[:, 1:][learned_BL[:, 1:]])
        exactly = torch.autograd.grad(loss, list(baseline.network.parameters()))
        length = torch.cat([gradient.flatten() for gradient in exactly]).norm()
        assert length > 10
        for taken, gradient in zip(given, exactly, strict=True):
            torch.testing.assert_close(taken, gradient / length, rtol=1e-3, atol=1e-5)
        (group,) = optimizer.param_groups
        done = tokens / TINY.tokens
        rate = max(done, 1e-3) / 0.05 if done < 0.05 else 0.1 + 0.45 * (1 + math.cos(math.pi * (done - 0.05) / 0.95))
        assert group["lr"] == pytest.approx(3e-3 * rate)
        tokens += ids_BL.numel()
        step(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", checked)
    baseline.train()
    assert len(batches) > 3


def test_same_seed_gives_the_same_network() -> None:
    def weights(seed: int) -> list[float]:
        baseline = baselines.find("reversed")(TINY, 3e-3, seed)
        assert isinstance(baseline, Language)
        baseline.train()
        return torch.cat([parameter.flatten() for parameter in baseline.network.parameters()]).tolist()

    assert weights(3) == weights(3) != weights(4)


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
    assert baseline.rows == 0 or max(baseline.places(text)) + baseline.offsets < baseline.rows


@pytest.mark.parametrize("name", ["alga", "first-type", "concatenated"])
def test_column_methods_show_each_step(name: str) -> None:
    baseline = made(name)
    baseline.train()
    assert baseline.answer([("12", "34")])[0].generated.startswith("24:")


def test_only_the_methods_named_on_the_page_learn_or_shift_positions() -> None:
    texts = {name: made(name) for name in [*LANGUAGES, "concatenated"]}
    assert {name for name, baseline in texts.items() if not baseline.rows} == {"plain", "concatenated"}
    assert {name: baseline.offsets for name, baseline in texts.items() if baseline.offsets} == {
        "abacus": 100,
        "coupling": 100,
    }


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
