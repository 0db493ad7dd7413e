"""An untrusted run folder may claim only what ALGA itself would write: recipes, certificates, proofs, cards."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.runs.card import card
from tests.conftest import Alga


def test_run_folder_cannot_write_lines_of_python(parity: Path, alga: Alga) -> None:
    """Python runs lines of a .pth file in site-packages that start with `import`."""
    pth = parity.parent / "site.pth"
    pth.write_text("# paths\n")
    settings = json.loads((parity / "config.json").read_text())
    settings["training"]["recipe"]["name"] = "|\nimport os; os.mkdir('trap')\n|"
    (parity / "config.json").write_text(json.dumps(settings))
    (parity / "README.md").unlink()
    (parity / "README.md").symlink_to(pth)
    result = alga("certify", parity, "--save")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert pth.read_text() == "# paths\n"


RECIPES: dict[str, tuple[dict[str, object], str]] = {
    "a name of two lines": ({"name": "x\nimport os"}, "a recipe's name has"),
    "a name that leads elsewhere": ({"name": "../../x"}, "a recipe's name has"),
    "a formula": ({"name": r"$\frac{1$"}, "a recipe's name has"),
    "HTML": ({"name": "<script>"}, "a recipe's name has"),
    "another field": ({"note": "x"}, "expected the settings of a recipe"),
    "text for a number": ({"steps": "many"}, "steps must be a whole number"),
    "too much": ({"batch_size": 10**9}, "batch_size must be a whole number from 1 to 1,000,000"),
    "an option of no network": ({"options": {"colour": "red"}}, "options holds 'colour'"),
    "an option that is not the network's": ({"options": {"positions": "<i>"}}, "positions must be"),
    "another network": ({"width": 32}, "a network of another shape than its own"),
}


@pytest.mark.parametrize("kind", RECIPES)
def test_training_settings_must_be_a_recipe(parity: Path, kind: str, alga: Alga) -> None:
    changes, message = RECIPES[kind]
    settings = json.loads((parity / "config.json").read_text())
    settings["training"]["recipe"].update(changes)
    (parity / "config.json").write_text(json.dumps(settings))
    for verb in (("add", "1", "2", "--model", parity), ("train", "--like", parity), ("certify", parity, "--save")):
        result = alga(*verb)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert message in result.err


@pytest.mark.parametrize(
    "training", [{"recipe": {}}, {"seed": -1}, {"threads": 10**9}, {"device": "<b>"}, {"more": 1}, {"recipe": 3}]
)
def test_invalid_training_settings_are_refused(parity: Path, training: dict[str, object]) -> None:
    settings = json.loads((parity / "config.json").read_text())
    settings["training"].update(training)
    (parity / "config.json").write_text(json.dumps(settings))
    with pytest.raises(AlgaError, match=r"config\.json: "):
        runs.load(parity)


def test_every_shipped_card_matches_its_network() -> None:
    for name in runs.shipped():
        run = runs.load(name)
        assert run.certificate is not None
        assert run.certificate.parameters == run.config.model.parameters
        text = card(run.config.task, run.certificate.parameters, run.config.training, run.certificate)
        assert text == (runs.SHIPPED / name / "README.md").read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"machine": {"platform": "x\n# certified by nobody"}},
        {"machine": ["x"]},
        {"machine": {"platform": None}},
        {"least_margin_prompt": "<img src=x>"},
        {"least_margin_prompt": ["x"]},
        {"dtype": "float32\n"},
        {"batch_sizes": ["1"]},
        {"batch_sizes": [-1]},
        {"parameters": 1},
        {"parameters": "many"},
    ],
)
def test_certificate_with_altered_wording_is_refused(parity: Path, change: dict[str, object]) -> None:
    certificate = json.loads((parity / "certificate.json").read_text())
    (parity / "certificate.json").write_text(json.dumps(certificate | change))
    (parity / "SHA256SUMS").unlink()
    message = "other words or numbers than this package writes|claims to be proven without|must be (dict|str|int), got"
    with pytest.raises(AlgaError, match=message):
        runs.load(parity)


@pytest.mark.parametrize("bound", [{"arithmetic": "<b>"}, {"prompt": "x"}, {"margin": 1e308}])
def test_proof_with_altered_wording_is_refused(parity: Path, bound: dict[str, object]) -> None:
    certificate = json.loads((parity / "certificate.json").read_text())
    certificate["proof"]["bounds"][0] |= bound
    (parity / "certificate.json").write_text(json.dumps(certificate))
    (parity / "SHA256SUMS").unlink()
    with pytest.raises(AlgaError, match="other words or numbers than this package writes"):
        runs.load(parity)


def test_card_escapes_foreign_text(parity: Path) -> None:
    run = runs.load(parity)
    assert run.certificate is not None
    machine = {"platform": "a|b `c` [d](e) <img> \\ *f*\n\x1b"}
    text = card(run.config.task, 1, {}, dataclasses.replace(run.certificate, machine=machine))
    assert "platform a\\|b \\`c\\` \\[d\\](e) &lt;img&gt; \\\\ \\*f\\*\\\\n\\\\x1b." in text
