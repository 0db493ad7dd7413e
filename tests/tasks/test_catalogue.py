"""Every task by name: its name, its summary, and the sign of its problems."""

from __future__ import annotations

from random import Random

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.tasks.numbers import signed_answer
from alga.tasks.pairwise import Bitwise

SUMMARIES = {
    "addition": "the sum of two numbers",
    "addition-padded": "the sum of two numbers, filled up with zeros",
    "addition-of-three": "the sum of three numbers, filled up with zeros",
    "addition-lookahead": "the sum of two numbers, all carries at once",
    "addition-whole": "the sum of two numbers, read as one text",
    "subtraction": "a number minus one that is no larger",
    "comparison": "whether a number is smaller than, equal to or larger than another",
    "times-a-digit": "a number times a single digit",
    "division-by-a-digit": "a number divided by a single digit, with remainder",
    "parity": "whether a binary number has an odd number of ones",
    "arithmetic": "sums, differences and multiples, as a mark says",
    "addition-context-last-digit": "the sum of two numbers, contexts reduced to the last-digit",
    "addition-context-first-digit": "the sum of two numbers, contexts reduced to the first-digit",
    "addition-context-carry": "the sum of two numbers, contexts reduced to the carry",
    "addition-context-nothing": "the sum of two numbers, without contexts",
    "addition-no-separator": "the sum of two numbers, without the separator",
    "addition-padded-no-separator": "the sum of two numbers, filled up with zeros, without the separator",
    "addition-one-token": "the sum of two numbers, digit and carry in one token",
    "addition-blocks-of-2": "the sum of two numbers, 2 digits a step",
    "addition-blocks-of-3": "the sum of two numbers, 3 digits a step",
    "addition-blocks-of-2-whole": "the sum of two numbers, 2 digits a step",
}
IN_BASE_16 = {
    "addition": ("the sum of two numbers in base 16", "7+3"),
    "subtraction": ("a number minus one that is no larger in base 16", "7-3"),
    "comparison": ("whether a number is smaller than, equal to or larger than another in base 16", "7?3"),
    "times-a-digit": ("a number times a single digit in base 16", "7×3"),
    "division-by-a-digit": ("a number divided by a single digit, with remainder in base 16", "7÷3"),
    "addition-whole": ("the sum of two numbers in base 16, read as one text", "7+3"),
    "and": ("the bitwise and of two numbers in base 16", "7&3"),
    "or": ("the bitwise or of two numbers in base 16", "7|3"),
    "xor": ("the bitwise xor of two numbers in base 16", "7^3"),
}
LOOKS = {  # what a prompt shows after the sum 7 + 8 in the column below 6 + 6
    "addition-context-last-digit": "5C66",
    "addition-context-first-digit": "1C66",
    "addition-context-carry": "1C66",
    "addition-context-nothing": "C66",
    "addition-no-separator": "1566",
    "addition-padded-no-separator": "1566",
    "addition-one-token": "fC66",
}


def test_tasks_are_listed_in_order() -> None:
    assert (*tasks.names(), *tasks.variants()) == tuple(SUMMARIES)
    assert tasks.families() == tuple(IN_BASE_16)


@pytest.mark.parametrize("name", SUMMARIES)
def test_task_has_its_name_and_summary(name: str) -> None:
    assert (tasks.find(name).name, tasks.find(name).summary) == (name, SUMMARIES[name])
    assert repr(tasks.find(name)) == f"<task {name}>"


@pytest.mark.parametrize("family", IN_BASE_16)
def test_task_in_another_base_has_its_name_summary_and_sign(family: str) -> None:
    task = tasks.find(f"{family}-base-16")
    assert (task.name, task.procedure.layout.base) == (f"{family}-base-16", 16)
    assert (task.summary, task.procedure.expression("7", "3")) == IN_BASE_16[family]


@pytest.mark.parametrize("name", LOOKS)
def test_variant_shows_its_part_of_the_previous_output(name: str) -> None:
    task = tasks.find(name).procedure
    first, second = task.steps("67", "68")
    assert (first.prompt, second.prompt) == ("78", LOOKS[name])


def test_only_padded_tasks_pad_with_zeros() -> None:
    columns = {name: tasks.find(name).procedure.columns("15", "7") for name in SUMMARIES if "addition" in name[:8]
               and tasks.find(name).procedure.layout.arity == 2 and "blocks" not in name}  # fmt: skip
    assert {name for name, found in columns.items() if found == ["57", "10"]} == {
        "addition-padded", "addition-padded-no-separator",
    }  # fmt: skip
    assert all(found in (["57", "1"], ["57", "10"]) for found in columns.values())


@pytest.mark.parametrize("name", ["parity", "division-by-a-digit", "division-by-a-digit-base-16"])
def test_some_tasks_walk_from_the_left(name: str) -> None:
    assert not tasks.find(name).procedure.layout.from_right
    columns = tasks.find(name).procedure.columns(*(["100"] if name == "parity" else ["100", "7"]))
    assert [column[0] for column in columns] == ["1", "0", "0"]


