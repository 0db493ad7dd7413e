"""Strangers' folders: no link in one is followed, nothing but ordinary files is read or written, whatever the verb."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.base.folders import UNFINISHED
from alga.research import sweeps
from alga.runs import checksums
from alga.runs.card import card
from alga.training.trainer import Training
from tests.conftest import Alga, tiny

CHECKPOINT = "checkpoint.safetensors"
STATE = (*checksums.SEALED, checksums.NAME)
TRAINED = (CHECKPOINT, "curves.png", "curves.svg")


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped in the middle."""
    folder = tmp_path_factory.mktemp("unfinished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alga.training.metrics.draw", lambda folder, title: None)
        training = Training.start(folder, tiny(), seed=5, threads=1)
        list(training.run(should_stop=lambda: training.step >= 10))
    return folder


@pytest.fixture
def run(unfinished: Path, parity: Path) -> Path:
    """A stopped run with all that any run has: a certificate, too, of another."""
    folder = Path(shutil.copytree(unfinished, parity.parent / "run"))
    for name in ("certificate.json", "table.json"):
        shutil.copy(parity / name, folder)
    for name in TRAINED[1:]:
        (folder / name).write_bytes(b"drawn")
    return folder


@pytest.fixture(params=["relative to the folder", "by paths"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening files: systems without the first (Windows) keep the same promises."""
    monkeypatch.setattr("alga.base.folders.HAS_DIR_FD", request.param == "relative to the folder")
    return str(request.param)


def content(folder: Path) -> dict[str, bytes | str]:
    return {
        path.name: str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        for path in folder.iterdir()
    }


def exchange(path: Path, kind: str) -> Path:
    """Put something else in the place of a file: a link to a copy of it, or what is no file; return the copy."""
    outside = path.parent.parent / "outside"
    outside.write_bytes(path.read_bytes() if path.exists() else b"precious")
    path.unlink(missing_ok=True)
    match kind:
        case "link":
            path.symlink_to(outside)
        case "dangling link":
            outside.unlink()
            path.symlink_to(outside)
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path.name)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
    return outside


KINDS = ("link", "dangling link", "pipe", "socket", "folder", "device")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*STATE, *TRAINED, ".lock"])
def test_resuming_in_a_folder_with_anything_but_files_writes_nothing(
    run: Path, name: str, kind: str, alga: Alga, way: str
) -> None:
    outside = exchange(run / name, kind)
    held, before = outside.read_bytes() if outside.exists() else None, content(run)
    result = alga("train", "--resume", run, "--steps", 11)
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert (outside.read_bytes() if outside.exists() else None) == held
    assert content(run) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*STATE, ".lock"])
def test_certifying_in_a_folder_with_anything_but_files_writes_nothing(
    parity: Path, name: str, kind: str, alga: Alga, way: str
) -> None:
    outside = exchange(parity / name, kind)
    held, before = outside.read_bytes() if outside.exists() else None, content(parity)
    result = alga("certify", parity, "--save")
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert (outside.read_bytes() if outside.exists() else None) == held
    assert content(parity) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STATE)
def test_a_network_is_read_from_files_only(parity: Path, name: str, kind: str, way: str) -> None:
    exchange(parity / name, kind)
    with pytest.raises(AlgaError, match=name):
        runs.load(parity)


def test_a_link_named_like_a_temporary_file_is_not_followed(parity: Path, alga: Alga, way: str) -> None:
    """What a kill leaves of a file is removed by its next writer; a stranger's link of that name leads nowhere."""
    outside = parity.parent / "outside"
    outside.write_bytes(b"precious")
    for name in STATE:
        (parity / f".{name}.0{UNFINISHED}").symlink_to(outside)
    assert alga("certify", parity, "--save").code == 0
    assert outside.read_bytes() == b"precious"


def test_a_link_to_a_run_folder_is_followed(parity: Path, alga: Alga, way: str) -> None:
    link = parity.parent / "link"
    link.symlink_to(parity)
    assert alga("certify", link, "--save").code == 0
    assert runs.load(link).certified


def test_a_stranger_does_not_write_lines_of_python(parity: Path, alga: Alga) -> None:
    """A line of a .pth file in site-packages that begins with `import` is run at Python's next start."""
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
def test_a_training_is_a_recipe_or_is_refused(parity: Path, kind: str, alga: Alga) -> None:
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
def test_what_is_no_training_is_refused(parity: Path, training: dict[str, object]) -> None:
    settings = json.loads((parity / "config.json").read_text())
    settings["training"].update(training)
    (parity / "config.json").write_text(json.dumps(settings))
    with pytest.raises(AlgaError, match=r"config\.json: "):
        runs.load(parity)


def test_every_shipped_card_is_what_its_network_says() -> None:
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
def test_a_certificate_in_other_words_than_ours_is_refused(parity: Path, change: dict[str, object]) -> None:
    certificate = json.loads((parity / "certificate.json").read_text())
    (parity / "certificate.json").write_text(json.dumps(certificate | change))
    (parity / "SHA256SUMS").unlink()
    message = "other words or numbers than this package writes|claims to be proven without|must be (dict|str|int), got"
    with pytest.raises(AlgaError, match=message):
        runs.load(parity)


@pytest.mark.parametrize("bound", [{"arithmetic": "<b>"}, {"prompt": "x"}, {"margin": 1e308}])
def test_a_proof_in_other_words_than_ours_is_refused(parity: Path, bound: dict[str, object]) -> None:
    certificate = json.loads((parity / "certificate.json").read_text())
    certificate["proof"]["bounds"][0] |= bound
    (parity / "certificate.json").write_text(json.dumps(certificate))
    (parity / "SHA256SUMS").unlink()
    with pytest.raises(AlgaError, match="other words or numbers than this package writes"):
        runs.load(parity)


def test_a_card_shows_what_came_from_elsewhere_as_text(parity: Path) -> None:
    run = runs.load(parity)
    assert run.certificate is not None
    machine = {"platform": "a|b `c` [d](e) <img> \\ *f*\n\x1b"}
    text = card(run.config.task, 1, {}, dataclasses.replace(run.certificate, machine=machine))
    assert "platform a\\|b \\`c\\` \\[d\\](e) &lt;img&gt; \\\\ \\*f\\*\\\\n\\\\x1b." in text


# --- files that a person names ----------------------------------------------------------------------------------------


@pytest.fixture
def shared_memory() -> Iterator[Path]:
    """A folder in /dev that holds ordinary files."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_files_in_shared_memory_are_replaced_not_added_to(shared_memory: Path, alga: Alga) -> None:
    out = shared_memory / "sum"
    out.write_text("an older file\n")
    assert alga("add", "1", "2", "--out", out).code == 0
    assert out.read_text() == "3\n"
    training = Training.start(shared_memory / "run", tiny(steps=20, margin=99.0), seed=5, threads=1)
    list(training.run())
    assert not runs.load(shared_memory / "run").certified


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_name_of_an_open_descriptor_is_written_to(name: str, tmp_path: Path) -> None:
    """`alga … --out /dev/stdout >> file` adds to the file."""
    (tmp_path / "file").write_text("first\n")
    script = f"from pathlib import Path; from alga.base import files; files.write(Path({name!r}), b'second\\n')"
    with (tmp_path / "file").open("ab") as file:
        subprocess.run([sys.executable, "-c", script], stdout=file, check=True)
    assert (tmp_path / "file").read_text() == "first\nsecond\n"


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write(path, b"old")
    path.chmod(0o600)
    files.write(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
def test_results_of_a_sweep_are_a_file(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    exchange(tmp_path / "in" / "out.jsonl", kind)
    with pytest.raises((AlgaError, OSError)):
        sweeps.run("squares:square", [{"x": 1}], tmp_path / "in" / "out.jsonl")


@pytest.mark.parametrize("text", ["a letter", "one line\nand half of one"])
def test_what_is_no_results_of_a_sweep_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    (tmp_path / "letter").write_text(text)
    with pytest.raises(AlgaError, match="letter"):
        sweeps.run("squares:square", [{"x": 1}], tmp_path / "letter")
    assert (tmp_path / "letter").read_text() == text
