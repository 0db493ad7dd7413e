"""Writes docs/paper.md, claim by claim, from the results of the reproduction. Needs no torch."""

from __future__ import annotations

from typing import Any

from alga.research.markdown import joined, wrapped

Result = dict[str, Any]


def page(results: Result, figure: str) -> str:
    """Return the page as Markdown; every number in it comes from `results`."""
    training, sums, long = results["training"], results["sums"], results["long"]
    prompts = f"Every step of every sum is one of {training['prompts']:,} prompts; this network is"
    certificate = (
        f"{prompts} right on all of them (least margin {training['least_margin']:.2f}). By induction over the columns "
        "it is therefore right on sums of every length, as far as the check goes: on this machine, one prompt at a "
        "time and all in one batch."
        if training["certified"]
        else f"{prompts} NOT right on all of them, so nothing follows."
    )
    return joined(
        "# The paper, claim by claim",
        wrapped(
            "Written by `alga lab paper` from its own results, not by hand. *checked*: every case, on the machine that "
            "ran it; *sampled*: some cases. The paper is A. G. Patriota, arXiv 2406.00075; its claims are in our words."
        ),
        wrapped(
            f"The network was trained from scratch with the recipe `{training['recipe']}` on `{training['task']}`, "
            f"seed 0: {training['steps']:,} iterations, {training['seconds']:,.0f} s, until every prompt was right."
        ),
        f"![Training curves]({figure})",
        _claims(results),
        "## What the certificate adds",
        wrapped(f"The paper cannot give an accuracy beyond 1,000 digits. {certificate}"),
        "## Speed",
        wrapped(
            f"The {sums['problems']:,} sums took {sums['seconds']:,.0f} s side by side, the {long['problems']} sums of "
            f"{long['max_digits']:,} digits {long['seconds']:,.0f} s, every step computed by the network."
        ),
    )


def _claims(results: Result) -> str:
    names = ("training", "first_type", "sums", "long", "families")
    training, first, sums, long, families = (results[name] for name in names)
    vocabulary = " ".join(training["vocabulary"]).replace("\n", "\\n")
    inputs, targets = training["lengths"]
    claims = f"""\
| the paper says | what was run here | result | strength |
| --- | --- | --- | --- |
| fourteen tokens; inputs padded to 5, targets to 3 (section 2) \
| vocabulary and lengths derived from the task | `{vocabulary}`; {inputs} and {targets} | checked |
| a decoder-only Transformer: width 64, 2 heads, 2 layers, FFN 256 (section 3) \
| parameters counted | {training["parameters"]:,} | checked |
| first-type instances alone do not generalise (section 2.1) \
| {first["steps"]:,} iterations without the second type | first type {first["first_right"]:,} of {first["first"]:,} \
right, second type {first["second_right"]:,} of {first["second"]:,} | checked, for one seed |
| trained on columns, it adds numbers of any length (abstract) \
| all {training["prompts"]:,} prompts, alone and in one batch | {_all(training)} | checked |
| the two step-by-step examples (section 4) \
| the shipped network's prompts and outputs, compared with the paper's | {_same(results["traces"]["same"])} | checked |
| the 50-digit sum of the introduction, and the author's 100-digit one \
| the network's sums, compared with the published ones | {_same(results["published"]["right"])} | checked |
| more than 1,000 sums of up to 1,000 digits, all right (section 4.1) \
| {sums["problems"]:,} random sums of up to {sums["max_digits"]:,} digits, {sums["engine"]} engine \
| {_correct(sums)} | sampled |
| some sums of up to 300,000 digits, all right (section 4.1) \
| {long["problems"]} random sums of {long["max_digits"]:,} digits, {long["engine"]} engine \
| {_correct(long)} | sampled |
| (not in the paper) sums that break neural adders | {families["problems"]:,} sums of {len(families["families"])} \
families, up to {families["max_digits"]:,} digits | {_correct(families)} | sampled |"""
    if author := results.get("author"):
        claims += f"""
| the author's published weights | imported, all {author["prompts"]:,} prompts \
| {_all(author)}, least margin {author["least_margin"]:.2f} | checked |"""
    return claims


def _all(result: Result) -> str:
    return "all right" if result["certified"] else "NOT all right"


def _correct(result: Result) -> str:
    return f"{result['correct']:,} right, mean edit distance {result['edit_distance']:.2f}"


def _same(each: dict[str, bool]) -> str:
    wrong = [name for name, right in each.items() if not right]
    return f"NOT the same: {', '.join(wrong)}" if wrong else "the same"