@pytest.mark.parametrize(("name", "count"), [("addition-of-three", 3), ("addition-base-16", 2), ("addition", 2)])
def test_uniform_problems_have_the_tasks_number_of_operands(name: str, count: int) -> None:
    family, rng = tasks.find(name).procedure.families()["uniform"], Random(0)
    drawn = [family(rng, 6) for _ in range(50)]
    assert {len(operands) for operands in drawn} == {count}
    assert {len(operands[0]) for operands in drawn} == {6}
    if name != "addition":
        assert {len(operands[-1]) for operands in drawn} == {1, 2, 3, 4, 5, 6}


def test_own_task_may_not_take_an_existing_name(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    monkeypatch.chdir(str(tmp_path))
    monkeypatch.setattr("alga.tasks.catalogue._OWN", {})
    code = "from alga.tasks.addition import Addition\n\nclass Mine(Addition):\n    def __init__(self):\n"
    for name in ("addition", "addition-one-token", "xor-base-7", "addition-base-16"):
        Path("mine.py").write_text(f"{code}        super().__init__()\n        self.name = {name!r}\n")
        with pytest.raises(AlgaError, match=f"is called '{name}', which is the name of a built-in task"):
            tasks.find("mine.py:Mine")


def test_name_that_is_not_text_is_refused() -> None:
    with pytest.raises(AlgaError, match="unknown task 7: expected text"):
        tasks.known(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verb", "operands", "answer"),
    [
        ("add", ("-5", "3", "-1"), "-3"), ("sub", ("-5", "3"), "-8"), ("mul", ("-5", "3"), "-15"),
        ("divmod", ("-7", "2"), "-4 1"), ("cmp", ("-7", "2"), "<"), ("cmp", ("2", "2"), "="), ("cmp", ("2", "-2"), ">"),
    ],
)  # fmt: skip
def test_signed_answers_match_python(verb: str, operands: tuple[str, ...], answer: str) -> None:
    assert signed_answer(verb, operands, 10) == answer


def test_invalid_signed_problems_are_refused() -> None:
    with pytest.raises(AlgaError, match=r"^a number cannot be divided by zero$"):
        signed_answer("divmod", ("7", "0"), 10)
    with pytest.raises(AlgaError, match=r"^sub takes two numbers, got 3$"):
        signed_answer("sub", ("7", "0", "1"), 10)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SUMMARIES
        if name.startswith("addition-") and name not in ("addition-of-three", "addition-lookahead")
    ],
)
def test_variant_spells_the_sum(name: str) -> None:
    task = tasks.find(name).procedure
    for a, b in (("65785", "8765"), ("999999", "1"), ("120", "7"), ("0", "0"), ("10203", "40506")):
        outputs = [step.output for step in task.steps(a, b)]
        assert task.read(outputs) == task.oracle(a, b) == str(int(a) + int(b))


@pytest.mark.parametrize("name", tasks.names())
def test_example_is_a_small_problem_with_the_given_answer(name: str) -> None:
    task, asked = tasks.find(name), list[str]()

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return task.domain[prompt].output

    problem, _, spelled = task.example(Random(3), answer).rpartition(" = ")
    if name == "addition-whole":
        question = task.example(Random(3), answer).partition("=")[0]
        assert question.split("+") == [*task.procedure.families()["uniform"](Random(3), 4)]
        return
    if name == "addition-lookahead":
        assert (problem, spelled) == (f"one step ahead: {asked[0]}", task.domain[asked[0]].output)
        return
    assert 1 <= len(asked) <= 4
    rng = Random(3)
    operands = task.procedure.families()["uniform"](rng, 4)
    assert problem == task.procedure.expression(*operands)
    assert spelled == task.procedure.oracle(*operands)


def test_network_of_several_procedures_runs_each() -> None:
    found = tasks.find("arithmetic").procedures
    assert [(each.name, each.mark) for each in found] == [
        ("addition", "+"),
        ("subtraction", "-"),
        ("times-a-digit", "×"),
    ]
    assert [each.prompt("15", "77") for each in found] == ["15C+77", "15C-77", "15C×77"]
    assert tasks.find("addition").procedure.mark == ""
    assert tasks.find("addition").procedures == (tasks.find("addition"),)


def test_answer_format_is_described() -> None:
    assert tasks.find("parity").procedure.reading(3) == "Read the answer off the 3 outputs"
    assert "all digits of the 4ª line" in tasks.find("addition").procedure.reading(4)


@pytest.mark.parametrize("name", ["and-base-10", "or-base-12", "xor-base-7"])
def test_bitwise_operations_need_a_power_of_two(name: str) -> None:
    with pytest.raises(AlgaError, match=r"unknown task|need a base that is a power of two, got"):
        tasks.find(name)
    with pytest.raises(AlgaError, match=r"^bitwise operations need a base that is a power of two, got 12$"):
        Bitwise("and", 12)


def test_division_reads_any_network_output() -> None:
    division = tasks.find("division-by-a-digit").procedure
    assert [division.ending(output) for output in ("32", "7", "123")] == ["3 r2", "7 r7", "1 r3"]
