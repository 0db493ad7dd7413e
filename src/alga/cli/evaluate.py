"""`alga evaluate`: accuracy by length and family of problems, and the output of the author's test script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from alga.base.errors import AlgaError
from alga.cli.console import as_json, progress
from alga.cli.options import ADDER, AsJson, Model, OwnTask, engine_option, load_own_task, option

if TYPE_CHECKING:
    from alga.solve.evaluation import Evaluation, Outcome
    from alga.solve.solver import Solver

WRONG_EXPLAINED: Final = 10  # wrong answers explained on stderr
OPERAND_NAMES: Final = ("x", "y", "z")  # of the operands with --show
CUT: Final = 60  # characters of a number in the explanation of a wrong answer


def evaluate(
    model: Model = ADDER,
    task: OwnTask = None,
    count: Annotated[int | None, option("N", "How many problems.", default="1000; 1 with --show")] = None,
    max_digits: Annotated[int, option("N", "Draw lengths from 1 to this.")] = 1000,
    digits: Annotated[int | None, option("N", "Make all problems this long instead.")] = None,
    seed: Annotated[int, option("N", "The seed that the problems are drawn from.")] = 0,
    families: Annotated[
        str | None, option("NAMES", "Which families of problems, separated by commas.", default="all in turn")
    ] = None,
    engine: Annotated[str | None, engine_option("sequential")] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print each problem with its real and its predicted answer.")
    ] = False,
    numbers: Annotated[tuple[str, str] | None, option("X Y", "Show the answer for these two numbers instead.")] = None,
    json: AsJson = False,
) -> None:
    """Compare a network's answers with exact arithmetic.

    Exits with 1 if an answer is wrong.

    Examples:
      alga evaluate --count 1000 --max-digits 1000
      alga evaluate smallest --digits 50 --show --seed 10

    """
    if numbers is not None and (digits is not None or count is not None or families is not None):
        raise AlgaError("--numbers goes with neither --count, --digits nor --families")
    load_own_task(task)
    from alga.solve import evaluation
    from alga.solve.solver import Solver

    solver = Solver.load(model)
    if numbers is not None:
        show = True
        problems = [evaluation.Problem("given", numbers)]
        solver.check(numbers)
        solver.procedure.columns(*numbers)
    else:
        problems = evaluation.draw(
            solver.procedure,
            count=count if count is not None else 1 if show else 1000,
            max_digits=max_digits if digits is None else digits,
            families=[name.strip() for name in families.split(",")] if families else ["uniform"] if show else [],
            seed=seed,
            exactly=digits is not None,
        )
    with progress("evaluating") as watch:
        result = evaluation.evaluate(solver, problems, engine=engine, watch=watch)
    if json:
        typer.echo(as_json(result.as_dict()))
    elif show:
        typer.echo("\n\n".join(_shown(outcome, solver) for outcome in result.outcomes))
    else:
        typer.echo(_table(result))
    for outcome in result.wrong[:WRONG_EXPLAINED]:
        typer.echo(_wrong(outcome, solver), err=True)
    raise typer.Exit(1 if result.wrong else 0)


def _shown(outcome: Outcome, solver: Solver) -> str:
    """Return one problem as the author's test script prints it."""
    operands = outcome.problem.operands
    names = (
        OPERAND_NAMES[: len(operands)]
        if len(operands) <= len(OPERAND_NAMES)
        else [f"x{i}" for i in range(1, len(operands) + 1)]
    )
    expression = solver.procedure.expression(*names)
    return "\n".join(
        [
            f"The output is {str(outcome.right).upper()}",
            *(f"{name}={operand}" for name, operand in zip(names, operands, strict=True)),
            f"Real {expression}={outcome.expected}",
            f"Pred {expression}={outcome.result.answer or outcome.result.failure}",
        ]
    )


def _table(result: Evaluation) -> str:
    content = result.as_dict()
    lengths = {f"{span['from']:,} to {span['to']:,} digits": span for span in content["lengths"]}
    rows = [*content["families"].items(), *lengths.items(), ("all", content)]
    wide = max(len(name) for name, _ in rows)
    lines = [f"{'':<{wide}}  problems   correct  accuracy  edit distance"]
    for name, row in rows:
        figures = f"{row['problems']:>8,}  {row['correct']:>8,}  {row['accuracy']:>7.2%}  {row['edit_distance']:>13.2f}"
        lines.append(f"{name:<{wide}}  {figures}")
    return "\n".join(lines)


def _wrong(outcome: Outcome, solver: Solver) -> str:
    from alga.solve.evaluation import first_wrong_step

    operands = [_cut(operand) for operand in outcome.problem.operands]
    where = first_wrong_step(solver, outcome.problem.operands)
    said = _cut(outcome.result.answer) if outcome.result.answer is not None else "nothing"
    return f"wrong: {solver.procedure.expression(*operands)} gave {said}, expected {_cut(outcome.expected)}; {where}"


def _cut(number: str) -> str:
    return number if len(number) <= CUT else f"{number[: CUT // 2]}…{number[-CUT // 2 :]} ({len(number):,} digits)"
