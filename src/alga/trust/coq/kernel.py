"""Run coqc on an exported file, beside the development that it needs, in a temporary folder.

Nothing compiled is kept: the development is a few seconds' work for a table, and an old file cannot be mistaken for a
new one.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.trust.coq.record import FLOAT32, NETWORK, TABLE, KernelCheck, Theorem

THEORIES: Final = Path(__file__).parent / "theories"
NAMES: Final = {  # the theorems of an exported file
    "kernel_checked_table": TABLE,
    "kernel_checked_network": NETWORK,
    "kernel_checked_float32": FLOAT32,
}
INSTALL: Final = "apt-get install coq libcoq-interval libcoq-flocq libcoq-coquelicot"
_REQUIRED = re.compile(r"^From Alga Require (?:Export|Import) ([\w ]+)\.", re.MULTILINE)
_THEOREM = re.compile(r"^(?=kernel_checked_\w+\s+: )", re.MULTILINE)  # where what coqc prints of a theorem begins
_PRINTED = re.compile(r"(\w+)\s+: (.+?)\n(Closed under the global context|Axioms:\n.+)", re.DOTALL)
MESSAGE_LINES: Final = 6
NETWORK_TAKES: Final = 250  # times as long as an average file of the development


def coqc() -> str:
    """Return the path of coqc, or say how to get it."""
    found = shutil.which("coqc")
    if found is None:
        raise AlgaError(f"a kernel's check needs coqc, which is not here (on Debian: {INSTALL})")
    return found


def version() -> str:
    """Return coqc's version."""
    done = subprocess.run([coqc(), "--print-version"], capture_output=True, text=True, check=False)
    return (done.stdout.split() or ["unknown"])[0]


def development() -> str:
    """Return the hash of the development: every file's name and content, in order of name."""
    digest = hashlib.sha256()
    for path in sorted(THEORIES.glob("*.v")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def required(source: str) -> list[str]:
    """Return the files of the development that a file needs, each after those it needs itself.

    >>> required("From Alga Require Import Parity.")
    ['Texts', 'Walk', 'Rows', 'Parity']
    """
    found: dict[str, None] = {}
    for names in _REQUIRED.findall(source):
        for name in names.split():
            found |= dict.fromkeys(required((THEORIES / f"{name}.v").read_text()))
            found[name] = None
    return list(found)


def build(folder: Path, files: list[str], watch: Watch = unwatched, total: int = 0) -> None:
    """Compile files of the development in a folder."""
    for i, name in enumerate(files):
        watch(i, total or len(files))
        shutil.copy(THEORIES / f"{name}.v", folder)
        _run(folder, f"{name}.v")


def check(source: str, watch: Watch = unwatched, built: Path | None = None) -> KernelCheck:
    """Have the kernel check an exported file; return what it printed, or raise with Coq's own message.

    `built` is a folder in which the development is compiled already.
    """
    began, files = time.monotonic(), required(source)
    total = len(files) + (NETWORK_TAKES if "kernel_checked_network" in source else 1)
    coq = version()
    with tempfile.TemporaryDirectory(prefix="alga-coq-") as name:
        folder = built or Path(name)
        if built is None:
            build(folder, files, watch, total)
        watch(len(files), total)
        file = Path(name) / "exported.v"
        file.write_text(source)
        printed = _run(folder, str(file))
    watch(total, total)
    return KernelCheck(
        coq=coq,
        development=development(),
        seconds=round(time.monotonic() - began, 1),
        theorems=theorems_in(printed),
    )


def theorems_in(printed: str) -> tuple[Theorem, ...]:
    r"""Return the theorems that coqc printed, with the axioms that `Print Assumptions` lists.

    >>> theorems_in("kernel_checked_table\n     : compares 2 (by_table table)\nClosed under the global context\n")
    (Theorem(subject='table', statement='compares 2 (by_table table)', axioms=()),)
    """
    found = []
    for part in _THEOREM.split(printed)[1:]:
        said = _PRINTED.match(part)
        if said is None:
            raise AlgaError("coqc accepted a theorem, but its axioms were not printed")
        name, statement, assumptions = said.groups()
        axioms = re.findall(r"^([A-Za-z_][\w.']*)(?:\s:|$)", assumptions.partition("Axioms:\n")[2], re.MULTILINE)
        with_spaces = " ".join(statement.split())
        try:
            found.append(Theorem(NAMES[name], with_spaces, tuple(sorted(axioms))))
        except (KeyError, ValueError) as problem:
            raise AlgaError(f"coqc accepted a theorem that does not count: {problem}") from None
    if not found:
        raise AlgaError("coqc accepted the file, but printed no theorem of it")
    return tuple(found)


def _run(folder: Path, file: str) -> str:
    """Compile a file; `-q` reads no one's start-up file."""
    command = [coqc(), "-q", "-Q", ".", "Alga", file]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()][-MESSAGE_LINES:]
        raise AlgaError(f"coqc rejects {Path(file).name}: {' '.join(' '.join(lines).split())[:400]}")
    return done.stdout
