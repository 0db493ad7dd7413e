"""The pages that begin the documentation: what they show is what the commands and the shipped network give."""

from __future__ import annotations

import re
import runpy
from typing import cast

import pytest

import alga as package
from alga import runs
from alga.network.model import Transformer
from alga.solve.solver import Solver
from alga.trust.assumptions import at_least
from alga.trust.certificate import Certificate
from tests.conftest import ROOT, Alga
from tests.source_tree import SOURCE

DOCS = ROOT / "docs"
HOW, GUARANTEE = ((DOCS / f"{name}.md").read_text() for name in ("how-it-works", "proof"))


@pytest.mark.parametrize("page", ["index", "how-it-works"])
def test_commands_print_the_shown_output(page: str, alga: Alga) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", (DOCS / f"{page}.md").read_text(), flags=re.DOTALL)
    shown = [part.partition("\n") for part in re.split(r"^\$ alga ", block, flags=re.MULTILINE)[1:]]
    assert shown
    for command, _, expected in shown:
        done = alga(*command.split())
        assert (done.code, done.out) == (0, expected), command


def test_counts_of_prompts_are_those_of_the_domain(adder: Solver) -> None:
    prompts = [*adder.trained.domain]
    second = [prompt.split("C") for prompt in prompts if "C" in prompt]
    contexts, columns = {context for context, _ in second}, {column for _, column in second}
    text = " ".join(HOW.split())
    assert f"There are {len(prompts) - len(second)} prompts of the first type" in text
    assert f"{len(contexts)} contexts (the totals 0 to {max(map(int, contexts))})" in text
    pairs = sum(len(column) == 2 for column in columns)
    assert f"{len(columns)} columns ({pairs} pairs, {len(columns) - pairs} single digits), so {len(second):,}" in text
    assert f"**{len(prompts):,} prompts are all" in text


def test_margin_of_the_guarantee_is_the_proven_one() -> None:
    held = Certificate.from_json((runs.SHIPPED / "addition" / "certificate.json").read_text())
    assert held.proof is not None
    margin = {bound.arithmetic: bound.margin for bound in held.proof.bounds}["float32"]
    assert margin is not None
    assert f"leads by {at_least(margin, 2)} logits or more in float32" in " ".join(GUARANTEE.split())


def code_lines(folder: str) -> int:
    """Count lines of code without blank ones and comments."""
    lines = (line.strip() for path in (SOURCE / folder).glob("*.py") for line in path.read_text().splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def test_sizes_of_what_must_be_trusted_are_those_of_the_code() -> None:
    text = " ".join(GUARANTEE.split())
    stated = [re.search(pattern, text) for pattern in (
        r"the comparison \(`trust/`\) \| ([\d,]+) of ours", r"the exact procedure \| ([\d,]+) \|",
        r"both would have to be wrong \| ([\d,]+) \|", r"the ([\d,]+) lines of Coq are proofs",
    )]  # fmt: skip
    theories = (path.read_text().splitlines() for path in (SOURCE / "trust" / "coq" / "theories").glob("*.v"))
    actual = [
        sum(map(code_lines, ("tasks", "network", "trust"))), code_lines("trust/proof"), code_lines("trust/verify"),
        sum(map(len, theories)),
    ]  # fmt: skip
    for found, lines in zip(stated, actual, strict=True):
        assert found is not None
        assert abs(int(found[1].replace(",", "")) - lines) <= 0.1 * lines


def test_reference_has_every_public_name() -> None:
    reference = "".join(page.read_text() for page in (DOCS / "reference").glob("*.rst"))
    documented = set(re.findall(r"auto\w+:: alga\.(\w+)$", reference, flags=re.MULTILINE))
    assert documented == set(package.__all__)


@pytest.mark.parametrize(("kind", "shown"), [("first", r"55PPP\n10S"), ("second", r"15C77\n15S")])
def test_mask_figure_shows_the_mask_of_the_shipped_network(kind: str, shown: str, adder: Solver) -> None:
    figure = (DOCS / "figures" / f"mask-{kind}.svg").read_text()
    cells = [int(seen) for seen in re.findall(r'data-seen="(\d)"', figure)]
    mask_LL = cast("Transformer", adder.decoder.model).mask
    assert cells == [int(value == 0) for value in mask_LL.flatten().tolist()]
    assert 0 < sum(cells) < len(cells) == 81
    labels = re.findall(r'<text x="26" [^>]*>([^<]*)</text>', figure)
    assert "".join(labels) == shown
    written = re.findall(r"→ (.)", figure)
    assert "".join(written) == shown.partition(r"\n")[2]
    assert runpy.run_path(str(DOCS / "mask_figure.py"))["drawing"](adder, kind) == figure
