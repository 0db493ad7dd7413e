"""A run folder's certificate and table: they must match each other and the weights."""

from __future__ import annotations

import math
import re
from typing import Final

from alga.base.errors import AlgaError, Naming
from alga.runs.checksums import Snapshot
from alga.runs.config import Config
from alga.runs.run import Run
from alga.trust.certificate import MAX_CERTIFICATE_BYTES, Certificate
from alga.trust.table import UNCERTAIN, Table

ARITHMETIC: Final = re.compile(r"[a-z][a-z0-9]{0,15}")
LONGEST_WORD: Final = 200  # characters of each text that describes the machine
LARGEST_MARGIN: Final = 1e9
STRENGTHS: Final = ("checked", "proven")  # of the certificates that a folder may hold


def certificate_and_table(snapshot: Snapshot, run: Run) -> tuple[Certificate, Table]:
    """Return the certificate and the table of a run; refuse those that claim more than they show."""
    folder, task = snapshot.folder.path, run.config.task
    entry = 6 * run.config.tokens.longest_entry + 16  # bytes, every character escaped
    most = entry * len(task.domain) + 1024
    try:
        with Naming(folder / "certificate.json"):
            text = snapshot.read("certificate.json", MAX_CERTIFICATE_BYTES).decode(errors="replace")
            certificate = Certificate.from_json(text)
        with Naming(folder / "table.json"):
            table = Table.from_json(snapshot.read("table.json", most).decode(errors="replace"))
    except FileNotFoundError:
        raise AlgaError(f"{folder} has a certificate but no table.json") from None
    if not _ours(certificate, run.config):
        raise AlgaError(f"{folder}: the certificate has other words or numbers than this package writes")
    if certificate.sha256 != run.sha256:
        _ = run.weights.arrays  # if they are damaged, that is the better message
        stated, actual = f"{certificate.sha256[:12]}…", f"{run.sha256[:12]}…"
        raise AlgaError(f"{folder}: the certificate is for other weights ({stated}) than the folder's ({actual})")
    margin = certificate.least_margin
    if not certificate.certified or certificate.strength not in STRENGTHS:
        raise AlgaError(f"{folder}: the certificate does not say that the network was checked and found right")
    if run.config.model.needs_bound and certificate.strength != "proven":
        raise AlgaError(f"{folder}: the certificate bounds nothing outside its prompts, and this network sees more")
    if not isinstance(margin, float) or not UNCERTAIN < margin < math.inf:
        raise AlgaError(f"{folder}: the certificate states no margin that decides, but {margin!r}")
    if certificate.task != task.name or certificate.prompts != len(task.domain):
        raise AlgaError(f"{folder}: the certificate is not for the {len(task.domain):,} prompts of {task.name}")
    if certificate.table_sha256 != table.sha256:
        raise AlgaError(f"{folder}: the certificate is for another table.json")
    if table.task != task.name or table.uncertain or table.broken or table.outputs.keys() != task.domain.keys():
        raise AlgaError(f"{folder}: table.json is not a certified network's answers to the prompts of {task.name}")
    wrong = [prompt for prompt, instance in task.domain.items() if table.outputs[prompt] != instance.output]
    if wrong:
        raise AlgaError(f"{folder}: certified, but its table is wrong on {len(wrong):,} prompts, {wrong[0]!r} first")
    return certificate, table


def _ours(certificate: Certificate, config: Config) -> bool:
    """Return whether all words and numbers are of the kind that we write: they are printed and copied into a card."""
    bounds = certificate.proof.bounds if certificate.proof is not None else ()
    prompts = (certificate.least_margin_prompt, *(bound.prompt for bound in bounds))
    names = (certificate.dtype, *(bound.arithmetic for bound in bounds))
    values = (str(value) if type(value) is int else value for value in certificate.machine.values())
    texts = [*certificate.machine, *values]
    texts += [certificate.proof.assumptions] if certificate.proof is not None else []
    return (
        all(isinstance(prompt, str) and prompt in config.task.domain for prompt in prompts)
        and all(isinstance(name, str) and ARITHMETIC.fullmatch(name) for name in names)
        and all(isinstance(text, str) and text.isprintable() and len(text) <= LONGEST_WORD for text in texts)
        and all(type(size) is int and size > 0 for size in certificate.batch_sizes)
        and all(bound.margin is None or bound.margin < LARGEST_MARGIN for bound in bounds)
        and certificate.parameters == config.model.parameters
    )
