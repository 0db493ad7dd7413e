"""Tables run for all columns at once: which fit, and that they do what the table says, right or wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alga import tasks
from alga.solve.calculator import Calculator
from alga.solve.engines import table as engine
from alga.solve.engines import vector
from alga.solve.engines.machine import Machine, machine_of
from alga.solve.engines.text_memory import new_text, viewed
from alga.solve.solver import Solver
from alga.tasks import Task
from alga.trust.table import Table
from tests.solve.machines import ADDITION, FAST, Make, machine

BASES = [in_base for base in ("", "-base-2", "-base-8") for in_base in (f"addition{base}", f"subtraction{base}")]
FITS = {"addition", "addition-padded", "subtraction", "digits permuted"}


def exactly(task: Task, change: Callable[[str, str], str] = lambda _, output: output) -> Machine:
    """Return the machine of a right table, or of one with other outputs."""
    outputs = {prompt: change(prompt, each.output) for prompt, each in task.domain.items()}
    return Machine(task, Table(task.name, outputs))


def columns_of(value: int, task: Task) -> list[str]:
    """Return the columns of two digits with one sum, or one difference."""
    digits, sign = task.layout.symbols, -1 if task.kind == "subtraction" else 1
    return [a + b for i, a in enumerate(digits) for j, b in enumerate(digits) if i + sign * j == value]


def every_way(made: Machine, upper: str, lower: str) -> str | None:
    """Return the answer; replayed, by Python's integers and by compiled code it must be the same."""
    assert made.scan is not None
    replayed = engine.replay(made, (upper, lower)).answer
    for text in (made.scan.text(upper, lower), vector.text_of(made.scan, upper, lower)):
        assert text is not None
        assert made.procedure.tidied(text) == replayed
    return replayed


def problem(rng: Random, made: Machine, most: int) -> tuple[str, str]:
    """Draw two numbers, often with long runs in which a carry goes on."""
    digits = made.procedure.layout.symbols
    chars = rng.choice([digits, digits[0] + digits[-1], digits[-1], digits[0] + digits[1]])
    upper = rng.choice(digits[1:]) + "".join(rng.choices(chars, k=rng.randint(0, most)))
    lower = "".join(rng.choices(rng.choice([digits, chars]), k=rng.randint(1, len(upper)))).lstrip("0") or "0"
    pair = sorted((upper, lower), key=lambda text: (len(text), text), reverse=True)
    return (pair[0], pair[1]) if made.procedure.layout.plain is False or rng.random() < 0.5 else (pair[1], pair[0])


@pytest.mark.parametrize("name", FAST)
def test_tables_that_do_as_carrying_does_fit(name: str, faulty: Make) -> None:
    assert (machine(name, faulty).scan is not None) == (name in FITS)


@pytest.mark.parametrize("name", BASES)
def test_right_tables_are_run_at_once(name: str) -> None:
    made, rng = machine_of(tasks.find(name), Solver.load(name).table), Random(1)
    for _ in range(200):
        upper, lower = problem(rng, made, 200)
        assert every_way(made, upper, lower) == made.procedure.oracle(upper, lower)


@pytest.mark.parametrize("name", BASES)
def test_table_wrong_on_every_column_of_one_sum_gives_exactly_these_wrong_answers(name: str) -> None:
    """One digit wrong, for each sum or difference in turn; the scan takes such a table, and must not be right."""
    task, rng, differing = tasks.find(name), Random(2), 0
    most = len(task.layout.symbols) - 1
    for value in range(-most, 2 * most + 1):
        columns = columns_of(value, task)
        alone = [c for c in task.layout.following("") if len(c) == 1 and task.layout.symbols.index(c) == value]
        wrong = {*columns, *alone}
        if not columns:
            continue

        def change(prompt: str, output: str, wrong: set[str] = wrong) -> str:
            column = prompt.partition("C")[2] or prompt
            digits = task.layout.symbols
            other = digits[(digits.index(output[-1]) + 1) % len(digits)]
            return output[:-1] + other if column in wrong else output

        made = exactly(task, change)
        assert made.scan is not None, value
        for _ in range(20):
            upper, lower = problem(rng, made, 150)
            differing += every_way(made, upper, lower) != task.oracle(upper, lower)
    assert differing > 50


@pytest.mark.parametrize("name", BASES)
def test_one_wrong_entry_is_refused_and_its_answer_kept(name: str) -> None:
    task, rng = tasks.find(name), Random(3)
    prompts = [prompt for prompt in task.domain if "C" in prompt]
    for prompt in rng.sample(prompts, min(12, len(prompts))):
        digits, right = task.layout.symbols, task.domain[prompt].output
        other = right[:-1] + digits[(digits.index(right[-1]) + 1) % len(digits)]
        made = exactly(task, lambda asked, output, p=prompt, o=other: o if asked == p else output)  # type: ignore[misc]
        assert made.scan is None or task.layout.base == 2, prompt  # in base 2 it may be all columns of a sum
        for _ in range(5):
            pair = problem(rng, made, 150)
            if made.scan is None:
                assert engine.solve(task, made.table, [pair])[0].answer == engine.replay(made, pair).answer
            else:
                every_way(made, *pair)


