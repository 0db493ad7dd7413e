"""Writes docs/compare.md, its table and its figures, from the comparison's records. Needs no torch."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from alga.research import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]
LEARNED: Final = 0.99  # of the sums within the training lengths
DRAWN: Final = "means as lines, each seed as a faint dot"


def page(content: dict[str, Any], figure: str, chains: str) -> str:
    """Return the page as Markdown; every figure in it comes from the records."""
    scale, records = content["scale"], content["records"]
    digits = scale["digits"]
    lines = [
        "# Methods side by side",
        "",
        _wrapped(
            "Written by `alga lab compare` from what it ran, not by hand; [rivals.md](rivals.md) tells how to add "
            f"a method. Setting `{content['setting']}`: every method has {scale['layers']} layers of width "
            f"{scale['width']} ({scale['heads']} heads, {scale['hidden']} hidden units) and learns from "
            f"{scale['tokens']:,} tokens of text at most (to the batch), padding included: sums of two numbers of one "
            f"length, up to {digits} digits. Then it adds numbers of other lengths. Exact match, *sampled*; means over "
            "seeds."
        ),
        "",
        *(["*A quick run shows that everything works, and no more.*", ""] if content["setting"] == "quick" else []),
        _wrapped(
            "**What ALGA is given and the others are not**: an outer loop that feeds it the columns one by one, and "
            "its own last output with them. It never sees a whole number, and learns from columns instead of sums: "
            "all that a sum of any length can lead to, so no length is out of its distribution. The two variants that "
            "the paper does not adopt share that loop (one of them sees only columns without a context); the others "
            "must find the columns themselves, or their format tells."
        ),
        "",
        f"![Accuracy against length]({figure})",
        "",
        *table(records, digits),
        "",
        _wrapped(
            "Seconds are of one thread while another run used the other core. Only ALGA's training ends before its "
            "tokens do, at the certificate: its seconds and examples are not those of equal compute. Examples of a "
            "method that feeds columns are columns, of the others sums. `-` at a length: not tried, because nothing "
            "was right at three lengths in a row before; a single seed that was not tried any more counts as wrong. "
            "`-` of the authors: no figure that we could read ([peers.md](peers.md))."
        ),
        "",
        _wrapped(
            "Where a token of a text stands is told by sinusoids (plain, concatenated) or by learned embeddings (the "
            "others that read texts). Only Abacus embeddings and position coupling have them moved at random in "
            "training, over 100 places, so that numbers of 100 digits can be asked for. In longer sums the others "
            "that read whole sums stand on places that they never saw; and these two learn each place from fewer "
            "examples than with a narrower range."
        ),
        "",
        f"## Order at {digits + 1} to {2 * digits} digits",
        "",
        "Mean over these lengths and all seeds; in brackets each seed by itself.",
        "",
        *_order(records, digits),
        "",
        f"## Within the training lengths (1 to {digits} digits)",
        "",
        "Mean over these lengths and all seeds; then each seed by itself.",
        "",
        *_inside(records, digits),
        "",
        "## By the longest carry",
        "",
        f"Sums of {digits} digits.",
        "",
        *_chained(records, str(digits)),
        "",
        f"![Accuracy against the longest carry chain]({chains})",
        "",
        "## Learning rates tried",
        "",
        _wrapped(
            "Each rate with how many of the validation sums were right: all rates at an eighth of the compute, the "
            "best two at a half, the best of these for the runs above. Ties go to the rate with more right digits, "
            "then to the one that came first, which is the lower one at the beginning and the better one after that. "
            "What is learned late shows little at an eighth, so the first choice may miss; no rate above the highest "
            "is tried ([decisions.md](decisions.md))."
        ),
        "",
        *_searched(records),
        "",
        "## What each wrote, one digit beyond its training",
        "",
        *(f"- {record['title']}: `{_example(record)}`" for record in records),
        "",
    ]
    return "\n".join(lines)


def table(records: Sequence[Record], digits: int, *, brief: bool = False) -> list[str]:
    """Return the table of methods as lines of Markdown; the brief one is the README's."""
    lengths = [int(length) for length in records[0]["runs"][0]["lengths"]]
    beyond = sorted({digits + 1, 2 * digits, 4 * digits, lengths[-1]} & {*lengths})
    heads = ["method", "source", f"1 to {digits} digits", *(f"{length} digits" for length in beyond)]
    heads += ["parameters", "examples", "seconds"]
    heads += ["its authors report"] if brief else ["rate", "its authors report", "is given"]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for record in records:
        runs = record["runs"]
        inside = mean(_within(record, digits))
        row = [record["title"], record["source"], _percent(inside) + ("" if inside >= LEARNED else " †")]
        row += [_percent(accuracy(record, length)) for length in beyond]
        row += [f"{mean(run[key] for run in runs):,.0f}" for key in ("parameters", "examples", "seconds")]
        row += [record["published"]] if brief else [f"{record['rate']:g}", record["published"], record["given"]]
        lines.append(f"| {' | '.join(row)} |")
    return [*lines, "", f"†: did not get to {100 * LEARNED:.0f} % within the lengths of its training."]


