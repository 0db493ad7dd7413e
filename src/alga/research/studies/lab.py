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
from alga.research import figures, records, sweeps
from alga.research.markdown import joined, table, wrapped
from alga.research.studies.generations import Generations
from alga.research.studies.information import Information
from alga.research.studies.learning import Learning
from alga.research.studies.rounding import Rounding
from alga.research.studies.share import Share
from alga.research.studies.size import Size
from alga.research.studies.study import Record, Study
from alga.research.studies.unseen import Unseen

WHAT: Final = "study results"
STUDIES: Final[tuple[Study, ...]] = (
    Learning(), Share(), Information(), Generations(), Size(), Unseen(), Rounding(),
)  # fmt: skip
INTRODUCTION: Final = (
    "The paper ends with open questions; here each becomes a measurement: *iterations until certified*, over seeds. "
    "`alga lab report` writes this page, its figures and every number in it from the records in `results/lab`, which "
    "`make lab` produces. Medians have 95 % confidence intervals from order statistics (exact for any distribution), "
    "shares have Wilson's; *never* means that at least half of the runs were not certified. Each run used one CPU "
    "thread. All certificates are *checked*: every prompt, on the machine that ran it. A certificate holds for its "
    "own seed only."
)


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
            sections += _section(study, found, bool(content["quick"]), f"figures/{figure.name}")
            drawn = drawing.render(figures.study(study.panels(found), study.caption), figure.suffix)
        files.write(figure, drawn)
        written.append(figure)
    if not sections:
        raise AlgaError(f"{results} has no {WHAT}; run: alga lab study")
    files.write(page, joined("# The lab", wrapped(INTRODUCTION), *sections).encode())
    return written


def _section(study: Study, records: Sequence[Record], quick: bool, figure: str) -> list[str]:
    findings = study.findings(records)
    return [
        f"## {study.title}",
        "*From a quick run, which only shows that the study works.*" if quick else "",
        wrapped(f"**Question.** {study.question}"),
        wrapped(f"**Method.** {study.method} {len(records)} runs."),
        f"![{study.title}]({figure})",
        wrapped(f"**Answer.** {findings.answer}"),
        *(table(*rows) for rows in findings.tables),
        wrapped(f"**What did not work.** {findings.failed}"),
    ]
