"""Writes docs/paper.md, claim by claim, from the results of the reproduction. Needs no torch."""

from __future__ import annotations

from typing import Any

from alga.research import markdown


def page(results: dict[str, Any], figure: str) -> str:
    """Return the page as Markdown; every number in it comes from `results`."""
    training, author = results["training"], results.get("author")
    certificate, author_row = "this network is NOT right on all of them, so nothing follows.", ""
    if training["certified"]:
        certificate = (
            f"this network is right on all of them (least margin {training['least_margin']:.2f}). By induction over "
            "the columns it is therefore right on sums of every length, as far as the check goes: on this machine, one "
            "prompt at a time and all in one batch."
        )
    if author:
        result = f"{_all_right(author)}, least margin {author['least_margin']:.2f}"
        imported = f"imported, all {author['prompts']:,} prompts"
        author_row = f"\n| the author's published weights | {imported} | {result} | checked |"
    return markdown.page(
        "paper",
        **results,
        figure=figure,
        vocabulary=" ".join(training["vocabulary"]).replace("\n", "\\n"),
        all_right=_all_right(training),
        same_traces=_same(results["traces"]["same"]),
        same_sums=_same(results["published"]["right"]),
        family_count=len(results["families"]["families"]),
        certificate=certificate,
        author_row=author_row,
    )


def _all_right(result: dict[str, Any]) -> str:
    return "all right" if result["certified"] else "NOT all right"


def _same(each: dict[str, bool]) -> str:
    wrong = [name for name, right in each.items() if not right]
    return f"NOT the same: {', '.join(wrong)}" if wrong else "the same"
