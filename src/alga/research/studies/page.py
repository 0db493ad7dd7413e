"""Writes docs/paper.md, claim by claim, from the results of the reproduction. Needs no torch."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]


def page(results: Result, figure: str) -> str:
    """Return the page as Markdown; every figure in it comes from `results`."""
    training, sums, long = results["training"], results["sums"], results["long"]
    lines = [
        "# The paper, claim by claim",
        "",
        "Written by `alga lab paper` from what it ran, not by hand. *checked*: every case, on the machine that ran it;",
        "*sampled*: some cases. The paper is A. G. Patriota, arXiv 2406.00075; its claims are told in our words.",
        "",
        f"The network was trained from nothing by the recipe `{training['recipe']}` on `{training['task']}`, seed 0:",
        f"{training['steps']:,} iterations, {training['seconds']:,.0f} s, until every prompt was right.",
        "",
        f"![Training curves]({figure})",
        "",
        "| the paper says | what was run here | what came out | strength |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {' | '.join(row)} |" for row in _claims(results)]
    lines += [
        "",
        "## What the certificate adds",
        "",
        "The paper cannot give an accuracy beyond 1,000 digits. Every step of every sum is one of",
        *_certificate(training),
        "",
        "## Speed",
        "",
        f"The {sums['problems']:,} sums took {sums['seconds']:,.0f} s side by side, the {long['problems']} sums of",
        f"{long['max_digits']:,} digits {long['seconds']:,.0f} s, every step by the network.",
    ]
    return "\n".join([*lines, ""])


def _certificate(training: Result) -> list[str]:
    if not training["certified"]:
        return [f"{training['prompts']:,} prompts; this network is NOT right on all of them, so nothing follows."]
    return [
        f"{training['prompts']:,} prompts; this network is right on all of them (least margin",
        f"{training['least_margin']:.2f}). So by induction over the columns it is right on sums of every length, as",
        "far as the check goes: on this machine, one prompt at a time and all in one batch.",
    ]


def _claims(results: Result) -> list[tuple[str, str, str, str]]:
    training, first, sums, long = (results[name] for name in ("training", "first_type", "sums", "long"))
    vocabulary = " ".join(training["vocabulary"]).replace("\n", "\\n")
    rows = [
        (
            "fourteen tokens; inputs padded to 5, targets to 3 (section 2)",
            "vocabulary and lengths derived from the task",
            f"`{vocabulary}`; {training['lengths'][0]} and {training['lengths'][1]}",
            "checked",
        ),
        (
            "a decoder-only Transformer: width 64, 2 heads, 2 layers, FFN 256 (section 3)",
            "parameters counted",
            f"{training['parameters']:,}",
            "checked",
        ),
        (
            "first-type instances alone do not generalise (section 2.1)",
            f"{first['steps']:,} iterations without the second type",
            f"first type {first['first_right']:,} of {first['first']:,} right, "
            f"second type {first['second_right']:,} of {first['second']:,}",
            "checked, for one seed",
        ),
        (
            "trained on columns, it adds numbers of any length (abstract)",
            f"all {training['prompts']:,} prompts, alone and in one batch",
            "all right" if training["certified"] else "NOT all right",
            "checked",
        ),
        (
            "the two step-by-step examples (section 4)",
            "the shipped network's prompts and outputs, compared with the paper's",
            _verdict(results["traces"]["same"]),
            "checked",
        ),
        (
            "the 50-digit sum of the introduction, and the author's 100-digit one",
            "the network's sums, compared with the published ones",
            _verdict(results["published"]["right"]),
            "checked",
        ),
        (
            "more than 1,000 sums of up to 1,000 digits, all right (section 4.1)",
            f"{sums['problems']:,} random sums of up to {sums['max_digits']:,} digits, {sums['engine']} engine",
            _correct(sums),
            "sampled",
        ),
        (
            "some sums of up to 300,000 digits, all right (section 4.1)",
            f"{long['problems']} random sums of {long['max_digits']:,} digits, {long['engine']} engine",
            _correct(long),
            "sampled",
        ),
        (
            "(not in the paper) sums that break neural adders",
            f"{results['families']['problems']:,} sums of {len(results['families']['families'])} families, "
            f"up to {results['families']['max_digits']:,} digits",
            _correct(results["families"]),
            "sampled",
        ),
    ]
    if author := results.get("author"):
        rows.append(
            (
                "the author's published weights",
                f"imported, all {author['prompts']:,} prompts",
                f"{'all right' if author['certified'] else 'NOT all right'}, least margin {author['least_margin']:.2f}",
                "checked",
            )
        )
    return rows


def _correct(result: Result) -> str:
    return f"{result['correct']:,} right, mean edit distance {result['edit_distance']:.2f}"


def _verdict(each: dict[str, bool]) -> str:
    wrong = [name for name, right in each.items() if not right]
    return f"NOT the same: {', '.join(wrong)}" if wrong else "the same"
