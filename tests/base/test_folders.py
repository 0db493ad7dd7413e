"""Untrusted run folders: links are not followed, and only regular files are read or written, by every verb."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.base.folders import UNFINISHED
from alga.runs import checksums
from alga.training.trainer import Training
from tests.base.special_files import KINDS, exchange
from tests.conftest import Alga, tiny

CHECKPOINT = "checkpoint.safetensors"
STATE = (*checksums.SEALED, checksums.CHECKSUMS)
TRAINED = (CHECKPOINT, "curves.png", "curves.svg")


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped midway."""
    folder = tmp_path_factory.mktemp("unfinished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alga.training.metrics.draw", lambda folder, title: None)
        training = Training.start(folder, tiny(), seed=5, threads=1)
        list(training.run(should_stop=lambda: training.step >= 10))
    return folder


@pytest.fixture
def run(unfinished: Path, parity: Path) -> Path:
    """A stopped run with every possible file, including a certificate copied from another run."""
    folder = Path(shutil.copytree(unfinished, parity.parent / "run"))
    for name in ("certificate.json", "table.json"):
        shutil.copy(parity / name, folder)
    for name in TRAINED[1:]:
        (folder / name).write_bytes(b"drawn")
    return folder


@pytest.fixture(params=["relative to the folder", "by paths"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening files; Windows lacks the first, and gives the same guarantees."""
    monkeypatch.setattr("alga.base.folders.HAS_DIR_FD", request.param == "relative to the folder")
    return str(request.param)


def content(folder: Path) -> dict[str, bytes | str]:
    return {
        path.name: str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*STATE, *TRAINED, ".lock"])
def test_resuming_in_a_folder_with_special_files_writes_nothing(
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
def test_certifying_in_a_folder_with_special_files_writes_nothing(
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
def test_network_is_read_from_regular_files_only(parity: Path, name: str, kind: str, way: str) -> None:
    exchange(parity / name, kind)
    with pytest.raises(AlgaError, match=name):
        runs.load(parity)


def test_link_named_like_a_temporary_file_is_not_followed(parity: Path, alga: Alga, way: str) -> None:
    """Writers remove abandoned temporary files; a planted link with such a name is not followed."""
    outside = parity.parent / "outside"
    outside.write_bytes(b"precious")
    for name in STATE:
        (parity / f".{name}.0{UNFINISHED}").symlink_to(outside)
    assert alga("certify", parity, "--save").code == 0
    assert outside.read_bytes() == b"precious"


def test_link_to_a_run_folder_is_followed(parity: Path, alga: Alga, way: str) -> None:
    link = parity.parent / "link"
    link.symlink_to(parity)
    assert alga("certify", link, "--save").code == 0
    assert runs.load(link).certified
