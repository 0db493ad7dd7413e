"""A class defined in a cell of a real notebook is trained there, with progress below the cell."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.conftest import ROOT

SETUP = "import alga\nfrom alga.base import progress_bar\nprogress_bar.QUICK_SECONDS = 0.0"  # a bar however quick
TRAIN = 'trained = alga.train(Collatz, "small", steps=60, margin=0.5, check_every=20, out="run")'
LOAD = 'alga.load("run", task=Collatz).network.run.sha256 == trained.network.run.sha256'


def executed(folder: Path, *cells: str) -> list[nbformat.NotebookNode]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return list(notebook.cells)


@pytest.mark.slow
def test_class_in_a_cell_is_trained_with_a_bar(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "own-task.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    *_, training, loading, behind = executed(
        tmp_path, SETUP, code, f"import warnings\nwarnings.simplefilter('ignore')\n{TRAIN}", LOAD, "Collatz.__module__"
    )
    (shown,) = training.outputs  # one line, changed in place
    assert shown.output_type == "display_data"
    last = shown.data["text/plain"]
    assert re.fullmatch(
        r"training collatz: 60 of at most 60, until certified; loss [\d.]+, [\d,]+ wrong, margin [\d.-]+", last
    )
    assert shown.data["text/html"] == f"<code>{last}</code>"
    assert loading.outputs[0].data["text/plain"] == "True"
    assert behind.outputs[0].data["text/plain"] == "'__main__'"
    assert (tmp_path / "run" / "config.json").exists()


def test_bar_has_an_extent_only_if_the_total_is_an_end(tmp_path: Path) -> None:
    show = """
    from IPython.display import display
    from alga.base import progress_bar
    progress_bar.NOTEBOOK_SECONDS = 0.0
    shown = []
    class Handle:
        def update(self, data, raw): shown.append(data["text/html"])
    import IPython.display
    IPython.display.display = lambda data, raw, display_id: shown.append(data["text/html"]) or Handle()
    for until in ("", "certified"):
        with progress_bar.progress("<work>", until=until) as watch:
            watch(1, 4)
            watch(2, 4, "a & b")
    shown
    """
    *_, cell = executed(tmp_path, SETUP, textwrap.dedent(show))
    shown = eval(cell.outputs[0].data["text/plain"])
    assert shown[0].startswith('<progress value="1" max="4"></progress> <code>&lt;work&gt;: 1 of 4')
    assert shown[1].startswith('<progress value="2" max="4"></progress> <code>&lt;work&gt;: 2 of 4')
    assert shown[2].endswith("a &amp; b</code>")
    assert "<progress" not in shown[2]
    assert shown[3] == "<progress></progress> <code>&lt;work&gt;: 1 of at most 4, until certified</code>"
