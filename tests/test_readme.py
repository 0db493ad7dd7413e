"""Statements in the README and docs/ match certificates, recorded figures and commands.

No committed file tells people to install `alga` from PyPI, where it is an unrelated package.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from alga import runs
from alga.trust.assumptions import at_least
from alga.trust.certificate import Certificate
from tests.conftest import ROOT, Alga

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
NETWORKS, SPEED, RESULTS = ((DOCS / f"{name}.md").read_text() for name in ("networks", "speed", "results"))


def certificate(name: str) -> Certificate:
    return Certificate.from_json((runs.SHIPPED / name / "certificate.json").read_text())


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield name, prompts, parameters, margin and seconds of each network in the table of docs/networks.md."""
    table = NETWORKS.partition("| network | prompts |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        name, prompts, parameters, margin, seconds = (cell.strip(" *") for cell in line.strip("|").split("|")[:5])
        found = re.match(r"`([a-z0-9-]+)`(?: ([0-9, ]+)$)?", name)
        assert found is not None, line
        bases = found[2].split(", ") if found[2] else [""]
        several = [figure.split(", ") if found[2] else [figure] for figure in (prompts, parameters, margin, seconds)]
        for base, *figures in zip(bases, *several, strict=True):
            yield f"{found[1]}{base}", figures[0], figures[1], figures[2], figures[3]


def test_networks_table_is_complete_and_matches_the_certificates() -> None:
    table = list(rows())
    assert sorted(row[0] for row in table) == sorted(runs.shipped())
    for name, prompts, parameters, margin, seconds in table:
        held = certificate(name)
        assert (prompts, parameters) == (f"{held.prompts:,}", f"{held.parameters:,}"), name
        assert margin == f"{held.least_margin:.2f}", name
        metrics = (runs.SHIPPED / name / "metrics.jsonl").read_text().splitlines()
        took = json.loads(metrics[-1])["seconds"]
        assert abs(float(seconds.removesuffix(" s")) - took) <= max(1.0, 0.02 * took), name


def test_claims_about_proofs_match_the_certificates() -> None:
    proofs = {name: certificate(name).proof for name in runs.shipped()}
    covered = {
        arithmetic: sum(proof is not None and proof.covers(arithmetic) for proof in proofs.values())
        for arithmetic in ("float64", "float32")
    }
    text = " ".join(README.split())
    assert f"All {covered['float64']} shipped networks are proven in float64 and in float32" in text
    assert covered["float64"] == covered["float32"]
    assert covered["float64"] == len(proofs)
    adder = proofs["addition"]
    assert adder is not None
    bounds = {bound.arithmetic: bound.margin for bound in adder.bounds}
    stated = at_least(bounds["float32"] or 0.0, 2), at_least(bounds["float64"] or 0.0, 2)
    assert f"at least {stated[0]} logits in float32 ({stated[1]} in float64)" in text


def test_speeds_match_the_recorded_run() -> None:
    ratios = json.loads((ROOT / "results" / "bench.json").read_text())["ratios"]
    stated = re.search(r"([\d,]+) × plain, ([\d.]+) × `decimal`, (\d+) × `gmpy2`", SPEED)
    assert stated is not None
    plain, decimal, gmpy2 = (float(figure.replace(",", "")) for figure in stated.groups())
    assert plain == pytest.approx(ratios["table over plain at 1,000,000"], rel=0.01)
    assert decimal == pytest.approx(ratios["table over decimal at 1,000,000"], abs=0.05)
    assert gmpy2 == pytest.approx(ratios["table over gmpy2 at 1,000,000"], abs=0.5)


def test_readme_figures_appear_on_the_linked_pages() -> None:
    assert len(README.split()) < 1200
    for figure, page in (("0.10 ns a digit", SPEED), ("5.5 s", SPEED), ("59 parameters", NETWORKS)):
        assert figure in README, figure
        assert figure in page, figure
    (line,) = [line for line in SPEED.splitlines() if "10^9 digits" in line]
    assert "5.5 s" in line
    for name, prompts, parameters, margin, _ in rows():
        if name == "addition":
            assert f"Transformer of {parameters} parameters" in " ".join(README.split())
            assert f"only {prompts} different" in README
        if name == "whole":
            assert f"Transformer of {parameters} parameters" in README
            assert f"one of {prompts} local situations" in " ".join(README.split())
        if name == "addition":
            assert f"| shipped adder, {prompts} prompts | all right, least margin {margin} | checked |" in RESULTS


def test_readme_commands_print_the_shown_output(alga: Alga) -> None:
    (block,) = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    shown = [part.partition("\n") for part in re.split(r"^\$ alga ", block, flags=re.MULTILINE)[1:]]
    assert len(shown) == 6
    for command, _, expected in shown:
        done = alga(*command.split())
        assert (done.code, done.out) == (0, expected), command


def test_every_page_is_linked_and_no_link_is_broken() -> None:
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")]
    found = set()
    for page in pages:
        for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)", page.read_text()):
            target = (page.parent / link).resolve() if link else page
            assert target.exists(), f"{page.name}: {link}"
            found.add(target)
            if anchor:
                assert anchor in anchors(target), f"{page.name}: {link}{anchor}"
    assert {page for page in pages if page not in found} <= {ROOT / "README.md"}


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {f"#{re.sub(r'[^a-z0-9 _-]', '', title.lower()).replace(' ', '-')}" for title in titles}


