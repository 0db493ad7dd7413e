"""One problem's columns, walked in compiled code: the steps are those of decoding prompt by prompt."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from alga import tasks
from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError
from alga.network.step import Step
from alga.runs import Weights
from alga.solve.engines import sequential
from alga.solve.solver import Solver

SHIPPED = [
    "addition", "addition-base-16", "addition-of-three", "arithmetic", "comparison", "division-by-a-digit", "parity",
    "smallest", "subtraction", "times-a-digit",
]  # fmt: skip


def prompt_by_prompt(solver: Solver, operands: tuple[str, ...]) -> list[Step]:
    """Decode a problem's prompts one at a time."""
    steps: list[Step] = []
    for column in solver.procedure.columns(*operands):
        before = steps[-1].output if steps else None
        steps += solver.decoder([solver.procedure.prompt(before, column)])
        if steps[-1].output is None:
            break
    return steps


def same(ours: Sequence[Step], theirs: Sequence[Step]) -> bool:
    """Return whether steps are equal to the last bit of their margins; NaN equals NaN."""
    return repr([*ours]) == repr([*theirs])


def damaged(noise: float, seed: int) -> Solver:
    """Return an adder with noise on its weights."""
    run, random = Solver.load().run, np.random.default_rng(seed)
    arrays = {
        name: a + np.float32(noise) * random.standard_normal(a.shape, np.float32)
        for name, a in run.weights.arrays.items()
    }
    return Solver(dataclasses.replace(run, weights=Weights.holding(run.config, arrays), certificate=None, table=None))


@pytest.mark.parametrize("name", SHIPPED)
def test_steps_are_those_of_prompt_by_prompt(name: str) -> None:
    whole = Solver.load(name)
    for procedure in whole.trained.procedures:
        solver = Solver(whole.run, procedure)
        assert solver.procedure.joins
        operands = procedure.families()["uniform"](Random(0), 30)
        result = solver.trace(*operands)
        calls = solver.decoder.network_calls
        assert same(result.kept, prompt_by_prompt(solver, operands))
        assert result.network_calls == solver.decoder.network_calls - calls
        assert result.certified


def test_steps_of_imperfect_networks_are_those_of_prompt_by_prompt() -> None:
    ends = set()
    for seed in range(12):
        solver = damaged(0.01 * (1 + seed % 6), seed)
        operands = ("".join(Random(seed).choices("0123456789", k=40)), "987654321" * 4)
        result = solver.trace(*operands)
        assert same(result.kept, prompt_by_prompt(solver, operands))
        ends.add((result.answer is None, result.answer == str(sum(map(int, operands)))))
    assert ends == {(True, False), (False, False), (False, True)}  # failed, wrong and right


def test_nan_margins_are_uncertain_and_end_as_prompt_by_prompt() -> None:
    solver = damaged(0, 0)
    arrays = {name: array.copy() for name, array in solver.run.weights.arrays.items()}
    arrays["token_embedding.weight"][solver.run.config.tokens.ids["7"]] = 1e38  # overflows where a 7 is read
    run = dataclasses.replace(solver.run, weights=Weights.holding(solver.run.config, arrays))
    result = Solver(run).trace("1711", "2222")
    assert same(result.kept, prompt_by_prompt(Solver(run), ("1711", "2222")))
    assert [math.isnan(step.margin) for step in result.kept] == [False, False, True]
    assert result.uncertain == "3C72"


def test_blocks_of_columns_give_the_steps_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    solver, told = Solver.load(), []
    operands = "95" * 20, "07" * 20
    whole = solver.trace(*operands)
    monkeypatch.setattr(sequential, "COLUMNS_AT_ONCE", 7)
    (blocks,) = solver.solve_many([operands], engine="sequential", watch=lambda *done: told.append(done))
    assert solver.trace(*operands).kept == whole.kept
    assert blocks.answer == whole.answer
    assert told == [(7, 40), (14, 40), (21, 40), (28, 40), (35, 40), (40, 40)]


def test_told_steps_are_taken_one_at_a_time() -> None:
    solver, at_once = Solver.load(), []
    decoder, walk = solver.step_decoder, solver.step_decoder.walk
    decoder.walk = lambda *asked: at_once.append(len(asked[-1])) or walk(*asked)  # type: ignore[method-assign, func-returns-value]
    solver.trace("123", "456", tell=lambda _: None)
    solver.trace("123", "456")
    assert at_once == [1, 1, 1, 3]


def test_cancelling_ends_a_walk_between_blocks() -> None:
    class Soon(Cancellation):
        looks = 0

        def check(self) -> None:
            self.looks += 1
            if self.looks > 2:
                raise AlgaError("enough")

    solver, done = Solver.load(), []
    with pytest.raises(AlgaError, match="enough"):
        solver.solve_many([("1" * 2000, "2")], engine="sequential", watch=lambda n, _: done.append(n), cancel=Soon())
    assert done == [sequential.COLUMNS_AT_ONCE, 2 * sequential.COLUMNS_AT_ONCE]


def test_altered_network_walks_in_torch_step_by_step() -> None:
    solver = Solver.load()
    asked: list[int] = []
    solver.run.model.final_norm.register_forward_hook(lambda *_: asked.append(1))
    result = solver.trace("65785", "8765")
    assert (result.answer, result.certified, len(asked)) == ("74550", False, result.generated_tokens)


def test_walk_refuses_what_compiled_code_must_not_read() -> None:
    solver = Solver.load()
    decoder = solver.step_decoder
    with pytest.raises(AlgaError, match="'x', which is not in the vocabulary"):
        decoder.walk("C", None, ["7x", "11"])
    assert decoder.walk("C", "1234567", ["77"]) == [Step("1234567C77", "", None, 0.0)]
    assert decoder.walk("C", "15", ["77", "12345", "11"]) == decoder(["15C77"])
    compiled, joint = decoder._plain, (13, 12, 2, 11)
    for columns, widths, before in ((b"\x02\x03", [3], b""), (b"\x02\x0e", [2], b""), (b"\x02", [1], b"\x02" * 4)):
        with pytest.raises(AlgaError, match="ids below 14"):
            compiled.walk(joint, columns, widths, before)
    with pytest.raises(AlgaError, match="ids below 14"):
        compiled.walk((99, 12, 2, 11), b"\x02", [1], b"")
    with pytest.raises(AlgaError, match="ids below 14"):
        compiled.walk(joint, b"\x02", [-1, 2], b"")


@pytest.mark.parametrize("name", ["and-base-2", "addition-blocks-of-2", "addition-context-carry"])
def test_procedures_that_make_other_prompts_do_not_join(name: str) -> None:
    assert not tasks.find(name).procedure.joins


def test_procedure_whose_prompts_were_replaced_does_not_join(monkeypatch: pytest.MonkeyPatch) -> None:
    procedure = tasks.find("addition").procedure
    assert procedure.joins
    monkeypatch.setattr(procedure, "view", lambda before: before[::-1], raising=False)
    assert not procedure.joins
