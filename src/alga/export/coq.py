"""A network's theorems as a Coq file: for numbers of any length, the loop with its table gives the right answer.

For a network of the shape of `smallest`, two more say it of the network itself, in real arithmetic and in float32. Coq
trusts nothing that is written here: it compares every entry of the table with the exact step, reads the weights off the
bytes of the weight file, and compares the network with the table. docs/kernel.md has the statements; `alga certify
--kernel` runs coqc on the file.
"""

from __future__ import annotations

from typing import Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.network.config import ModelConfig
from alga.network.tokens import START
from alga.solve.solver import Solver
from alga.trust.coq.statements import Statement, statements_of

ENTRIES_PER_LIST: Final = 1000  # coqc overflows its stack on lists of some ten thousand

MOST_PARAMETERS: Final = 1000


def table_proof(solver: Solver, watch: Watch = unwatched) -> bytes:
    """Return the theorem about a certified network's table."""
    statements = _certified(solver)
    lines = [_head(solver, [each.file for each in statements]), *_table(solver), *_table_theorem(statements)]
    watch(1, 1)
    return "\n".join(lines).encode()


def proof(solver: Solver, watch: Watch = unwatched) -> bytes:
    """Return the theorem about a certified network's table and, if Coq can read its shape, about the network."""
    statements = _certified(solver)
    if len(statements) > 1 or not statements[0].network or not _readable(solver):
        return table_proof(solver, watch)
    (statement,) = statements
    lines = [_head(solver, [statement.file, statement.network]), *_table(solver), *_table_theorem(statements)]
    lines += _network(solver)
    for name, kind in {"kernel_checked_network": "network", "kernel_checked_float32": "network32"}.items():
        by = f"apply {kind}_{statement.by}. vm_cast_no_check (eq_refl true)"
        lines += _theorem(name, f"{kind}_{statement.says} letters network table", by)
    watch(1, 1)
    return "\n".join(lines).encode()


def _readable(solver: Solver) -> bool:
    """Return whether the network has the architecture of theories/Network.v, and few enough weights to write out."""
    config = solver.run.config.model
    if not isinstance(config, ModelConfig):
        return False
    plain = config.tied and not config.out and not config.shared_keys
    bare = (config.norms, config.biases) == ("none", "hidden")
    one = (config.layers, config.heads, config.query_width or config.width) == (1, 1, 1)
    return plain and bare and one and config.positions != "" and config.parameters <= MOST_PARAMETERS


def _network(solver: Solver) -> list[str]:
    """Define the network: the bytes of its weight file, where positions have their rows, and its tokens."""
    config, tokens = solver.run.config.model, solver.run.config.step_tokens
    assert isinstance(config, ModelConfig)
    characters = " ++ ".join("[x0a]" if token == START else f"(text! {_quoted(token)})" for token in tokens.vocabulary)
    return [
        f'Definition file : text := unhex (text! "{solver.run.weights.data.hex()}").\n',
        f"Definition network : weights Z := weights_in (rows_of (text! {_quoted(config.positions)})) file.\n",
        f"Definition letters : alphabet := {{|\n  vocabulary := {characters};\n  start := {tokens.ids[START]};\n"
        f"  input_length := {tokens.input_length};\n  output_length := {tokens.output_length}\n|}}.\n",
    ]


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
