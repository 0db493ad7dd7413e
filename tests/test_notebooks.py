"""The notebooks run from beginning to end and print what they say; so does the script of interpretability.md."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[1]
SAYS = {
    "tutorial": ("certified for addition of any length", "Final answer: 18843"),
    "inside": ("head 0 of block 0 is set to its mean: 1,886 of 2,300", "75660; sequential, not certified"),
    "smallest": ("59 numbers", "2100 of 2100 answers are those of the network", "19 edges; 2100 of 2100"),
}


def test_every_notebook_is_listed() -> None:
    assert {path.stem for path in (ROOT / "docs").glob("*.ipynb")} == {*SAYS}


@pytest.mark.parametrize("name", SAYS)
def test_committed_notebook_says_it(name: str) -> None:
    notebook = nbformat.read(ROOT / "docs" / f"{name}.ipynb", as_version=4)
    assert all(said in printed(notebook) for said in SAYS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    notebook = nbformat.read(ROOT / "docs" / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert all(said in printed(notebook) for said in SAYS[name])


def printed(notebook: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))


def test_patching_script_writes_what_it_finds(tmp_path: Path) -> None:
    specification = importlib.util.spec_from_file_location("patch_contexts", ROOT / "docs" / "patch_contexts.py")
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "interpretability.md", tmp_path / "docs")
    script.write(tmp_path, ["8", "9", "10"], ["77", "05"])
    record = json.loads((tmp_path / "results" / "patching.json").read_text())
    assert [head["changed"][0][0] for head in record["heads"]] == [0] * 4  # a context patched with itself
    committed = json.loads((ROOT / "results" / "patching.json").read_text())
    assert (record["sha256"], committed["columns"], committed["prompts"]) == (committed["sha256"], 110, 176_000)
    assert "| block 1, head 1 |" in (tmp_path / "docs" / "interpretability.md").read_text()
    page = (ROOT / "docs" / "interpretability.md").read_text()
    assert script.table(committed["heads"], committed["contexts"], committed["columns"]) in page
