"""`alga lab bench`: time every engine beside exact arithmetic."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alga.base import files
from alga.cli.console import check_out, deliver, progress
from alga.cli.options import ADDER, AsJson, OldModel, model_argument, one_model, option

if TYPE_CHECKING:
    from alga.research.bench import Bench, Timed


def bench(
    network: Annotated[str | None, model_argument(show_default=ADDER)] = None,
    max_digits: Annotated[int, option("N", "Time 100, 1,000, … digits, up to this.")] = 10**8,
    model: OldModel = None,
    json: AsJson = False,
    out: Annotated[Path | None, option("FILE", "Also write the figures to this file, as JSON.")] = None,
    figure: Annotated[Path | None, option("FILE", "Draw the times, as PNG or SVG; other subjects beside it.")] = None,
) -> None:
    """Time every engine beside exact arithmetic.

    The engines, the paper's plain procedure, and Python's and other libraries' exact arithmetic, all in one run; then
    short sums, many sums, products and quotients. Exits with 1 if an answer is wrong.

    Examples:
      alga lab bench --max-digits 100000
      alga lab bench runs/mine --max-digits 1000 --json

    """
    check_out(out)
    if figure is not None:
        from alga.base import figures
        from alga.research.figures import speeds, subject

        figures.check(figure)
        check_out(figure)
    from alga.research import bench as benchmark
    from alga.solve.solver import Solver

    with progress("timing") as watch:
        found = benchmark.run(Solver.load(one_model(network, model)), longest=max_digits, watch=watch)
    with progress("timing short sums, many sums, products and quotients") as watch:
        found.others = benchmark.time_others(max_digits, watch)
    text = json_format.dumps(found.as_dict(), indent=2)
    if out is not None:
        files.write(out, f"{text}\n".encode())
    if figure is not None:
        labels = {way.name: way.label for way in found.ways}
        files.write(figure, figures.render(speeds(labels, _points(found)), figure.suffix))
        for timed in found.others:
            path = figure.with_stem(f"{figure.stem}-{timed.subject.name}")
            files.write(path, figures.render(subject(timed), figure.suffix))
    deliver(text if json else _table(found), None)
    raise typer.Exit(1 if any(cell.right is False for cell in found.all_cells) else 0)


def _points(found: Bench) -> dict[str, list[tuple[int, float]]]:
    return {
        name: [(cell.digits, cell.per_digit) for cell in cells if cell.per_digit is not None]
        for name, cells in found.cells.items()
    }


def _table(found: Bench) -> str:
    lengths = list(dict.fromkeys(cell.digits for cells in found.cells.values() for cell in cells))
    wide = max(len(way.label) for way in found.ways)
    lines = [f"{'time per digit, by digits of the sum':<{wide}}" + "".join(f"{digits:>13,}" for digits in lengths)]
    for way in found.ways:
        lines.append(f"{way.label:<{wide}}" + "".join(f"{_time(cell.per_digit):>13}" for cell in found.cells[way.name]))
    longest = [(way, cell) for way in found.ways for cell in found.timed(way.name)[-1:]]
    heavy = [(way, cell) for way, cell in longest if cell.megabytes is not None]
    if heavy:
        lines += ["", "memory at its peak beyond what was there, at the longest sum of each"]
        lines += [f"{way.label:<{wide}}{cell.megabytes:>10,.0f} MB at {cell.digits:,} digits" for way, cell in heavy]
    skipped = [(way, cell) for way in found.ways for cell in found.cells[way.name] if cell.skipped]
    if skipped:
        lines += ["", "skipped"]
        lines += [f"{way.label:<{wide}}  {cell.digits:,} digits: {cell.skipped}" for way, cell in skipped]
    lines += ["", "how many times as fast"]
    lines += [f"{ratio:>14,.2f} × {name}" for name, ratio in found.ratios().items()]
    for timed in found.others:
        lines += ["", *_subject_table(timed)]
    return "\n".join(lines)


def _subject_table(timed: Timed) -> list[str]:
    subject, ratios = timed.subject, timed.ratios()
    sizes = [cell.digits for cell in timed.cells[subject.against]]
    wide = max(len(label) for label, _ in subject.ways.values())
    lines = [f"{subject.title}: time for {subject.unit}, by {subject.size}"]
    lines.append(" " * wide + "".join(f"{size:>22,}" for size in sizes))
    for name, (label, _) in subject.ways.items():
        row = ""
        for cell in timed.cells[name]:
            taken = _time((cell.seconds or 0) / subject.parts(cell.digits) * 1e9)
            ratio = ratios.get(f"{name} at {cell.digits:,}")
            row += f"{taken + (f' ({ratio:.3g} ×)' if ratio else ''):>22}"
        lines.append(f"{label:<{wide}}{row}")
    return lines


def _time(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return "–"
    for unit in ("ns", "µs", "ms"):
        if nanoseconds < 1000:
            return f"{nanoseconds:.3g} {unit}"
        nanoseconds /= 1000
    return f"{nanoseconds:.3g} s"
