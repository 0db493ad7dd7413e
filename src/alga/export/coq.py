"""A network's theorems as a Coq file: for numbers of any length, the loop with its table gives the right answer.

Coq trusts nothing that is written here: it compares every entry of the table with the exact step. docs/proof.md has
the statements; `alga certify --kernel` runs coqc on the file.
"""

from __future__ import annotations

from typing import Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.solve.solver import Solver
from alga.trust.coq.statements import Statement, statements_of

ENTRIES_PER_LIST: Final = 1000  # coqc overflows its stack on lists of some ten thousand


def table_proof(solver: Solver, watch: Watch = unwatched) -> bytes:
    """Return the theorem about a certified network's table."""
    statements = _certified(solver)
    lines = [_head(solver, [each.file for each in statements]), *_table(solver), *_table_theorem(statements)]
    watch(1, 1)
    return "\n".join(lines).encode()


proof = table_proof


def _certified(solver: Solver) -> tuple[Statement, ...]:
    if solver.trained.source:
        raise AlgaError(f"{solver.trained.name} is a task of your own: there is no Coq theorem for it")
    statements = statements_of(solver.trained.name)
    if not solver.certified:
        raise AlgaError(f"a Coq theorem needs a certified network: {solver.run.name} is not (see alga certify)")
    return statements


def _head(solver: Solver, files: list[str]) -> str:
    certificate = solver.run.certificate
    assert certificate is not None
    return f"""(* {solver.trained.name}: {solver.trained.summary}.
   weights  sha256 {solver.run.sha256}
   table    sha256 {certificate.table_sha256}
   Compile with: coqc -Q THEORIES Alga FILE.v, where THEORIES is alga's folder trust/coq/theories, compiled. *)

From Alga Require Import {" ".join(dict.fromkeys(files))}.
"""


def _table(solver: Solver) -> list[str]:
    """Define the table: every prompt with the network's output, in parts."""
    entries = [(prompt, output) for prompt, output in sorted(solver.table.outputs.items()) if output is not None]
    parts = [entries[i : i + ENTRIES_PER_LIST] for i in range(0, len(entries), ENTRIES_PER_LIST)]
    lines = []
    for i, part in enumerate(parts):
        pairs = ";\n".join(f"  ({_quoted(prompt)}, {_quoted(output)})" for prompt, output in part)
        lines.append(f"Definition table_{i} := table_of [\n{pairs}\n]%text.\n")
    return [*lines, f"Definition table := {' ++ '.join(f'table_{i}' for i in range(len(parts)))}.\n"]


def _table_theorem(statements: tuple[Statement, ...]) -> list[str]:
    """State and prove what the table does; each part is one computation by the kernel's virtual machine."""
    lines = []
    for i, each in enumerate(statements):
        lines.append(
            f"Theorem part_{i} : {each.says} (by_table table).\n"
            f"Proof. apply {each.by}. vm_cast_no_check (eq_refl true). Qed.\n"
        )
    says = " /\\ ".join(f"{each.says} (by_table table)" for each in statements)
    proofs = [f"part_{i}" for i in range(len(statements))]
    proof_term = proofs.pop()
    while proofs:
        proof_term = f"(conj {proofs.pop()} {proof_term})"
    return [*lines, *_theorem("kernel_checked_table", says, f"exact {proof_term}")]


def _theorem(name: str, says: str, tactic: str) -> list[str]:
    return [
        f"Theorem {name} : {says}.\nProof. {tactic}. Qed.\n",
        f"Check {name}.\nPrint Assumptions {name}.\n",
    ]


def _quoted(text: str) -> str:
    if not text.isprintable():
        raise AlgaError(f"{text!r} cannot be written as a Coq text")
    return '"' + text.replace('"', '""') + '"'
