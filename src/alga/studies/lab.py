"""The lab: all studies, run as sweeps; their records, kept as JSON; and the page that tells what they say."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from alga import files, plots, sweeps
from alga.errors import AlgaError
from alga.progress import Watch, unwatched
from alga.studies.generations import Generations
from alga.studies.information import Information
from alga.studies.learning import Learning
from alga.studies.rounding import Rounding
from alga.studies.share import Share
from alga.studies.size import Size
from alga.studies.study import Record, Study
from alga.studies.unseen import Unseen

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
    """Return the studies of these names, or all."""
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
    """Run what a study lacks, in `folder`; write its records to `results`."""
    rows = sweeps.run(
        study.measure,
        study.plan(quick),
        folder / f"{study.name}.jsonl",
        cluster=cluster,
        workers=workers,
        watch=watch,
        say=say,
    )
    if failed := [row.error for row in rows if row.result is None]:
        raise AlgaError(f"{len(failed)} runs of the study {study.name} failed, the first with: {failed[0]}")
    records = [study.record(row.settings, row.result) for row in rows if row.result is not None]
    content = {"study": study.name, "quick": quick, "records": records}
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, allow_nan=False).replace('{"', '\n{"').replace("\n", "", 1)
    files.write(results / f"{study.name}.json", f"{text}\n".encode())


def report(results: Path, page: Path) -> list[Path]:
    """Write the page and its figures from the records in `results`; return what was written."""
    figures = page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    sections, written = [], [page]
    for study in STUDIES:
        path = results / f"{study.name}.json"
        if not path.exists():
            continue
        records, quick = _read(path)
        figure = figures / f"lab-{study.name}.png"
        files.write(figure, plots.render(study.figure(records), figure.suffix))
        written.append(figure)
        sections.append(_section(study, records, quick, f"figures/{figure.name}"))
    if not sections:
        raise AlgaError(f"{results} holds no study's results; make them with: alga lab")
    files.write(page, "\n".join([HEAD, *sections]).encode())
    return written


def _read(path: Path) -> tuple[list[Record], bool]:
    try:
        content = json.loads(path.read_text())
        return list(content["records"]), bool(content["quick"])
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise AlgaError(f"{path} holds no study's results ({type(problem).__name__}: {problem})") from None


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
figures and every number in it are written by `alga report` from the records in `results/lab`, which `make lab` makes.
Medians stand with 95 % confidence intervals from order statistics (exact, whatever the distribution), shares with
Wilson's; *never* means that at most half of the runs came there. One thread a run, on a CPU. All certificates are
*checked*: every prompt, on the machine that ran it; a certificate over some of the seeds says nothing of other seeds.
"""
