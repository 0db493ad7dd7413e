"""The lab: runs all studies as sweeps, keeps their records as JSON, and writes docs/lab.md from them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from alga import runs
from alga.base import figures as drawing
from alga.base import files
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.research import records, sweeps
from alga.research.studies.generations import Generations
from alga.research.studies.information import Information
from alga.research.studies.learning import Learning
from alga.research.studies.rounding import Rounding
from alga.research.studies.share import Share
from alga.research.studies.size import Size
from alga.research.studies.study import Study
from alga.research.studies.unseen import Unseen

WHAT: Final = "study's results"
STUDIES: Final[tuple[Study, ...]] = (
    Learning(),
    Share(),
    Information(),
    Generations(),
    Size(),
    Unseen(),
    Rounding(),
)


def find(names: Sequence[str]) -> list[Study]:
    """Return the studies of these names, all if there are none."""
    known = {study.name: study for study in STUDIES}
    for name in names:
        if name not in known:
            raise AlgaError(f"unknown study {name!r}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(STUDIES)


def run(
    study: Study,
    folder: Path,
    results: Path,
    *,
    quick: bool = False,
    cluster: str | None = None,
    workers: int | None = None,
    watch: Watch = unwatched,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a study's missing runs in `folder`; write its records to `results`."""
    runs.check_no_run(results)
    path = folder / f"{study.name}.jsonl"
    rows = sweeps.run(
        study.measure,
        study.plan(quick),
        path,
        cluster=cluster,
        workers=workers,
        watch=watch,
        say=say,
    )
    if failed := [row.error for row in rows if row.result is None]:
        raise AlgaError(f"{len(failed)} runs of the study {study.name} failed, the first with: {failed[0]}")
    with records.telling(path, "results of this study's runs"):
        kept = [study.record(row.settings, row.result) for row in rows if row.result is not None]
    content = {"study": study.name, "quick": quick, "records": kept}
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, allow_nan=False).replace('{"', '\n{"').replace("\n", "", 1)
    files.write(results / f"{study.name}.json", f"{text}\n".encode())


def report(results: Path, page: Path) -> list[Path]:
    """Write the page and its figures from the records in `results`; return the written paths."""
    runs.check_no_run(page.parent)
    figures = page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    sections, written = [], [page]
    for study in STUDIES:
        path = results / f"{study.name}.json"
        if not path.exists():
            continue
        figure = figures / f"lab-{study.name}.png"
        content = records.read(path, WHAT)
        with records.telling(path, WHAT):
            found, quick = list(content["records"]), bool(content["quick"])
            sections.append(_section(study, found, quick, f"figures/{figure.name}"))
            drawn = drawing.render(study.figure(found), figure.suffix)
        files.write(figure, drawn)
        written.append(figure)
    if not sections:
        raise AlgaError(f"{results} holds no study's results; make them with: alga lab study")
    files.write(page, "\n".join([HEAD, *sections]).encode())
    return written


def _section(study: Study, records: Sequence[dict[str, Any]], quick: bool, figure: str) -> str:
    findings = study.findings(records)
    lines = [f"## {study.title}", ""]
    if quick:
        lines += ["*From a quick run, which shows that the study works, and no more.*", ""]
    lines += [_wrapped("Question", study.question), "", _wrapped("Method", f"{study.method} {len(records)} runs."), ""]
    lines += [f"![{study.title}]({figure})", "", _wrapped("Answer", findings.answer), ""]
    for head, *rows in findings.tables:
        lines += [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join([*lines, _wrapped("What did not work", findings.failed), ""])


def _wrapped(head: str, text: str) -> str:
    return textwrap.fill(f"**{head}.** {text}", 120, break_long_words=False, break_on_hyphens=False)


HEAD: Final = """# The lab

The paper ends with questions; here each is a measurement: *iterations until certified*, over seeds. This page, its
figures and every number in it are written by `alga lab report` from the records in `results/lab`, which `make lab`
makes. Medians stand with 95 % confidence intervals from order statistics (exact, whatever the distribution), shares
with Wilson's; *never* means that at most half of the runs came there. One thread a run, on a CPU. All certificates are
*checked*: every prompt, on the machine that ran it; a certificate over some of the seeds says nothing of other seeds.
"""
