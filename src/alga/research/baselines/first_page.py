"""Writes the page of the first comparison, of 7 million tokens on up to 5 digits: kept until the longer one has run.

Its records have no scale of their own for each method; page.py writes those that have. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from alga.research import figures, markdown
from alga.research.markdown import wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]
LEARNED: Final = 0.99  # of the sums within the training lengths
DRAWN: Final = "means as lines, each seed as a faint dot"


def page(content: dict[str, Any], figure: str, chains: str) -> str:
    """Return the page as Markdown; every number in it comes from the records."""
    digits, records = content["scale"]["digits"], content["records"]
    return markdown.page(
        "compare-first",
        setting=content["setting"],
        scale=content["scale"],
        digits=digits,
        next_digits=digits + 1,
        twice_digits=2 * digits,
        figure=figure,
        chains=chains,
        quick="*A quick run only shows that everything works.*" if content["setting"] == "quick" else "",
        table=table(records, digits),
        order=_order(records, digits),
        inside=_inside(records, digits),
        by_carry=_by_carry(records, str(digits)),
        search=_search(records),
        examples="\n".join(f"- {record['title']}: `{_example(record)}`" for record in records),
    )


def table(records: Sequence[Record], digits: int, *, brief: bool = False) -> str:
    """Return the table of methods; the brief one is for docs/results.md."""
    lengths = [int(length) for length in records[0]["runs"][0]["lengths"]]
    beyond = sorted({digits + 1, 2 * digits, 4 * digits, lengths[-1]} & {*lengths})
    heads = ["method", "source", f"1 to {digits} digits", *(f"{length} digits" for length in beyond)]
    heads += ["parameters", "examples", "seconds"]
    heads += ["its authors report"] if brief else ["rate", "its authors report", "is given"]
    rows = []
    for record in records:
        inside = mean(_within(record, digits))
        row = [record["title"], record["source"], _percent(inside) + ("" if inside >= LEARNED else " †")]
        row += [_percent(accuracy(record, length)) for length in beyond]
        row += [f"{mean(run[key] for run in record['runs']):,.0f}" for key in ("parameters", "examples", "seconds")]
        rows.append(
            row + ([record["published"]] if brief else [f"{record['rate']:g}", record["published"], record["given"]])
        )
    return f"{markdown.table(heads, *rows)}\n\n†: below {100 * LEARNED:.0f} % within its training lengths."


def accuracy(record: Record, length: int) -> float | None:
    """Return the share of right answers at a length over all seeds; None if no seed was tested."""
    shares = _shares([run["lengths"][str(length)] for run in record["runs"]])
    return mean(shares) if shares else None


def figure(content: dict[str, Any]) -> Figure:
    """Draw accuracy against length."""
    series = [_series(record["title"], [run["lengths"] for run in record["runs"]]) for record in content["records"]]
    trained = content["scale"]["digits"]
    label = f"digits of each number (shaded: trained on up to {trained})"
    panel = figures.Panel(label, "exact match", series, xscale="log", until=trained)
    return figures.study([panel], f"Accuracy against length: {DRAWN}")


def chains(content: dict[str, Any]) -> Figure:
    """Draw accuracy against the longest carry chain, within the training lengths and beyond."""
    records, panels = content["records"], []
    for digits in records[0]["runs"][0]["chains"]:
        series = [_series(record["title"], [run["chains"][digits] for run in record["runs"]]) for record in records]
        panels.append(figures.Panel(f"columns of the longest carry, {digits} digits", "exact match", series))
    return figures.study(panels, f"Accuracy against the longest carry: {DRAWN}")


def _series(title: str, runs: Sequence[dict[str, list[int] | None]]) -> figures.Series:
    """Return the shares of several seeds as a line of means and a dot for each seed."""
    shares = {int(key): _shares([run[key] for run in runs]) for key in runs[0]}
    means = [(x, mean(each)) for x, each in shares.items() if each]
    singles = [(x, one) for x, each in shares.items() for one in each]
    return figures.Series(title, [(x, (y, y, y)) for x, y in means], singles=singles)


def _shares(pairs: Sequence[list[int] | None]) -> list[float]:
    """Return each seed's share, 0 for an untested seed; nothing if no seed was tested."""
    return [pair[0] / pair[1] if pair else 0.0 for pair in pairs] if any(pairs) else []


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _each(seeds: Sequence[float]) -> str:
    return ", ".join(f"{100 * seed:.1f}" for seed in seeds)


def _order(records: Sequence[Record], digits: int) -> str:
    """List the methods by accuracy just beyond their training; equal ones share a place."""
    lengths = [int(n) for n in records[0]["runs"][0]["lengths"] if digits < int(n) <= 2 * digits]
    scores: dict[float, list[str]] = {}
    for record in records:
        seeds = _of_seeds(record, lengths)
        scores.setdefault(round(100 * mean(seeds), 1), []).append(f"{record['title']} ({_each(seeds)})")
    lines = [f"{score:.1f} %: {', '.join(named)}" for score, named in sorted(scores.items(), reverse=True)]
    return "\n".join(wrapped(f"{place}. {line}", "   ") for place, line in enumerate(lines, start=1))


def _of_seeds(record: Record, lengths: Sequence[int]) -> list[float]:
    """Return each seed's share of right answers over some lengths, 0 where untested."""
    tested = [[run["lengths"][str(length)] or [0, 1] for length in lengths] for run in record["runs"]]
    return [mean(right / of for right, of in each) for each in tested]


def _within(record: Record, digits: int) -> list[float]:
    """Return each seed's share of right answers within the training lengths."""
    return _of_seeds(record, [int(length) for length in record["runs"][0]["lengths"] if int(length) <= digits])


def _inside(records: Sequence[Record], digits: int) -> str:
    """List the methods that learned what they were trained on, and those that did not."""
    named: dict[bool, list[str]] = {True: [], False: []}
    for record in records:
        seeds = _within(record, digits)
        named[mean(seeds) >= LEARNED].append(f"{record['title']} ({_percent(mean(seeds))}: {_each(seeds)})")
    lines = [f"- At least {100 * LEARNED:.0f} %: {', '.join(named[True]) or 'none'}."]
    lines += [f"- Below: {', '.join(named[False])}."] if named[False] else []
    return "\n".join(wrapped(line, "  ") for line in lines)


def _by_carry(records: Sequence[Record], digits: str) -> str:
    """Return accuracy by the longest carry as a table."""
    chains = list(records[0]["runs"][0]["chains"][digits])
    rows = []
    for record in records:
        shares = [_shares([run["chains"][digits][chain] for run in record["runs"]]) for chain in chains]
        rows.append([record["title"], *(_percent(mean(each)) for each in shares)])
    return markdown.table(["longest carry, in columns", *chains], *rows)


def _search(records: Sequence[Record]) -> str:
    """Return the search of the learning rates as a table."""
    parts = list(dict.fromkeys(tried["part"] for tried in records[0]["search"]))
    rows = []
    for record in records:
        tries = [[tried for tried in record["search"] if tried["part"] == part] for part in parts]
        cells = [", ".join(f"{each['rate']:g}: {each['right']} of {each['of']}" for each in stage) for stage in tries]
        rows.append([record["title"], *cells])
    return markdown.table(["method", *(f"at 1/{part} of the compute" for part in parts)], *rows)


def _example(record: Record) -> str:
    question, written = record["runs"][0]["example"]
    return f"{question} -> {written[:120]}".replace("\n", " ").replace("|", "/")
