"""Results of the load -> a section of docs/reliability.md."""

from __future__ import annotations

from textwrap import fill
from typing import Any, Final

WORDS: Final = {
    "sums": "sums of up to 60 digits, by all engines",
    "operations": "differences, products, quotients, comparisons of up to 30 digits",
    "traces": "sums of up to 60 digits step by step",
    "pages": "the page with all that it loads and asks first",
    "all": "**all**",
}


def section(results: dict[str, Any]) -> str:
    """Return the section."""
    honest, memory = results["honest"], results["memory"]
    rows = [
        f"| {WORDS[kind]} | {row['asked']:,} | {row['failed']:,} | {1000 * row['median']:,.0f} ms "
        f"| {1000 * row['p95']:,.0f} ms | {1000 * row['worst']:,.0f} ms |"
        for kind, row in ((kind, honest[kind]) for kind in WORDS if kind in honest)
    ]
    tried = sum(heard["tried"] for heard in results["hostile"].values())
    told = ", ".join(f"{heard['tried']:,} {kind.replace('_', ' ')}" for kind, heard in results["hostile"].items())
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    asked, failed, p95 = honest["all"]["asked"], honest["all"]["failed"], 1000 * honest["all"]["p95"]
    tenths = ", ".join(map(str, memory["tenths"]))
    wrong = ", ".join(f"{count:,} times {status}" for status, count in results["wrong"].items()) or "nothing"
    told_first = (
        f"**{asked:,} honest requests among {tried:,} hostile ones: {failed:,} failed, 95 % were answered within "
        f"{p95:,.0f} ms; memory {memory['start']:,} MB at the start, {memory['end']:,} MB at the end.** ({machine}.)"
    )
    told_last = (
        f"Memory in MB, at every tenth of the time: {tenths}; at most {memory['most']:,}. The hostile clients, by "
        f"number of tries: {told}. Of what they must never hear (a 5xx but for 503 and 504, an answer to another "
        f"site's page), they heard {wrong}. The server's log has {results['log']['lines']:,} lines."
    )
    lines = [
        HEAD.format(minutes=_minutes(results["seconds"])),
        fill(told_first, 120),
        *(["\n*From a cut run, which shows that the harness works, and no more.*"] if results["seconds"] < 600 else []),
        "\n| honest clients ask for | asked | failed | median | 95 % within | worst |",
        f"|{' --- |' * 6}",
        *rows,
        *(f"\n{fill(text, 120)}" for text in [told_last, *results.get("notes", [])]),  # notes are added by hand
    ]
    return "\n".join([*lines, TAIL])


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"


HEAD: Final = """
## The server under load

Written by `make load` from `results/load.json`; the harness is in `tests/load`, and the slow tests run a short version
of it. For {minutes} eight honest clients and some 240 hostile ones asked one `alga serve` with its own limits, all
on one machine. Every honest answer was compared with exact arithmetic.
"""

TAIL: Final = """
Not shown: honest *long* problems. They share two threads with hostile long problems, and under attack get 503 (too
busy) or 504 (out of time). A server without accounts cannot tell who is honest.
"""