def test_like_takes_the_recipe_and_seed_of_a_shipped_network(tmp_path: Path, alga: Alga) -> None:
    begun = alga("train", "--like", "parity", "--steps", 1, "--out", tmp_path / "run")
    assert begun.code == 1  # one step is not enough
    ours, theirs = (
        json.loads((folder / "config.json").read_text()) for folder in (tmp_path / "run", runs.SHIPPED / "parity")
    )
    assert (ours["task"], ours["model"]) == (theirs["task"], theirs["model"])
    assert ours["training"]["seed"] == theirs["training"]["seed"]
    kept = {key: value for key, value in ours["training"]["recipe"].items() if key in theirs["training"]["recipe"]}
    assert kept == theirs["training"]["recipe"] | {"steps": 1}


def test_sha256sum_reads_the_checksums() -> None:
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=runs.SHIPPED / "addition", capture_output=True, text=True, check=True
    )
    assert done.stdout.count(": OK\n") == 6


INSTALLING = re.compile(
    r"""\b(?:pip3?|pipx|uv|poetry|conda)\b[^\n;&|`]*\b(?:install|add)\s[^\n;&|`]*?(?<![\w./'"=-])alga\b(?!-adder)"""
)


def sends_to_the_index(text: str) -> list[str]:
    """Return the paragraphs that install `alga` by name, except those that warn about it."""
    paragraphs = re.split(r"\n\s*\n", text)
    return [part for part in paragraphs if INSTALLING.search(part) and "another project" not in part]


def text_of(path: Path) -> str:
    if path.suffix != ".ipynb":
        return path.read_text()
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])


def test_no_page_installs_the_unrelated_alga_package() -> None:
    for wrong in (
        "pip install alga",
        "pip3 install -U alga[serve]",
        "`uv pip install alga` does",
        "pip install numpy alga",
    ):
        assert sends_to_the_index(wrong), wrong
    for right in (
        "pip install -e '.[lab]'",
        "pip install git+https://example.org/alga",
        "pip install .; alga add 1 2",
        "pip install 'alga-adder[train]'",
        "pip install alga-adder",
    ):
        assert not sends_to_the_index(right), right
    texts = {"", ".md", ".ipynb", ".html", ".js", ".py", ".toml", ".txt", ".cff", ".yml", ".yaml", ".json"}
    tops = ("*", "docs/**/*", "src/**/*", "benchmarks/**/*", ".ci/**/*", ".github/**/*")
    pages = [path for top in tops for path in ROOT.glob(top) if path.is_file() and path.suffix in texts]
    assert {ROOT / "README.md", ROOT / "docs" / "tutorial.ipynb", runs.SHIPPED / "addition" / "README.md"} <= {*pages}
    assert [str(path.relative_to(ROOT)) for path in pages if sends_to_the_index(text_of(path))] == []
