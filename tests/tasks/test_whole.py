"""Whole sums as one text: places, situations, and the domain that they make."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.tasks.validation import check
from alga.tasks.whole import ANSWER, QUESTION, Whole

TASK = Whole()
NUMBERS = st.text("0123456789", min_size=1, max_size=40)


def test_text_and_places_are_those_of_the_notes() -> None:
    question, answer = TASK.question("65785", "008765"), TASK.answer("65785", "8765")
    assert question + answer == "65785+8765=05547S"
    assert TASK.places(question + answer) == [5, 4, 3, 2, 1, 0, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("situation", "seen"),
    [
        ("5+6=", [("5", QUESTION, 1), ("6", QUESTION, 1), ("+", QUESTION, 0), ("=", ANSWER, 0)]),
        ("78+6=5", [("7", QUESTION, 1), ("8", QUESTION, 0), ("6", QUESTION, 0), ("5", ANSWER, 0)]),
        ("8+=8", [("8", QUESTION, 0), ("8", ANSWER, 0)]),
        ("+=1", [("1", ANSWER, 0)]),
    ],
)
def test_situation_shows_two_columns(situation: str, seen: list[tuple[str, int, int]]) -> None:
    assert TASK.seen(situation) == seen
    assert situation in TASK.domain


@given(NUMBERS, NUMBERS)
def test_every_token_of_a_text_is_a_situation_of_the_domain(a: str, b: str) -> None:
    question = TASK.question(a, b)
    answer = str(int(a) + int(b))[::-1] + "S"  # not by the task's own arithmetic
    assert TASK.answer(*question[:-1].split("+")) == answer
    situations = list(TASK.situations(question, answer))
    assert [TASK.domain[situation].output for situation in situations] == list(answer)
    text = question + answer
    assert situations == [TASK.situation(text, at) for at in range(len(question) - 1, len(text) - 1)]
    assert TASK.read(answer) == str(int(a) + int(b))


@given(NUMBERS, NUMBERS)
def test_what_a_situation_shows_is_what_the_places_of_the_text_say(a: str, b: str) -> None:
    text = TASK.question(a, b) + TASK.answer(*TASK.question(a, b)[:-1].split("+"))
    places, equals = TASK.places(text), text.index("=")
    for at in range(equals, len(text) - 1):
        near = sorted(
            (text[i], ANSWER if i >= equals else QUESTION, places[i] - places[at])
            for i in range(at + 1)
            if places[i] - places[at] in (0, 1)
        )
        assert near == sorted(TASK.seen(TASK.situation(text, at)))


def test_domain_is_counted_as_in_the_notes() -> None:
    prompts = list(TASK.domain)
    first = [prompt for prompt in prompts if prompt.endswith("=")]
    own = {n: [p for p in prompts if p not in first and sum(map(bool, p[:-2].split("+"))) == n] for n in (0, 1, 2)}
    assert (len(first), len(own[2]), len(own[1]), own[0]) == (100, 100 * 2 * 121, 20 * 2 * 11, ["+=1"])


def test_other_bases_have_their_texts() -> None:
    task = tasks.find("addition-whole-base-2")
    assert isinstance(task, Whole)
    assert task.question("1011", "1") + task.answer("1011", "1") == "1011+1=0011S"
    assert check(task) > 100


def test_sorted_situations_are_those_of_the_digits_at_each_place() -> None:
    three = Whole(3, operands=3)
    text = three.question("101", "11", "1") + three.answer("101", "11", "1")
    assert text == "101+11+1=021S"
    assert three.situation(text, text.index("=")) == "1+1+1="
    assert three.situation(text, text.index("=") + 1) == "01+11+1=0"  # whichever number the digits belong to
    seen = sorted(three.seen("01+11+1=1"))
    assert seen == sorted(three.seen("11+01+1=1"))
    assert check(three) > 100
    with pytest.raises(AlgaError, match=r"'0\+\+=0' is followed by 'S' and by '1'"):
        _ = Whole(2, operands=3).domain  # a carry of two looks like none
    assert len(Whole(16).domain) == (136 * 153 + 16 * 17) * 2 + 1 + 136


@pytest.mark.parametrize("operands", [("1",), ("1", "2", "3"), ("-1", "2"), ("1", "x"), ("", "1")])
def test_operands_that_are_no_numbers_are_refused(operands: tuple[str, ...]) -> None:
    with pytest.raises(AlgaError):
        TASK.question(*operands)


def test_situations_that_spell_a_wrong_answer_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Whole()
    monkeypatch.setattr(broken, "answer", lambda *operands: Whole().answer(*operands).replace("7", "8"))
    with pytest.raises(AlgaError, match="its answer is"):
        check(broken)


def test_a_text_that_two_columns_do_not_decide_is_refused() -> None:
    class Backwards(Whole):
        def answer(self, *operands: str) -> str:
            return super().answer(*operands)[:-1][::-1] + "S"

    with pytest.raises(AlgaError, match="is followed by"):
        _ = Backwards().domain


def test_example_is_a_text_continued_as_the_outputs_say() -> None:
    exact = TASK.example(Random(1), lambda prompt: TASK.domain[prompt].output)
    question, _, written = exact.partition("=")
    assert TASK.answer(*question.split("+")) == written
    assert TASK.example(Random(1), lambda _: "7") == f"{question}=777777"  # no end: cut off
    assert TASK.example(Random(1), lambda _: None) == f"{question}=S"
