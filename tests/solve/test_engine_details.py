"""What engines report besides the answer: counts, the failing step, uncertain prompts, progress; and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.step import Step
from alga.solve.engines import loop, names, sequential, table
from alga.solve.engines.machine import Machine, _Contexts, machine_of
from alga.solve.engines.rows import FileRow, NoColumnError, row_of
from alga.solve.result import Result
from alga.tasks import Procedure
from alga.tasks.layouts import Text
from alga.trust.table import UNCERTAIN, Table
from tests.solve.machines import ADDITION, PARITY, SUBTRACTION, Make

HEXADECIMAL = tasks.find("addition-base-16").procedure


def exact(procedure: Procedure, **more: object) -> Table:
    return Table(procedure.name, {prompt: each.output for prompt, each in procedure.domain.items()}, **more)  # type: ignore[arg-type]


# --- sequential -------------------------------------------------------------------------------------------------------


def test_sequential_counts_steps_and_tokens(faulty: Make) -> None:
    told: list[tuple[int, int]] = []
    found = sequential.solve(
        ADDITION, faulty(ADDITION), [("15", "7"), ("1", "2"), ("999", "1")], watch=lambda *each: told.append(each)
    )
    assert [each.answer for each in found] == ["22", "3", "1000"]
    assert [(each.step_count, each.rounds, each.generated_tokens) for each in found] == [
        (2, 2, 5),
        (1, 1, 2),
        (3, 3, 9),
    ]
    assert all((each.steps, each.uncertain, each.failure) == ((), None, "") for each in found)
    assert told == [(3, 6), (5, 6), (6, 6)]


def test_sequential_keeps_and_reports_steps_on_request(faulty: Make) -> None:
    told: list[Step] = []
    (kept,) = sequential.solve(ADDITION, faulty(ADDITION), [("15", "7")], keep_steps=True, tell=told.append)
    assert kept.steps == (Step("57", "12S", "12", 9.0), Step("12C1", "2S", "2", 9.0))
    assert told == list(kept.steps)
    (untold,) = sequential.solve(ADDITION, faulty(ADDITION), [("15", "7")], tell=told.append)
    assert (untold.steps, len(told)) == ((), 2)


def test_sequential_stops_at_a_failing_step(faulty: Make) -> None:
    decode = faulty(ADDITION, {"12C1": "22"})
    failed, right = sequential.solve(ADDITION, decode, [("315", "7"), ("1", "1")], keep_steps=True)
    assert (failed.answer, failed.step_count, failed.generated_tokens) == (None, 2, 5)
    assert failed.steps[-1] == Step("12C1", "22", None, 9.0)
    assert failed.failure == "the network failed at step 2: it wrote '22' for 12C1"
    assert right.answer == "2"
    assert str(failed.told(procedure=ADDITION)).splitlines()[-1] == failed.failure


def test_equal_prompts_of_a_round_are_computed_once(faulty: Make) -> None:
    asked: list[list[str]] = []

    def decode(prompts: Sequence[str]) -> list[Step]:
        asked.append(list(prompts))
        return list(faulty(ADDITION)(prompts))

    sequential.solve(ADDITION, decode, [("11", "11"), ("11", "11"), ("21", "1")])
    assert asked == [["11"], ["2C11", "2C2"]]


@pytest.mark.parametrize(("margin", "uncertain"), [(UNCERTAIN, "57"), (UNCERTAIN * 1.01, None), (float("nan"), "57")])
def test_first_uncertain_prompt_is_reported(margin: float, uncertain: str | None, faulty: Make) -> None:
    (found,) = sequential.solve(ADDITION, faulty(ADDITION, margin=margin), [("15", "7")])
    assert (found.answer, found.uncertain) == ("22", uncertain)


def test_trace_counts_outputs_in_words() -> None:
    steps = (Step("1", "S", None, 1.0), Step("1C1", "0123456789S", "0123456789", 1.0))
    shown = Result(operation="parity", operands=("11",), answer="0", step_count=2, kept=steps, procedure=PARITY)
    assert str(shown).splitlines() == [
        "      Autoregressive generation to compute: parity of 11",
        "       1ª) INPUT: 1   generates one   OUTPUTS: S",
        "       2ª) INPUT: 1C1 generates 11    OUTPUTS: 0123456789S",
        "Read the answer off the 2 outputs",
        "                      Final answer: 0",
    ]


# --- table ------------------------------------------------------------------------------------------------------------


def test_replaying_reports_steps_failures_and_uncertain_prompts() -> None:
    told: list[tuple[int, int]] = []
    found = table.solve(ADDITION, exact(ADDITION), [("15", "7"), ("1", "2")], watch=lambda *each: told.append(each))
    assert [(each.answer, each.step_count, each.rounds, each.generated_tokens) for each in found] == [
        ("22", 2, 0, 0), ("3", 1, 0, 0),
    ]  # fmt: skip
    assert told == [(1, 2), (2, 2)]
    unsure = exact(ADDITION, uncertain=("12C1", "2C3"))
    assert [each.uncertain for each in table.solve(ADDITION, unsure, [("315", "7"), ("1", "1")])] == ["12C1", None]
    broken = Table("addition", {**exact(ADDITION).outputs, "12C1": None}, (), {"12C1": "22"})
    (failed,) = table.solve(ADDITION, broken, [("315", "7")])
    assert (failed.answer, failed.step_count) == (None, 2)
    assert failed.failure == "the network failed at step 2: it wrote '22' for 12C1"
    unsaid = Table("addition", {**exact(ADDITION).outputs, "57": None})
    (failed,) = table.solve(ADDITION, unsaid, [("15", "7")])
    assert (failed.step_count, failed.failure) == (1, "the network failed at step 1: it wrote '' for 57")


def test_replayed_columns_are_counted() -> None:
    machine = Machine(ADDITION, exact(ADDITION))
    table.replay(machine, ("15", "7"))
    table.replay(machine, ("999", "1"))
    assert machine.replayed == 5


@pytest.mark.parametrize(("columns", "taken"), [(63, False), (64, True)])
def test_loop_runs_long_problems_once_loaded(columns: int, taken: bool) -> None:
    assert (table.SHORT, table.COMPILE_FROM) == (64, 1_000_000)
    machine = Machine(HEXADECIMAL, exact(HEXADECIMAL))
    operands = ("7" * columns, "8")
    found = table._at_once(machine, operands)
    assert (found is not None) == taken
    if found is not None:
        assert found == table.replay(machine, operands)


def test_leading_zeros_do_not_make_a_problem_long() -> None:
    machine = Machine(HEXADECIMAL, exact(HEXADECIMAL))
    assert table._at_once(machine, ("0" * 100 + "7", "8")) is None
    assert table._at_once(machine, ("7" * 100, "8x")) is None  # replaying says what is wrong
    assert table._at_once(machine, ("7" * 100, "٣")) is None
    at_once = table._at_once(Machine(ADDITION, exact(ADDITION)), ("0" * 100 + "7", "8"))
    assert at_once is not None
    assert (at_once.answer, at_once.step_count) == ("15", 1)


@pytest.mark.parametrize(("procedure", "streaming"), [(ADDITION, True), (SUBTRACTION, False), (PARITY, False)])
def test_only_plain_numbers_from_the_right_are_streamed(procedure: Procedure, streaming: bool, tmp_path: Path) -> None:
    assert table.streams(procedure, exact(procedure)) == streaming
    if not streaming:
        message = f"^{procedure.name} cannot be solved from file to file with this network; read the files instead$"
        with pytest.raises(AlgaError, match=message), (tmp_path / "out").open("wb") as sink:
            table.stream(procedure, exact(procedure), [], sink)


def test_machine_is_built_once_and_knows_its_classes() -> None:
    made = machine_of(ADDITION, exact(ADDITION))
    assert machine_of(ADDITION, exact(ADDITION)) is made
    assert made.classes is not None
    assert [made.classes.of[output] for output in ("0", "9", "10", "19")] == [0, 0, 1, 1]
    assert made.classes.moves["55"] == (("0", 1), ("1", 1))
    assert Machine(ADDITION, exact(ADDITION, uncertain=("00",))).classes is None
    assert Machine(tasks.find("times-a-digit").procedure, exact(tasks.find("times-a-digit").procedure)).classes is None


class Doubling(Procedure):
    """Writes every character unchanged, the last one many times."""

    name = "doubling"
    numeric = False
    symbols = "ab"

    def __init__(self, times: int) -> None:
        self.times, self.layout = times, Text("ab", from_right=True)

    def step(self, before: str | None, column: str) -> str:
        return column

    def ending(self, output: str) -> str:
        return output * self.times

    def oracle(self, *operands: str) -> str:
        return operands[0][0] * (self.times - 1) + operands[0]


@pytest.mark.parametrize("times", [1, 2, 16, 17])
def test_long_ending_fits_before_the_answer(times: int) -> None:
    machine = Machine(Doubling(times), exact(Doubling(times)))
    text = "ab" * 40
    assert loop.text_of(machine, [text]) == Doubling(times).oracle(text)


def test_too_long_ending_falls_to_replaying() -> None:
    machine = Machine(Doubling(18), exact(Doubling(18)))
    with pytest.raises(NoColumnError):
        loop.text_of(machine, ["ab" * 40])


# --- rows ------------------------------------------------------------------------------------------------------------


def test_blocks_of_a_row_are_filled_at_its_end() -> None:
    row = row_of("12345")
    assert row.block(0, 8, 8, from_right=True, fill=b".") == b"...12345"
    assert row.block(2, 6, 8, from_right=True, fill=b".") == b".123"
    assert row.block(0, 2, 8, from_right=True, fill=b".") == b".."
    assert row.block(0, 8, 8, from_right=False, fill=b".") == b"12345..."
    assert row.block(3, 7, 8, from_right=False, fill=b".") == b"45.."
    with pytest.raises(NoColumnError):
        row_of("1\0002").block(0, 3, 3, from_right=True, fill=b"\0")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("12x4", "a number has only the digits 0-9, got 'x' at position 3"),
        ("001𝟚4", "a number has only the digits 0-9, got '𝟚' at position 4"),
        ("1é", "a number has only the digits 0-9, got 'é' at position 2"),
    ],
)
def test_wrong_character_of_a_file_is_reported_with_its_position(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "number"
    path.write_text(content + "\n")
    row = FileRow(path)
    with pytest.raises(AlgaError) as refused:
        row.refuse_strangers("0123456789")
    row.close()
    assert str(refused.value) == f"{path}: {message}"


def test_file_without_a_wrong_character_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "number"
    path.write_text("000120\r\n\n")
    row = FileRow(path)
    row.refuse_strangers("012")
    assert (row.size, row.read(0, 3), row.read(1, 2)) == (3, b"120", b"2")
    row.close()
    path.write_text("000")
    row = FileRow(path)
    assert (row.size, row.read(0, 1)) == (1, b"0")
    row.close()


def test_engines_are_listed() -> None:
    assert names.ENGINES == ("table", "sequential", "lookahead", "whole")
    with pytest.raises(AlgaError, match=r"^unknown engine 'abacus'; there are table, sequential, lookahead, whole$"):
        names.check_engine("abacus")


def test_a_prompt_outside_the_table_is_refused() -> None:
    few = Table("addition", {prompt: output for prompt, output in exact(ADDITION).outputs.items() if prompt != "12C1"})
    machine = Machine.__new__(Machine)  # its classes need the whole table
    machine.procedure, machine.table, machine.replayed = ADDITION, few, 0
    machine.after = _Contexts(ADDITION, few)
    with pytest.raises(AlgaError, match=r"^addition: the prompt '12C1' is outside its table$"):
        table.replay(machine, ("15", "7"))


class Counting(Procedure):
    """Counts ones up to a modulus, so that its table has as many classes."""

    name = "counting"
    numeric = False

    def __init__(self, modulus: int) -> None:
        self.modulus, self.layout = modulus, Text("01")

    def step(self, before: str | None, column: str) -> str:
        return str((int(before or 0) + int(column)) % self.modulus)

    def oracle(self, *operands: str) -> str:
        return str(operands[0].count("1") % self.modulus)


@pytest.mark.parametrize(("modulus", "fits"), [(2, True), (4, True), (5, False)])
def test_a_word_holds_four_classes(modulus: int, fits: bool) -> None:
    made = Machine(Counting(modulus), exact(Counting(modulus)))
    assert made.classes is not None
    assert len(made.classes.like) == modulus
    assert (made.words is not None) == fits


@pytest.mark.parametrize("name", ["domain", "columns", "read", "tidied", "steps", "explore"])
def test_what_engines_rely_on_is_final(name: str) -> None:
    with pytest.raises(TypeError, match=f"^Odd must not change {name}$"):
        type("Odd", (Procedure,), {name: lambda self: None})


def test_streaming_reports_every_column_twice(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    for name in "ab":
        (tmp_path / name).write_text("7" * 100)
    with (tmp_path / "sum").open("wb") as sink:
        table.stream(ADDITION, exact(ADDITION), [tmp_path / "a", tmp_path / "b"], sink, lambda *each: told.append(each))
    assert (tmp_path / "sum").read_text() == str(2 * int("7" * 100))
    assert told == [(98, 200), (196, 200), (200, 200)]
