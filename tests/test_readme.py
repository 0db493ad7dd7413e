"""What the README states of the shipped networks is what their certificates and the recorded figures say."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from alga import runs
from alga.assumptions import at_least
from alga.certificate import Certificate
from tests.conftest import Alga

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def certificate(name: str) -> Certificate:
    return Certificate.from_json((runs.SHIPPED / name / "certificate.json").read_text())


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield name, prompts, parameters, margin and seconds of each network in the README's table."""
    table = README.partition("| network | prompts |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        name, prompts, parameters, margin, seconds = (cell.strip(" *") for cell in line.strip("|").split("|")[:5])
        found = re.match(r"`([a-z0-9-]+)`(?: ([0-9, ]+)$)?", name)
        assert found is not None, line
        bases = found[2].split(", ") if found[2] else [""]
        several = [figure.split(", ") if found[2] else [figure] for figure in (prompts, parameters, margin, seconds)]
        for base, *figures in zip(bases, *several, strict=True):
            yield f"{found[1]}{base}", figures[0], figures[1], figures[2], figures[3]


def test_the_table_of_networks_is_whole_and_as_certified() -> None:
    table = list(rows())
    assert sorted(row[0] for row in table) == sorted(runs.shipped())
    for name, prompts, parameters, margin, seconds in table:
        held = certificate(name)
        assert (prompts, parameters) == (f"{held.prompts:,}", f"{held.parameters:,}"), name
        assert margin == f"{held.least_margin:.2f}", name
        metrics = (runs.SHIPPED / name / "metrics.jsonl").read_text().splitlines()
        took = json.loads(metrics[-1])["seconds"]
        assert abs(float(seconds.removesuffix(" s")) - took) <= max(1.0, 0.02 * took), name


def test_what_is_claimed_of_proofs_is_what_the_certificates_hold() -> None:
    proofs = {name: certificate(name).proof for name in runs.shipped()}
    covered = {
        arithmetic: sum(proof is not None and proof.covers(arithmetic) for proof in proofs.values())
        for arithmetic in ("float64", "float32")
    }
    text = " ".join(README.split())
    assert f"All {covered['float64']} shipped networks are proven in float64, {covered['float32']} of them" in text
    assert covered["float64"] == len(proofs)
    adder = proofs["addition"]
    assert adder is not None
    bounds = {bound.arithmetic: bound.margin for bound in adder.bounds}
    stated = at_least(bounds["float32"] or 0.0, 2), at_least(bounds["float64"] or 0.0, 2)
    assert f"at least {stated[0]} logits in float32 ({stated[1]} in float64)" in text


def test_the_speeds_are_those_of_the_recorded_run() -> None:
    ratios = json.loads((ROOT / "results" / "bench.json").read_text())["ratios"]
    stated = re.search(r"([\d,]+) × plain, ([\d.]+) × `decimal`, (\d+) × `gmpy2`", README)
    assert stated is not None
    plain, decimal, gmpy2 = (float(figure.replace(",", "")) for figure in stated.groups())
    assert plain == pytest.approx(ratios["table over plain at 1,000,000"], rel=0.01)
    assert decimal == pytest.approx(ratios["table over decimal at 1,000,000"], abs=0.05)
    assert gmpy2 == pytest.approx(ratios["table over gmpy2 at 1,000,000"], abs=0.5)


def test_like_a_shipped_network_takes_its_recipe_and_seed(tmp_path: Path, alga: Alga) -> None:
    begun = alga("train", "--like", "parity", "--steps", 1, "--out", tmp_path / "run")
    assert begun.code == 1  # a step is not enough
    ours, theirs = (
        json.loads((folder / "config.json").read_text()) for folder in (tmp_path / "run", runs.SHIPPED / "parity")
    )
    assert (ours["task"], ours["model"]) == (theirs["task"], theirs["model"])
    assert ours["training"]["seed"] == theirs["training"]["seed"]
    kept = {key: value for key, value in ours["training"]["recipe"].items() if key in theirs["training"]["recipe"]}
    assert kept == theirs["training"]["recipe"] | {"steps": 1}


def test_the_seal_is_read_by_sha256sum() -> None:
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=runs.SHIPPED / "addition", capture_output=True, text=True, check=True
    )
    assert done.stdout.count(": OK\n") == 6
