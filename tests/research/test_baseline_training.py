"""Training of baselines: packed batches, validation that ends a training, schedule, and the networks' variants."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from alga.research import baselines
from alga.research.baselines.contract import Scale
from alga.research.baselines.language import Language
from alga.research.baselines.packing import packed, rows_of
from alga.research.baselines.problems import added, draw, of_length, validation
from alga.research.baselines.transformer import CausalTransformer, Shape

TINY = Scale(digits=2, width=16, heads=2, layers=1, hidden=32, tokens=3000, batch_tokens=512)


LANGUAGES = [name for name in baselines.METHODS if name not in {"alga", "first-type", "concatenated", "reader"}]


def made(name: str, **changes: Any) -> Any:
    return baselines.find(name)(Scale(**{**vars(TINY), **changes}), 3e-3, 0)


def test_half_of_the_sums_have_equal_lengths() -> None:
    rng = Random(0)
    lengths = [(len(first), len(second)) for first, second in (draw(rng, 10) for _ in range(4000))]
    equal = sum(first == second for first, second in lengths) / len(lengths)
    assert equal == pytest.approx(0.5 + 0.5 / 10, abs=0.03)
    assert {*lengths} == {(first, second) for first in range(1, 11) for second in range(1, 11)}


def test_packed_texts_see_only_themselves() -> None:
    baseline = made("detailed")
    baseline.network.eval()
    pairs = [("5", "7"), ("12", "3"), ("999", "99"), ("0", "0"), ("10", "90")]
    texts = [
        baseline._text(baseline.question(*pair), baseline.reply(*pair), 0, len(baseline.question(*pair)))
        for pair in pairs
    ]
    batch = packed(texts, "cpu")
    assert len(batch.ids_BL) < len(texts)  # some share a row
    assert batch.tokens == sum(len(text.ids) - 1 for text in texts)
    with torch.inference_mode():
        together = baseline._logits(batch)
        for i, text in enumerate(texts):
            ids, places = torch.tensor([text.ids[:-1]]), torch.tensor([text.places[:-1]])
            alone = baseline.network(ids, places)[0, text.learned - 1 :]
            torch.testing.assert_close(together[batch.texts_N == i], alone, rtol=1e-4, atol=1e-5)
            assert batch.targets_N[batch.texts_N == i].tolist() == list(text.ids[text.learned :])


def test_rows_hold_every_text_once() -> None:
    lengths = [Random(0).randint(1, 30) for _ in range(200)]
    rows = rows_of(lengths, 30)
    assert sorted(i for row in rows for i in row) == list(range(200))
    assert max(sum(lengths[i] for i in row) for row in rows) <= 30


def test_every_batch_has_as_many_examples_of_all_lengths() -> None:
    baseline = made("plain", digits=5, batch_tokens=2048)
    batches = [baseline._batch() for _ in range(60)]
    assert {int(batch.texts_N.max()) + 1 for batch in batches} == {baseline.batch_size}
    assert sum(batch.tokens for batch in batches) / 60 == pytest.approx(2048, rel=0.1)
    used = sum(batch.tokens for batch in batches) / sum(batch.ids_BL.numel() for batch in batches)
    assert used > 0.85


@pytest.mark.parametrize("name", ["reversed", "coupling"])
def test_validation_counts_what_generation_gets_right(name: str) -> None:
    baseline = made(name, digits=1, tokens=150_000, batch_tokens=256, check_tokens=50_000)
    baseline.train()
    problems = validation(0, 1)
    answers = [attempt.answer for attempt in baseline.answer(problems)]
    right = sum(answer == str(int(a) + int(b)) for answer, (a, b) in zip(answers, problems, strict=True))
    texts = [baseline._text(question, reply, 0, len(question)) for question, reply in baseline.held_out()]
    assert baseline._right(texts) == right
    assert right > 0


def test_training_ends_after_three_checks_without_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def learned(name: str, rights: list[int]) -> Any:
        baseline = made(name, tokens=12_000, check_tokens=2000)
        count, given = len(baseline.held_out()), iter(rights)
        monkeypatch.setattr(baseline, "_right", lambda _: count if next(given) else 0)
        return baseline, baseline.train()

    _, ended = learned("reversed", [1, 1, 0, 1, 1, 1])
    assert len(ended.curve) == 6
    assert ended.passed == ended.tokens == ended.curve[-1][0]
    _, never = learned("reversed", [1, 1, 0, 1, 1, 0])
    assert never.passed is None
    assert never.tokens >= 12_000
    baseline, on = learned("coupling", [0, 1, 1, 1, 0, 0])
    assert on.passed == on.curve[3][0] < on.tokens
    weights = baseline.network.head.weight.clone()
    assert baseline.rewind()
    assert not torch.equal(weights, baseline.network.head.weight)
    assert not learned("coupling", [0] * 6)[0].rewind()


def test_rate_does_not_depend_on_the_end_of_training() -> None:
    rates = []
    for tokens in (3000, 9000):
        baseline = made("reversed", tokens=tokens, check_tokens=10**6)
        seen: list[float] = []
        rates.append(seen)
        with pytest.MonkeyPatch.context() as patch:
            step = torch.optim.AdamW.step
            patch.setattr(torch.optim.AdamW, "step", lambda o: (seen.append(o.param_groups[0]["lr"]), step(o))[1])  # noqa: B023
            baseline.train()
    assert rates[0] == rates[1][: len(rates[0])]


def test_looped_layers_are_shared_and_see_the_text_again() -> None:
    shape = {"vocabulary": 14, "rows": 20, "width": 16, "heads": 2, "layers": 1, "hidden": 32}
    torch.manual_seed(0)
    once, twice = CausalTransformer(Shape(**shape)), CausalTransformer(Shape(**shape, loops=2))
    twice.load_state_dict(once.state_dict())  # as many parameters
    ids, places = torch.tensor([[2, 3, 4]]), torch.tensor([[1, 2, 3]])
    embedded = once.token_embedding(ids) + once.place_embedding(places)  # type: ignore[misc]
    mask = torch.full((3, 3), -math.inf).triu(1)
    x, _ = once.layers[0](embedded, mask, None, None)
    x, _ = once.layers[0](x + embedded, mask, None, None)
    torch.testing.assert_close(twice(ids, places), once.head(once.norm(x)))
    assert not torch.allclose(twice(ids, places), once(ids, places))


@pytest.mark.parametrize("more", [{}, {"loops": 3}, {"gated": True, "both_norms": True}])
def test_cached_network_matches_uncached(more: dict[str, Any]) -> None:
    torch.manual_seed(0)
    network = CausalTransformer(Shape(vocabulary=14, rows=20, width=16, heads=2, layers=2, hidden=32, **more))
    ids, places = torch.randint(14, (3, 9)), torch.randint(20, (3, 9))
    with torch.inference_mode():
        whole, cache = network(ids, places), []
        parts = [network(ids[:, a:b], places[:, a:b], cache=cache) for a, b in ((0, 5), (5, 6), (6, 9))]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=1e-4, atol=1e-5)
    assert len(cache) == 2 * more.get("loops", 1)


@pytest.mark.slow
def test_reader_learns_short_sums_and_adds_longer_ones() -> None:
    reader = baselines.find("reader")(Scale(digits=3, tokens=4_000_000), 3e-3, 0)
    reader.trains_on = False
    assert reader.train().passed
    rng = Random(1)
    problems = [of_length(rng, 30) for _ in range(20)]
    assert [attempt.answer for attempt in reader.answer(problems)] == [added(*problem) for problem in problems]


@pytest.mark.parametrize("name", [*LANGUAGES, "concatenated"])
def test_training_lowers_the_loss(name: str) -> None:
    baseline = made(name, tokens=40_000)

    def loss() -> float:
        baseline.rng = Random(99)
        batch = baseline._batch()
        with torch.inference_mode():
            return float(F.cross_entropy(baseline._logits(batch), batch.targets_N))

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
    monkeypatch.setattr(baseline, "_batch", lambda: batches.append(draw_batch()) or batches[-1])
    step, tokens = torch.optim.AdamW.step, 0

    def checked(optimizer: torch.optim.AdamW) -> None:
        nonlocal tokens
        batch = batches[-1]
        given = [parameter.grad for parameter in baseline.network.parameters()]
        logits_BLV = baseline.network(batch.ids_BL, batch.places_BL, batch.mask)
        loss = scale * exact(logits_BLV.flatten(0, 1)[batch.chosen_N], batch.targets_N)
        exactly = torch.autograd.grad(loss, list(baseline.network.parameters()))
        length = torch.cat([gradient.flatten() for gradient in exactly]).norm()
        assert length > 10
        for taken, gradient in zip(given, exactly, strict=True):
            torch.testing.assert_close(taken, gradient / length, rtol=1e-3, atol=1e-5)
        (group,) = optimizer.param_groups
        assert group["lr"] == pytest.approx(3e-3 * max(0.01, tokens / 250_000))
        tokens += batch.tokens
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
