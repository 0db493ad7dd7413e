"""The Task contract, and every task behind it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.tokens import Tokens
from alga.tasks.addition import Addition
from alga.tasks.layouts import Digits, Layout
from alga.tasks.numbers import ALPHABET, text_of, value_of
from alga.tasks.validation import check
from tests.conftest import ALL_TASKS

SIZES = {
    "addition": 2300,
    "addition-padded": 2100,
    "addition-lookahead": 341,
    "addition-whole": 24_741,
    "subtraction": 2100,
    "times-a-digit": 4610,
    "division-by-a-digit": 4590,
    "parity": 6,
    "addition-of-three": 31_000,
    "comparison": 400,
    "arithmetic": 9_010,
}

NUMBERS = st.text("0123456789", min_size=1, max_size=60)


def chained(name: str, *operands: str) -> str:
    task = tasks.find(name)
    return task.read([step.output for step in task.steps(*operands)])


@pytest.mark.parametrize("name", ALL_TASKS)
def test_domain_has_its_known_size(name: str) -> None:
    assert len(tasks.find(name).domain) == SIZES[name]


@pytest.mark.parametrize("name", ALL_TASKS)
def test_chained_steps_give_the_answer_of_every_small_problem(name: str) -> None:
    assert check(tasks.find(name)) > 10


@given(NUMBERS, NUMBERS)
def test_addition_agrees_with_python(a: str, b: str) -> None:
    expected = str(int(a) + int(b))
    for name in ("addition", "addition-padded"):
        assert chained(name, a, b) == tasks.find(name).oracle(a, b) == expected


@given(NUMBERS, NUMBERS)
def test_subtraction_agrees_with_python_and_refuses_negatives(a: str, b: str) -> None:
    if int(a) < int(b):
        with pytest.raises(AlgaError, match="at least the second"):
            chained("subtraction", a, b)
    else:
        assert chained("subtraction", a, b) == tasks.find("subtraction").oracle(a, b) == str(int(a) - int(b))


@given(NUMBERS, st.sampled_from("0123456789"))
def test_times_and_division_by_a_digit_agree_with_python(a: str, d: str) -> None:
    assert chained("times-a-digit", a, d) == tasks.find("times-a-digit").oracle(a, d) == str(int(a) * int(d))
    if d == "0":
        with pytest.raises(AlgaError, match=r"^a number cannot be divided by zero$"):
            chained("division-by-a-digit", a, d)
    else:
        quotient, remainder = divmod(int(a), int(d))
        expected = f"{quotient} r{remainder}"
        assert chained("division-by-a-digit", a, d) == tasks.find("division-by-a-digit").oracle(a, d) == expected


@given(st.text("01", min_size=1, max_size=60))
def test_parity_counts_ones(bits: str) -> None:
    assert chained("parity", bits) == tasks.find("parity").oracle(bits) == str(int(bits, 2).bit_count() % 2)


@given(st.data())
def test_every_step_of_every_problem_is_in_the_domain(data: st.DataObject) -> None:
    task = tasks.find(data.draw(st.sampled_from(("addition", "addition-padded"))))
    assert all(task.domain[step.prompt] for step in task.steps(data.draw(NUMBERS), data.draw(NUMBERS)))


def test_oracle_is_exact_beyond_pythons_int_digit_limit() -> None:
    assert Addition().oracle("9" * 50_000, "1") == "1" + "0" * 50_000


@pytest.mark.parametrize(
    ("context", "column", "prompt", "output"),
    [
        (None, "12", "12", "3"), (None, "83", "83", "11"), (None, "69", "69", "15"), (None, "99", "99", "18"),
        ("3", "14", "3C14", "5"), ("11", "71", "11C71", "9"), ("15", "29", "15C29", "12"), ("18", "98", "18C98", "18"),
    ],
)  # fmt: skip
def test_papers_instances_are_in_the_domain(context: str | None, column: str, prompt: str, output: str) -> None:
    task = Addition()
    assert task.prompt(context, column) == prompt
    assert task.step(context, column) == output == task.domain[prompt].output


def test_context_19_is_reachable() -> None:
    domain = tasks.find("addition").domain
    assert sum(prompt.startswith("19C") for prompt in domain) == 110
    assert all(instance.output != "19" for instance in domain.values() if instance.context is None)


def test_vocabulary_and_lengths_match_the_paper() -> None:
    for name in ("addition", "addition-padded"):
        tokens = Tokens.of(tasks.find(name).domain)
        assert tokens.vocabulary == ("P", "S", *"0123456789", "\n", "C")
        assert (tokens.input_length, tokens.output_length) == (5, 3)


class WithoutCarry(Addition):
    def view(self, before: str) -> str:
        return before[-1]


class WrongAtOnePlace(Addition):
    def step(self, before: str | None, column: str) -> str:
        return "8" if (before, column) == ("18", "24") else super().step(before, column)


class FiveDigits(Digits):
    """Five digits of each number at once."""

    def first(self, setting: str) -> Sequence[str]:
        class Many(Sequence[str]):
            def __len__(self) -> int:
                return 10**10

            def __getitem__(self, i: object) -> str:  # type: ignore[override]
                raise AssertionError("listed")

        return Many()


class Blocks(Addition):
    layout: Layout

    def __init__(self) -> None:
        super().__init__()
        self.layout = FiveDigits(2)


class Stranger(Addition):
    def __init__(self) -> None:
        super().__init__()
        self.symbols = "012345678"


def test_view_that_hides_the_carry_is_refused() -> None:
    with pytest.raises(AlgaError, match="ambiguous") as refused:
        _ = WithoutCarry().domain
    message = str(refused.value)
    assert "'0C00'" in message
    assert "context '0' gives '0'" in message
    assert "context '10' gives '1'" in message


def test_wrong_step_is_refused_with_the_smallest_problem() -> None:
    with pytest.raises(AlgaError, match=r"the steps of 29\+49 spell '88', its answer is '78'"):
        check(WrongAtOnePlace())


def test_too_large_domain_is_refused_with_its_size() -> None:
    with pytest.raises(AlgaError, match="at least 10,000,000,000 prompts"):
        _ = Blocks().domain


def test_exploring_stops_at_its_limit_with_the_size_reached() -> None:
    task = Addition()
    with pytest.raises(AlgaError, match="at least 2,190 prompts; up to 2,000 can be enumerated"):
        task.explore(lambda batch: [task.step(*situation) for situation in batch], limit=2000)


def test_character_outside_the_symbols_is_refused() -> None:
    with pytest.raises(AlgaError, match="uses '9', not among its symbols"):
        check(Stranger())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one digit, got the empty text"),
        ("-5", "got '-' at position 1"),
        ("+5", r"got '\+' at position 1"),
        ("1 2", "got ' ' at position 2"),
        ("12a", "got 'a' at position 3"),
        ("１２", "got '１' at position 1"),
        ("١٢", "at position 1"),
        ("1²", "got '²' at position 2"),
        ("1_000", "got '_' at position 2"),
        ("1.0", r"got '\.' at position 2"),
        ("5\n", r"at position 2"),
    ],
)
def test_invalid_number_is_refused_with_the_position(text: str, message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        Addition().columns(text, "1")
    with pytest.raises(AlgaError, match=message):
        Addition().oracle("1", text)


def test_int_operand_is_refused() -> None:
    with pytest.raises(AlgaError, match="text of digits, got int"):
        Addition().columns(5, "3")  # type: ignore[arg-type]


def test_unknown_task_error_lists_the_tasks() -> None:
    with pytest.raises(AlgaError, match="unknown task 'square'; there are addition, addition-padded"):
        tasks.find("square")


# --- bases ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [2, 3, 7, 11, 36])
@pytest.mark.parametrize("family", ["addition", "subtraction", "comparison", "times-a-digit", "division-by-a-digit"])
def test_exact_steps_match_python_in_every_base(family: str, base: int) -> None:
    task, rng = tasks.find(tasks.in_base(family, base)), Random(base)
    for _ in range(30):
        a, b = (rng.randrange(base ** rng.randint(1, 12)) for _ in range(2))
        if family in ("times-a-digit", "division-by-a-digit"):
            b = rng.randrange(1, base)
        if family == "subtraction":
            a, b = max(a, b), min(a, b)
        operands = (text_of(a, base), text_of(b, base))
        spelled = task.read([step.output for step in task.steps(*operands)])
        known: dict[str, Any] = {
            "addition": lambda a=a, b=b: text_of(a + b, base),
            "subtraction": lambda a=a, b=b: text_of(a - b, base),
            "comparison": lambda a=a, b=b: "=" if a == b else "<" if a < b else ">",
            "times-a-digit": lambda a=a, b=b: text_of(a * b, base),
            "division-by-a-digit": lambda a=a, b=b: f"{text_of(a // b, base)} r{text_of(a % b, base)}",
        }
        assert spelled == task.oracle(*operands) == known[family]()


def test_numbers_of_any_length_round_trip() -> None:
    rng = Random(1)
    for base in (2, 7, 10, 36):
        text = "1" + "".join(rng.choices(ALPHABET[:base], k=5000))
        assert text_of(value_of(text, base), base) == text


@pytest.mark.parametrize("name", ["addition-base-37", "addition-base-1", "addition-base-10", "and-base-10", "and", "x"])
def test_missing_task_is_refused(name: str) -> None:
    with pytest.raises(AlgaError, match=r"unknown task|base must be 2 to 36|power of two"):
        tasks.find(name)
