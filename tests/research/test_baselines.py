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
from alga.research.baselines.packing import packed, rows_of
from alga.research.baselines.problems import added, draw, of_length, validation, with_chain
from alga.research.baselines.transformer import CausalTransformer, Shape
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
    assert (made("abacus", digits=20).most_offset, made("coupling", digits=5).reach) == (100, 17)
    coupling = made("coupling", digits=5)
    assert max(coupling.offset([4]) + 4 for _ in range(1000)) == 17  # short sums reach the last place
    assert coupling.offset(list(range(18))) == 0
    assert (made("abacus", digits=20).longest, coupling.longest) == (120, 15)


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


def test_only_two_methods_shift_positions_and_two_have_sinusoids() -> None:
    texts = {name: made(name) for name in [*LANGUAGES, "concatenated"]}
    assert {name for name, baseline in texts.items() if not baseline.rows} == {"plain", "concatenated"}
    assert {name for name, baseline in texts.items() if baseline.most_offset or baseline.reach} == {
        "abacus",
        "coupling",
    }
    assert {name for name in baselines.METHODS if baselines.find(name).extrapolates} == {"abacus", "coupling", "reader"}
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