def test_carries_of_other_sums_are_taken_as_the_table_says() -> None:
    """A table that carries from 7 on does as carrying does, and is wrong."""
    made, rng = exactly(ADDITION, lambda _, output: f"1{output[-1]}" if int(output) >= 7 else output), Random(4)
    pairs = [problem(rng, made, 150) for _ in range(100)]
    assert sum(every_way(made, *pair) != ADDITION.oracle(*pair) for pair in pairs) > 50


def test_imperfect_network_that_permutes_digits(faulty: Make) -> None:
    made, rng = machine("digits permuted", faulty), Random(5)
    for _ in range(100):
        every_way(made, *problem(rng, made, 300))


@settings(max_examples=150, deadline=None)
@given(*[st.text("09", min_size=1, max_size=300) | st.text("0123456789", min_size=1, max_size=300)] * 2)
def test_every_way_adds(a: str, b: str) -> None:
    made = machine_of(ADDITION, Solver.load().table)
    assert every_way(made, a, b) == str(int(a) + int(b))


@pytest.mark.parametrize("sizes", [(40_000, 40_000), (40_000, 5), (3, 140_000), (32_768, 32_769), (70_000, 69_999)])
@pytest.mark.parametrize("digits", ["0123456789", "9", "90"])
def test_long_texts_are_written_in_place(sizes: tuple[int, int], digits: str) -> None:
    rng, made = Random(str(sizes)), machine_of(ADDITION, Solver.load().table)
    a, b = ("1" + "".join(rng.choices(digits, k=size - 1)) for size in sizes)
    a = digits[0] + a[1:] if digits[0] == "9" else a
    assert made.scan is not None
    found = vector.text_of(made.scan, a, b)
    assert found == made.scan.text(a, b)
    assert found == ADDITION.oracle(a, b)


def test_guess_of_the_leading_digit_is_mended() -> None:
    """The carry comes from far to the right, through more nines than are looked at before."""
    made = machine_of(ADDITION, Solver.load().table)
    assert made.scan is not None
    size = 40_000
    assert vector.text_of(made.scan, "9" * size, "1") == "1" + "0" * size
    assert vector.text_of(made.scan, "9" * size, "9" * size) == "1" + "9" * (size - 1) + "8"
    assert vector.text_of(made.scan, "9" * size, "0" * size) == "9" * size


@pytest.mark.parametrize("bad", ["/", ":", "x", " ", "-", "\0", "\x7f", "\x01"])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 5000, 50_000])
def test_no_byte_but_a_digit_is_taken(bad: str, size: int) -> None:
    made, rng = machine_of(ADDITION, Solver.load().table), Random(size)
    assert made.scan is not None
    for place in {0, size - 1, rng.randrange(size)}:
        text = "7" * place + bad + "7" * (size - place - 1)
        for pair in ((text, "5" * size), ("5" * size, text), (text, "1")):
            assert made.scan.text(*pair) is None
            assert vector.text_of(made.scan, *pair) is None


def test_all_bytes_are_checked_by_compiled_code() -> None:
    made = machine_of(ADDITION, Solver.load().table)
    assert made.scan is not None
    work, out = np.empty(vector.BLOCK, np.uint8), np.empty(80, np.uint8)
    for byte in range(256):
        row = np.full(80, 53, np.uint8)
        row[11] = byte
        taken = vector.run(made.scan.plan, row, np.full(80, 53, np.uint8), out, 0, work) >= 0
        assert taken == (48 <= byte <= 57)


# --- the quick way ----------------------------------------------------------------------------------------------------


def test_quick_answers_are_the_engines_answers() -> None:
    calculator, rng = Calculator(), Random(6)
    adder = calculator.networks.find("add")
    for _ in range(300):
        a, b = (str(rng.randrange(10 ** rng.randint(1, 120))).rjust(rng.randint(1, 20), "0") for _ in range(2))
        assert calculator.add(a, b) == adder.quick(a, b) == adder.solve(a, b, engine="sequential").answer


@pytest.mark.parametrize(
    "operands", [("-1", "2"), ("x", "2"), ("", "2"), ("１", "2"), ("1", 2), ("1",), ("1", "2", "3"), (None, "1")]
)
def test_quick_leaves_the_rest_to_others(operands: tuple[object, ...]) -> None:
    assert Solver.load().quick(*operands) is None


def test_quick_is_for_certified_networks_that_nobody_has_opened() -> None:
    network = Solver.load()
    assert network.quick("3", "1") == "4"
    assert network.run.model is not None
    assert network.quick("3", "1") is None
    other = Solver.load()
    assert other.quick("3", "1") == "4"
    other.run = network.run
    assert other.quick("3", "1") is None
    unjudged = Solver(dataclasses.replace(Solver.load().run, certificate=None))
    assert unjudged.quick("3", "1") is None


# --- texts in memory --------------------------------------------------------------------------------------------------


def test_text_is_seen_and_made_without_a_copy() -> None:
    text = "".join(["0123456789"] * 10)
    seen = viewed(text)
    assert seen.tobytes() == text.encode()
    assert not seen.flags.writeable
    made, characters = new_text(100)
    characters[:] = seen
    assert made == text
    assert hash(made) == hash(text)
    with pytest.raises(AssertionError):
        viewed("é")
    with pytest.raises(AssertionError):
        new_text(1)
