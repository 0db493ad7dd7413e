"""Calculator, the public class: answers, results, ints, cancelling, reprs, and its name in 0.1."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import alga
from alga.base.cancellation import Cancellation, CancelledError
from alga.base.errors import AlgaError
from alga.solve.calculator import Calculator
from alga.solve.loading import load


def test_text_gives_text_and_ints_give_ints() -> None:
    calculator = load()
    assert (calculator.add("-5", "3"), calculator.add(-5, 3)) == ("-2", -2)
    assert (calculator.sub("3", "5"), calculator.sub(3, 5)) == ("-2", -2)
    assert (calculator.mul("-37", "48"), calculator.mul(-37, 48)) == ("-1776", -1776)
    assert (calculator.divmod("-7", "2"), calculator.divmod(-7, 2)) == (("-4", "1"), (-4, 1))
    assert (calculator.cmp("3", "5"), calculator.cmp(3, 5)) == ("<", "<")
    assert calculator.add(1, 22, 333) == 356
    assert load(base=16).add("ff", "1") == "100"
    assert load(base=16).add(255, 1) == 256


def test_ints_have_no_digit_limit() -> None:
    large = 10**20_000 - 1
    assert load().add(large, 1) == 10**20_000


def test_text_and_ints_do_not_mix() -> None:
    with pytest.raises(AlgaError, match="all numbers as text or all as int, got both"):
        load().add("1", 2)  # type: ignore[type-var]


@pytest.mark.parametrize("value", [1.0, None, b"1", True])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(AlgaError, match="expected a number as text of digits, got"):
        load().mul(value, value)


@pytest.mark.parametrize("numbers", [(), ("1",), (1,)])
def test_single_number_is_refused(numbers: tuple[Any, ...]) -> None:
    with pytest.raises(AlgaError, match=f"add takes at least 2 numbers, got {len(numbers)}"):
        load().add(*numbers)


def test_invalid_answer_is_refused_for_ints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calculator, "_text", lambda *_: "4")  # without a remainder
    assert load().divmod("8", "2") == ("4", "")
    with pytest.raises(AlgaError, match="wrote '', which is not a number"):
        load().divmod(8, 2)


def test_failing_network_raises_in_add_and_is_reported_by_solve() -> None:
    mute = load()
    mute.network.run.model.head.weight.data[1] *= -4  # the row of the stop token
    with pytest.raises(AlgaError, match="the network failed at step 1"):
        mute.add("12", "34")
    result = mute.solve("12", "34", operation="add")
    assert (result.answer, result.certified) == (None, False)
    assert "the network failed at step 1" in repr(result)


def test_model_replaces_the_shipped_network_of_its_kind(tmp_path: Path) -> None:
    load("smallest").save_pretrained(tmp_path / "mine")
    calculator = load(tmp_path / "mine")
    assert calculator.add("65785", "8765") == "74550"
    assert list(calculator.solve("37", "48", operation="mul").networks) == ["times-a-digit", str(tmp_path / "mine")]
    assert load("parity").solve("10110111").answer == "0"
    assert load("addition-base-16").base == 16
    with pytest.raises(AlgaError, match="the model parity does no arithmetic"):
        load("parity").networks.given_for("add")


def test_solve_many_equals_solve_for_every_operation() -> None:
    problems = [("12", "5"), ("-12", "5"), ("7", "-3"), ("0", "9")]
    calculator = load()
    for operation in ("add", "sub", "mul", "divmod", "cmp"):
        for some in (problems, problems[:1]):
            many = calculator.solve_many(some, operation=operation)
            assert [r.as_dict() for r in many] == [calculator.solve(*p, operation=operation).as_dict() for p in some]
        assert calculator.solve_many([], operation=operation) == []
    assert [r.answer for r in calculator.solve_many([("1", "2", "3"), ("4", "5")], operation="add")] == ["6", "9"]
    with pytest.raises(AlgaError, match="unknown operation 'pow'; there are add, sub, mul, divmod, cmp"):
        calculator.solve("1", "2", operation="pow")


def test_trace_and_solve_of_an_operation_agree() -> None:
    calculator = load(base=16)
    for operation in ("add", "cmp"):
        traced, solved = (way("FF", "00A", operation=operation) for way in (calculator.trace, calculator.solve))
        for name in ("task", "model", "operands", "answer", "steps", "certified", "base", "certificates"):
            assert traced.as_dict()[name] == solved.as_dict()[name]
        assert str(traced) == str(traced.parts[0])  # as the network was asked, in lower case


def test_result_prints_its_trace_or_its_answer() -> None:
    calculator = load()
    assert str(calculator.solve("1", "2")) == "3"
    traced = calculator.trace("1", "2", operation="add")
    assert str(traced).endswith("Final answer: 3")
    assert [step.as_dict() | {"margin": 0} for step in traced.steps] == [{"prompt": "12", "output": "3S", "margin": 0}]
    assert len(calculator.trace("37", "48", operation="mul").steps) == 7
    detailed = calculator.trace("15", "7", attention=True)
    assert len(detailed.details) == len(detailed.steps) == 2


def test_reprs_are_descriptive() -> None:
    calculator = load()
    assert repr(calculator) == "Calculator(base 10, Solver(addition: addition, proven))"
    long = repr(calculator.solve("9" * 100, "1"))
    assert long == "Result(addition of 999999999999… (100 digits), 1: 100000000000… (101 digits); table, certified)"
    assert repr(calculator.solve("1", "-1", operation="cmp")) == "Result(cmp of 1, -1: >; no network, certified)"
    assert repr(calculator.network.run.certificate).startswith("Certificate(addition: 2,300 of 2,300 prompts right, ")


def test_work_can_be_cancelled_from_another_thread() -> None:
    token, calculator, ended = Cancellation(), Calculator(engine="sequential"), []

    def work() -> None:
        try:
            calculator.solve("7" * 10**6, "5" * 10**6, cancel=token)
        except CancelledError as problem:
            ended.append(problem)

    thread = Thread(target=work)
    thread.start()
    token.cancel()
    thread.join(60)
    assert not thread.is_alive()
    assert [str(problem) for problem in ended] == ["the work was cancelled"]


@pytest.mark.parametrize("engine", ["table", "sequential", "lookahead"])
def test_cancelled_token_stops_every_engine_and_a_check(engine: str) -> None:
    token, calculator = Cancellation(), load()
    token.cancel()
    with pytest.raises(CancelledError):
        calculator.solve("1", "2", engine=engine, cancel=token)
    with pytest.raises(CancelledError):
        calculator.certify(cancel=token)


def test_arithmetic_of_version_0_1_still_works() -> None:
    arithmetic = alga.Arithmetic(16)
    found = [arithmetic.add("ff", "1"), arithmetic.sub("1", "2"), arithmetic.mul("f", "f"), arithmetic.cmp("1", "2")]
    assert [result.answer for result in found] == ["100", "-1", "e1", "<"]
    assert alga.Arithmetic().divmod("-7", "2").answer == "-4 1"
