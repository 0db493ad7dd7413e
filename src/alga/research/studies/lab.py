"""The lab: runs all studies as sweeps, keeps their records as JSON, and writes docs/lab.md from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Unpack

from alga import runs
from alga.base import figures as drawing
from alga.base import files
from alga.base.errors import AlgaError
from alga.research import figures, markdown, records, sweeps
from alga.research.studies.generations import Generations
from alga.research.studies.information import Information
from alga.research.studies.learning import Learning
from alga.research.studies.rounding import RoundingStudy
from alga.research.studies.share import Share
from alga.research.studies.size import Size
from alga.research.studies.study import Study
from alga.research.studies.unseen import Unseen
from alga.research.studies.whole import WholeStudy

WHAT: Final = "study results"
STUDIES: Final[tuple[Study, ...]] = (
    Learning(), Share(), Information(), Generations(), Size(), Unseen(), RoundingStudy(), WholeStudy(),
)  # fmt: skip


def find(names: Sequence[str]) -> list[Study]:
    """Return the studies of these names, all of them for no names."""
    known = {study.name: study for study in STUDIES}
    for name in names:
        if name not in known:
            raise AlgaError(f"unknown study {name!r}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(STUDIES)


def run(study: Study, folder: Path, results: Path, *, quick: bool = False, **options: Unpack[sweeps.Options]) -> None:
    """Run a study's missing runs in `folder`; write its records to `results`."""
    runs.check_no_run(results)
    path = folder / f"{study.name}.jsonl"
    rows = sweeps.completed(sweeps.run(study.measure, study.plan(quick), path, **options))
    with records.blaming(path, WHAT):
        kept = [study.record(settings, result) for settings, result in rows]
    content = {"study": study.name, "quick": quick, "records": kept}
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, allow_nan=False).replace('{"', '\n{"').replace("\n", "", 1)
    files.write(results / f"{study.name}.json", f"{text}\n".encode())


def report(results: Path, page: Path) -> list[Path]:
    """Write the page and its figures from the records in `results`; return the written paths."""
    runs.check_no_run(page.parent)
    folder = page.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    sections, written = [], [page]
    for study in STUDIES:
        path = results / f"{study.name}.json"
        if not path.exists():
            continue
        figure = folder / f"lab-{study.name}.png"
        content = records.read(path, WHAT)
        with records.blaming(path, WHAT):
            found = list(content["records"])
            quick = "*From a quick run, which only shows that the study works.*" if content["quick"] else ""
            image = f"![{study.title}](figures/{figure.name})"
            values = {"title": study.title, "runs": len(found), "quick": quick, "figure": image}
            sections.append(markdown.page(f"lab-{study.name}", **values, **study.findings(found)))
            drawn = drawing.render(figures.study(study.panels(found), study.caption), figure.suffix)
        files.write(figure, drawn)
        written.append(figure)
    if not sections:
        raise AlgaError(f"{results} has no {WHAT}; run: alga lab study")
    files.write(page, markdown.page("lab", sections="\n".join(sections).rstrip()).encode())
    return written
