"""Writes docs/compare.md, its tables and its figures, from the comparison's records. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

from alga.research import figures, markdown
from alga.research.markdown import wrapped
from alga.research.statistics import Interval, over_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = dict[str, Any]
Counts = dict[str, list[int] | None]
LEARNED: Final = 0.99  # of the sums within the training lengths
FAR: Final = 0.9  # at this share of right sums a method still counts as adding
DRAWN: Final = "means over seeds with intervals, each seed as a faint dot"
QUARTERS: Final = (0.25, 0.5, 0.75, 1.0)  # of the tokens, at which the curves are shown


def page(content: dict[str, Any], figure: str, chains: str) -> str:
    """Return the page as Markdown; every number in it comes from the records."""
    records = content["records"]
    texts, loops = ([record for record in records if record["looped"] is looped] for looped in (False, True))
    return markdown.page(
        "compare",
        setting=content["setting"],
        scale=content["scale"],
        digits=content["scale"]["digits"],
        longer=content["longer"],
        seeds=content["seeds"],
        more_seeds=content["more_seeds"],
        search_tokens=content["search_tokens"],
        count=content["count"],
        figure=figure,
        chains=chains,
        quick="*A quick run only shows that everything works.*" if content["setting"] == "quick" else "",
        table=table(texts) if texts else "None in these results.",
        loops=table(loops) if loops else "None in these results.",
        by_length=_by_length(records),
        inside=_inside(records),
        after=_after(records),
        curves=_curves(records),
        by_carry=_by_carry(records),
        search=_search(records),
        given="\n".join(wrapped(f"- {record['title']}: {record['given']}.", "  ") for record in records),
        examples="\n".join(f"- {record['title']}: `{_example(record)}`" for record in records),
    )


def table(records: Sequence[Record], *, brief: bool = False) -> str:
    """Return the table of methods; the brief one is for docs/results.md."""
    heads = ["method", "source", "trained on", "tokens needed", "seeds that passed", "within", "1.5 times", "twice"]
    heads += [f"{100 * FAR:.0f} % up to"]
    heads += ["its authors report"] if brief else ["network", "rate", "seconds", "its authors report"]
    rows = []
    for record in records:
        runs, scale, digits = record["runs"], record["scale"], record["scale"]["digits"]
        inside = mean(_within(record))
        row = [record["title"], record["source"], f"up to {digits} digits", _tokens(runs)]
        row += [f"{sum(run['passed'] is not None for run in runs)} of {len(runs)}"]
        row += [_percent(inside) + ("" if inside >= LEARNED else " †")]
        row += [_percent(accuracy(record, digits * times // 2)) for times in (3, 4)]
        row += [_far(record)]
        if not brief:
            shape = f"{_layers(record)} of width {scale['width']}, {mean(run['parameters'] for run in runs):,.0f}"
            row += [shape, f"{record['rate']:g}", f"{mean(run['seconds'] for run in runs):,.0f}"]
        rows.append([*row, record["published"]])
    return f"{markdown.table(heads, *rows)}\n\n†: below {100 * LEARNED:.0f} % within its training lengths."


def accuracy(record: Record, length: int) -> Interval | None:
    """Return the share of right answers at a length over all seeds; None if no seed was tested."""
    return _interval([run["lengths"].get(str(length)) for run in record["runs"]])


def figure(content: dict[str, Any]) -> Figure:
    """Draw accuracy against length: the methods that extrapolate, and the others."""
    panels = []
    for further, trained in ((True, content["longer"]), (False, content["scale"]["digits"])):
        records = [record for record in content["records"] if record["extrapolates"] is further]
        if records:
            label = f"digits of each number (shaded: trained on up to {trained})"
            series = [_series(record["title"], [run["lengths"] for run in record["runs"]]) for record in records]
            panels.append(figures.Panel(label, "exact match", series, xscale="log", until=trained, legend=True))
    return figures.study(panels, f"Accuracy against length: {DRAWN}")


def chains(content: dict[str, Any]) -> Figure:
    """Draw accuracy against the longest carry chain, within the training lengths and beyond."""
    panels = []
    for place, words in enumerate(("the training length", "1.5 times that")):
        series = [_series(each["title"], [_chain(run, place) for run in each["runs"]]) for each in content["records"]]
        panels.append(figures.Panel(f"columns of the longest carry, {words}", "exact match", series))
    return figures.study(panels, f"Accuracy against the longest carry: {DRAWN}")


def _chain(run: Record, place: int) -> Counts:
    found: Counts = list(run["chains"].values())[place]
    return found


def _series(title: str, runs: Sequence[Counts]) -> figures.Series:
    """Return the shares of several seeds as a line of means with intervals and a dot for each seed."""
    pairs = {int(key): [run[key] for run in runs] for key in runs[0]}
    means = [(x, interval) for x, each in pairs.items() if (interval := _interval(each)) is not None]
    singles = [(x, one) for x, each in pairs.items() for one in _shares(each)]
    return figures.Series(title, means, singles=singles)


def _interval(pairs: Sequence[list[int] | None]) -> Interval | None:
    """Return the mean of the seeds' shares with its interval; an untested seed has nothing right, if any was tested."""
    sizes = [pair[1] for pair in pairs if pair]
    return over_seeds([(pair[0], pair[1]) if pair else (0, sizes[0]) for pair in pairs]) if sizes else None


def _shares(pairs: Sequence[list[int] | None]) -> list[float]:
    """Return each seed's share, 0 for an untested seed; nothing if no seed was tested."""
    return [pair[0] / pair[1] if pair else 0.0 for pair in pairs] if any(pairs) else []


