"""The exported Coq file: what it holds, and which networks have none. tests/trust/test_kernel.py runs coqc on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.export import FORMATS, coq
from alga.solve.solver import Solver
from alga.trust.coq.statements import statements_of
from tests.conftest import Alga

WITHOUT = {"smallest-whole", "whole", "whole-base-16", "whole-of-three"}


def test_exported_file_has_every_entry_of_the_table() -> None:
    solver = Solver.load("parity")
    text = FORMATS["proof"](solver, lambda done, total: None).decode()
    assert dict(re.findall(r'\("([^"]*)", "([^"]*)"\)', text)) == dict(solver.table.outputs)
    assert solver.run.sha256 in text
    assert solver.table.sha256 in text
    assert text.endswith("Print Assumptions kernel_checked_table.\n")


def test_exported_file_is_the_same_every_time() -> None:
    assert coq.proof(Solver.load("parity")) == coq.proof(Solver.load("parity"))


def test_long_tables_are_written_in_parts() -> None:
    text = coq.table_proof(Solver.load("addition")).decode()
    assert "Definition table := table_0 ++ table_1 ++ table_2." in text
    assert len(re.findall(r'^  \("', text, re.MULTILINE)) == 2300


def test_every_shipped_network_has_a_theorem_except_these() -> None:
    def has_one(name: str) -> bool:
        try:
            return bool(statements_of(runs.load(name).config.task.name))
        except AlgaError:
            return False

    assert {name for name in runs.shipped() if not has_one(name)} == WITHOUT


def test_theorem_is_in_the_tasks_base() -> None:
    for base in (2, 8, 16, 36):
        (statement,) = statements_of(tasks.in_base("subtraction", base))
        assert statement.says == f"subtracts {base} []"


def test_task_without_a_theorem_is_refused() -> None:
    with pytest.raises(AlgaError, match="there is no Coq theorem for addition-one-token"):
        statements_of("addition-one-token")


def test_uncertified_network_is_refused(parity: Path, alga: Alga, tmp_path: Path) -> None:
    for name in ("certificate.json", "table.json"):
        (parity / name).unlink()
    runs.checksums.seal(parity)
    done = alga("export", parity, tmp_path / "proof.v")
    assert (done.code, done.out) == (2, "") or done.code == 1
    assert "a Coq theorem needs a certified network" in done.err
    assert not (tmp_path / "proof.v").exists()


def test_command_writes_the_file(alga: Alga, tmp_path: Path) -> None:
    out = tmp_path / "proof.v"
    done = alga("export", "parity", out)
    assert (done.code, done.err) == (0, "")
    assert out.read_bytes() == coq.proof(Solver.load("parity"))


def test_text_that_could_end_a_quotation_is_escaped() -> None:
    assert coq._quoted('a"b') == '"a""b"'
    with pytest.raises(AlgaError, match="cannot be written"):
        coq._quoted("a\nb")