def accuracy(record: Record, length: int) -> float | None:
    """Return the share of right answers at a length over all seeds, None where no seed was tried any more."""
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
    panels = []
    for digits in content["records"][0]["runs"][0]["chains"]:
        series = [
            _series(record["title"], [run["chains"][digits] for run in record["runs"]]) for record in content["records"]
        ]
        panels.append(figures.Panel(f"columns of the longest carry, {digits} digits", "exact match", series))
    return figures.study(panels, f"Accuracy against the longest carry: {DRAWN}")


def _series(title: str, runs: Sequence[dict[str, list[int] | None]]) -> figures.Series:
    """Return what several seeds counted, each by the same keys, as a line of means and a dot for each seed."""
    shares = {int(key): _shares([run[key] for run in runs]) for key in runs[0]}
    means = [(x, mean(each)) for x, each in shares.items() if each]
    singles = [(x, one) for x, each in shares.items() for one in each]
    return figures.Series(title, [(x, (y, y, y)) for x, y in means], singles=singles)


def _shares(pairs: Sequence[list[int] | None]) -> list[float]:
    """Return each seed's share; one that was not tried any more counts as wrong; none where no seed was tried."""
    return [pair[0] / pair[1] if pair else 0.0 for pair in pairs] if any(pairs) else []


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _order(records: Sequence[Record], digits: int) -> list[str]:
    """Say how the methods come out just beyond their training, ties as ties."""
    lengths = [int(n) for n in records[0]["runs"][0]["lengths"] if digits < int(n) <= 2 * digits]
    scores: dict[float, list[str]] = {}
    for record in records:
        seeds = _of_seeds(record, lengths)
        scores.setdefault(round(100 * mean(seeds), 1), []).append(f"{record['title']} ({_each(seeds)})")
    ordered = sorted(scores.items(), reverse=True)
    lines = [f"{place}. {score:.1f} %: {', '.join(named)}" for place, (score, named) in enumerate(ordered, start=1)]
    return [_wrapped(line, "   ") for line in lines]


def _of_seeds(record: Record, lengths: Sequence[int]) -> list[float]:
    """Return each seed's share of right answers over some lengths; what was not tried counts as wrong."""
    tried = [[run["lengths"][str(length)] or [0, 1] for length in lengths] for run in record["runs"]]
    return [mean(right / of for right, of in each) for each in tried]


def _within(record: Record, digits: int) -> list[float]:
    """Return each seed's share of right answers within the training lengths."""
    return _of_seeds(record, [int(length) for length in record["runs"][0]["lengths"] if int(length) <= digits])


def _each(seeds: Sequence[float]) -> str:
    return ", ".join(f"{100 * seed:.1f}" for seed in seeds)


def _inside(records: Sequence[Record], digits: int) -> list[str]:
    """Say which methods learned what they were trained on, and which did not get there."""
    named: dict[bool, list[str]] = {True: [], False: []}
    for record in records:
        seeds = _within(record, digits)
        named[mean(seeds) >= LEARNED].append(f"{record['title']} ({_percent(mean(seeds))}: {_each(seeds)})")
    lines = [f"- At least {100 * LEARNED:.0f} %: {', '.join(named[True]) or 'none'}."]
    lines += [f"- Did not get there: {', '.join(named[False])}."] if named[False] else []
    return [_wrapped(line, "  ") for line in lines]


def _chained(records: Sequence[Record], digits: str) -> list[str]:
    """Return accuracy by the longest carry as lines of Markdown."""
    chains = list(records[0]["runs"][0]["chains"][digits])
    heads = ["longest carry, in columns", *chains]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for record in records:
        shares = [_shares([run["chains"][digits][chain] for run in record["runs"]]) for chain in chains]
        lines.append(f"| {' | '.join([record['title'], *(_percent(mean(each)) for each in shares)])} |")
    return lines


def _searched(records: Sequence[Record]) -> list[str]:
    """Return what the search of the learning rates found as lines of Markdown."""
    parts = list(dict.fromkeys(tried["part"] for tried in records[0]["search"]))
    heads = ["method", *(f"at 1/{part} of the compute" for part in parts)]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for record in records:
        tries = [[tried for tried in record["search"] if tried["part"] == part] for part in parts]
        cells = [", ".join(f"{each['rate']:g}: {each['right']} of {each['of']}" for each in stage) for stage in tries]
        lines.append(f"| {' | '.join([record['title'], *cells])} |")
    return lines


def _example(record: Record) -> str:
    question, written = record["runs"][0]["example"]
    return f"{question} -> {written[:120]}".replace("\n", " ").replace("|", "/")