def _percent(value: Interval | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, Interval):
        return f"{100 * value.value:.1f} % ({100 * value.low:.0f} to {100 * value.high:.0f})"
    return f"{100 * value:.1f} %"


def _each(seeds: Sequence[float]) -> str:
    return ", ".join(f"{100 * seed:.1f}" for seed in seeds)


def _tokens(runs: Sequence[Record]) -> str:
    """Return the median of the tokens that the seeds needed, in millions; those that did not pass needed more."""
    needed = [run["passed"] or float("inf") for run in runs]
    middle = median(needed)
    most = max(run["tokens"] for run in runs)
    return f"{middle / 1e6:.1f} million" if middle < float("inf") else f"over {most / 1e6:.0f} million"


def _layers(record: Record) -> str:
    layers = record["scale"]["layers"]
    return f"{layers} layer{'' if layers == 1 else 's'}"


def _far(record: Record) -> str:
    """Return the length up to which, without a gap, the mean over seeds stays high."""
    furthest = 0
    for length in record["runs"][0]["lengths"]:
        interval = accuracy(record, int(length))
        if interval is None or interval.value < FAR:
            break
        furthest = int(length)
    return f"{furthest} digits" if furthest else "no length"


def _within(record: Record) -> list[float]:
    """Return each seed's share of right answers within the training lengths."""
    digits = record["scale"]["digits"]
    inside = [length for length in record["runs"][0]["lengths"] if int(length) <= digits]
    return [mean(_shares([run["lengths"][length]])[0] if run["lengths"][length] else 0.0 for length in inside)
            for run in record["runs"]]  # fmt: skip


def _by_length(records: Sequence[Record]) -> str:
    """Return accuracy at every length as a table, a line for each length."""
    lengths = records[0]["runs"][0]["lengths"]
    rows = [[length, *(_percent(accuracy(record, int(length))) for record in records)] for length in lengths]
    return markdown.table(["digits", *(record["title"] for record in records)], *rows)


def _inside(records: Sequence[Record]) -> str:
    """List the methods that learned what they were trained on, and those that did not."""
    named: dict[bool, list[str]] = {True: [], False: []}
    for record in records:
        seeds = _within(record)
        named[mean(seeds) >= LEARNED].append(f"{record['title']} ({_percent(mean(seeds))}: {_each(seeds)})")
    lines = [f"- At least {100 * LEARNED:.0f} %: {', '.join(named[True]) or 'none'}."]
    lines += [f"- Below: {', '.join(named[False])}."] if named[False] else []
    return "\n".join(wrapped(line, "  ") for line in lines)


def _after(records: Sequence[Record]) -> str:
    """Return the methods that trained on: how far they got when they passed, and at the end."""
    rows = []
    for record in records:
        if not record["extrapolates"]:
            continue
        passed = [{**run, **run["at_pass"]} for run in record["runs"] if "at_pass" in run]
        for when, runs in (("when it passed", passed), ("at the end", record["runs"])):
            if runs:
                then, digits = {**record, "runs": runs}, record["scale"]["digits"]
                proven = [run["certified"] for run in runs if run["certified"] is not None]
                row = [record["title"], when, str(len(runs)), _percent(mean(_within(then)))]
                row += [_percent(accuracy(then, digits * times // 2)) for times in (3, 4)]
                rows.append([*row, _far(then), f"{sum(proven)} of {len(runs)}" if proven else "-"])
    heads = ["method", "tested", "seeds", "within", "1.5 times", "twice", f"{100 * FAR:.0f} % up to", "proven"]
    return markdown.table(heads, *rows) if rows else "None in these results."


def _curves(records: Sequence[Record]) -> str:
    """Return how validation went for methods of which a seed did not pass, at quarters of its tokens."""
    rows = []
    for record in records:
        for seed, run in enumerate(record["runs"]):
            if run["passed"] is not None or not run["curve"]:
                continue
            points = [run["curve"][max(0, round(part * len(run["curve"])) - 1)] for part in QUARTERS]
            rows.append([record["title"], str(seed), *(f"{right} of {of}" for _, right, of in points)])
    heads = ["method", "seed", *(f"after {100 * part:.0f} % of the tokens" for part in QUARTERS)]
    return markdown.table(heads, *rows) if rows else "All seeds of all methods passed."


def _by_carry(records: Sequence[Record]) -> str:
    """Return accuracy by the longest carry at each method's training length as a table."""
    most = max(len(_chain(record["runs"][0], 0)) for record in records)
    rows = []
    for record in records:
        runs = [_chain(run, 0) for run in record["runs"]]
        shares = [_shares([run[chain] for run in runs]) for chain in runs[0]]
        cells = [_percent(mean(each)) if each else "-" for each in shares]
        rows.append([record["title"], *cells, *[""] * (most - len(cells))])
    return markdown.table(["longest carry, in columns", *map(str, range(most))], *rows)


def _search(records: Sequence[Record]) -> str:
    """Return the search of the learning rates as a table."""
    rows = []
    for record in records:
        cells = []
        for tried in record["search"]:
            end = f"passed after {tried['passed'] / 1e6:.2f} million" if tried["passed"] else "did not pass"
            cells.append(f"{tried['rate']:g}: {end}, {tried['right']} of {tried['of']}")
        rows.append([record["title"], f"{record['rate']:g}", "; ".join(cells)])
    return markdown.table(["method", "chosen", "rates tried"], *rows)


def _example(record: Record) -> str:
    question, written = record["runs"][0]["example"]
    return f"{question} -> {written[:120]}".replace("\n", " ").replace("|", "/")
