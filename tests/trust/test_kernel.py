"""Coq's kernel on exported files: it accepts the shipped tables, and rejects every one that is wrong."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.export import coq
from alga.runs import checksums
from alga.solve.solver import Solver
from alga.trust.certificate import Certificate
from alga.trust.coq import kernel
from alga.trust.coq.record import FLOAT32, NETWORK, TABLE, KernelCheck, Theorem
from tests.conftest import Alga, program

PRINTED = "kernel_checked_table\n     : compares 2 (by_table table)\n"
TABLES = {
    "addition-base-2": "adds 2 2 [] [] (by_table table)",
    "smallest": "adds 10 2 [zero] [] (by_table table)",
    "subtraction-base-2": "subtracts 2 [] (by_table table)",
    "comparison-base-2": "compares 2 (by_table table)",
    "times-a-digit-base-2": "multiplies 2 [] (by_table table)",
    "division-by-a-digit-base-2": "divides 2 (by_table table)",
    "xor-base-2": "computes_bits Xor 2 (by_table table)",
    "addition-lookahead": "adds_ahead (by_table table)",
    "parity": "finds_parity (by_table table)",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The development's part about tables, compiled."""
    program("coqc", "coq")
    folder = tmp_path_factory.mktemp("theories")
    sources = [coq.table_proof(Solver.load(name)).decode() for name in TABLES]
    kernel.build(folder, list(dict.fromkeys(file for source in sources for file in kernel.required(source))))
    return folder


def table_of(name: str) -> str:
    return coq.table_proof(Solver.load(name)).decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_table_is_kernel_checked_without_axioms(built: Path, name: str) -> None:
    found = kernel.check(table_of(name), built=built)
    assert found.theorems == (Theorem(TABLE, TABLES[name], ()),)
    assert found.coq == kernel.version()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('("10C11", "11")', '("10C11", "10")'),  # a wrong entry
        ('  ("10C11", "11");\n', ""),  # a missing one
        ('("10C11", "11")', '("10C11", "011")'),  # the right value with a leading zero
        ('("00", "0")', '("00", "")'),  # no output
        ("adds 2 2 [] []", "adds 3 2 [] []"),  # the table of another base
        ("adds 2 2 [] []", "adds 2 3 [] []"),  # or of three numbers, which base 2 has no theorem for
    ],
)
def test_wrong_table_is_rejected(built: Path, before: str, after: str) -> None:
    source = table_of("addition-base-2")
    assert before in source
    with pytest.raises(AlgaError, match=r"coqc rejects exported.v"):
        kernel.check(source.replace(before, after), built=built)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"), [('("pg", "g")', '("pg", "p")'), ('  ("g", "1");\n', ""), ('("g77", "5")', '("g77", "4")')]
)
def test_wrong_lookahead_is_rejected(built: Path, before: str, after: str) -> None:
    source = table_of("addition-lookahead")
    assert before in source
    with pytest.raises(AlgaError, match=r"coqc rejects exported.v"):
        kernel.check(source.replace(before, after), built=built)


@pytest.mark.slow
def test_table_of_the_other_column_convention_is_rejected(built: Path) -> None:
    with pytest.raises(AlgaError, match=r"coqc rejects exported.v"):  # it has no columns of one digit
        kernel.check(table_of("smallest").replace("adds 10 2 [zero] []", "adds 10 2 [] []"), built=built)


@pytest.mark.slow
def test_proof_that_assumes_something_does_not_count(built: Path) -> None:
    source = table_of("parity").replace("Theorem part_0", "Axiom trust_me : False.\nTheorem part_0")
    cheat = source.replace("apply table_finds_parity. vm_cast_no_check (eq_refl true).", "destruct trust_me.")
    with pytest.raises(AlgaError, match="does not count: the theorem about the table rests on trust_me"):
        kernel.check(cheat, built=built)
    with pytest.raises(AlgaError, match="coqc rejects"):  # a proof that is not finished cannot end with Qed
        kernel.check(source.replace("vm_cast_no_check (eq_refl true).", ""), built=built)


@pytest.mark.slow
def test_command_records_what_was_checked(parity: Path, alga: Alga) -> None:
    program("coqc", "coq")
    done = alga("certify", parity, "--kernel", "--save")
    assert done.code == 0
    assert "kernel-checked table: finds_parity (by_table table)\n  axioms: none\n  by Coq" in done.out
    saved = Certificate.from_json((parity / "certificate.json").read_text())
    assert saved.kernel is not None
    assert saved.kernel.theorems == (Theorem(TABLE, TABLES["parity"], ()),)
    assert saved.strength == "proven"  # a table's theorem is no strength of the network
    assert Solver.load(parity).certified


def test_without_coqc_the_command_says_how_to_get_it(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.shutil, "which", lambda name: None)
    done = alga("certify", "parity", "--kernel")
    assert done.code != 0
    assert "needs coqc, which is not here (on Debian: apt-get install coq" in done.err


def test_files_are_compiled_after_those_they_need() -> None:
    files = kernel.required("From Alga Require Import Digitwise.")
    assert files == ["Texts", "Walk", "Rows", "Carrying", "Digitwise"]


def test_axioms_are_read_off_what_coq_prints() -> None:
    axioms = "Axioms:\nClassical_Prop.classic : forall P : Prop, P \\/ ~ P\nClassicalDedekindReals.sig_not_dec\n  : x\n"
    (found,) = kernel.theorems_in("kernel_checked_network\n     : writes\n       sums\n" + axioms)
    assert found.subject == NETWORK
    assert found.statement == "writes sums"
    assert found.axioms == ("ClassicalDedekindReals.sig_not_dec", "Classical_Prop.classic")


def test_theorems_printed_one_after_the_other_are_told_apart() -> None:
    axioms = "Axioms:\nClassical_Prop.classic : forall P : Prop, P \\/ ~ P\nClassicalDedekindReals.sig_not_dec\n  : x\n"
    first = "kernel_checked_table\n     : adds x\nClosed under the global context\n"
    others = (f"kernel_checked_{name}\n     : {name}_adds\n       x\n{axioms}" for name in ("network", "float32"))
    found = kernel.theorems_in(first + "".join(others))
    assert [each.subject for each in found] == [TABLE, NETWORK, FLOAT32]
    assert [len(each.axioms) for each in found] == [0, 2, 2]
    with pytest.raises(AlgaError, match="axioms were not printed"):
        kernel.theorems_in("kernel_checked_table\n     : adds x\n")


@pytest.mark.parametrize("axioms", ["classic : x", "Other.assumed\n  : x", "A.b' : x"])
def test_table_with_an_axiom_is_refused(axioms: str) -> None:
    with pytest.raises(AlgaError, match="does not count"):
        kernel.theorems_in(f"{PRINTED}Axioms:\n{axioms}\n")


def test_unknown_theorem_and_none_are_refused() -> None:
    with pytest.raises(AlgaError, match="does not count"):
        kernel.theorems_in(PRINTED.replace("_table", "_other", 1) + "Closed under the global context\n")
    with pytest.raises(AlgaError, match="printed no theorem"):
        kernel.theorems_in("")


def checked(**changes: object) -> dict[str, object]:
    theorem = {"subject": TABLE, "statement": "finds_parity (by_table table)", "axioms": []}
    return {"coq": "8.16.1", "development": "ab", "seconds": 1.0, "theorems": [theorem], **changes}


def test_certificate_keeps_a_kernels_check() -> None:
    stated = json.loads(Certificate.to_json(Solver.load("parity").run.certificate)) | {"kernel": checked()}
    found = Certificate.from_json(json.dumps(stated))
    assert found.kernel == KernelCheck.of(checked())
    assert json.loads(found.to_json())["kernel"] == checked()


@pytest.mark.parametrize(
    "kernel_check",
    [
        checked(theorems=[]),
        checked(coq=8),
        checked(theorems=[{"subject": "everything", "statement": "s", "axioms": []}]),
        checked(theorems=[{"subject": TABLE, "statement": "", "axioms": []}]),
        checked(theorems=[{"subject": TABLE, "statement": "s", "axioms": ["trust_me"]}]),
        checked(theorems=[{"subject": NETWORK, "statement": "s", "axioms": ["trust_me"]}]),
        checked(more=1),
    ],
)
def test_malformed_kernels_check_is_refused(kernel_check: object) -> None:
    stated = json.loads(Certificate.to_json(Solver.load("parity").run.certificate)) | {"kernel": kernel_check}
    with pytest.raises(AlgaError, match="expected a certificate"):
        Certificate.from_json(json.dumps(stated))


def test_uncertified_network_is_never_kernel_checked() -> None:
    stated = json.loads(Certificate.to_json(Solver.load("parity").run.certificate)) | {"kernel": checked()}
    with pytest.raises(AlgaError, match="kernel-checked without being certified"):
        Certificate.from_json(json.dumps(stated | {"certified": False, "strength": "sampled"}))


def theorem(subject: str, statement: str) -> dict[str, object]:
    return {"subject": subject, "statement": statement, "axioms": []}


def test_only_a_theorem_about_the_network_in_its_arithmetic_is_a_strength() -> None:
    proven = Solver.load("smallest").run.certificate
    assert proven is not None
    base = dataclasses.replace(proven, strength="proven", kernel=None)
    for subjects, strength in {
        (TABLE,): "proven",
        (TABLE, NETWORK): "proven",
        (TABLE, NETWORK, FLOAT32): "kernel-checked",
    }.items():
        found = base.with_kernel(KernelCheck.of(checked(theorems=[theorem(each, "s") for each in subjects])))
        assert found.strength == strength
        assert ("kernel-checked in float32" in found.statement) is (strength == "kernel-checked")
    unproven = dataclasses.replace(base, strength="checked", proof=None)
    assert unproven.with_kernel(KernelCheck.of(checked(theorems=[theorem(FLOAT32, "s")]))).strength == "checked"


@pytest.mark.parametrize("subjects", [(TABLE,), (TABLE, NETWORK)])
def test_strength_is_refused_without_its_theorem(subjects: tuple[str, ...]) -> None:
    stated = json.loads(Certificate.to_json(Solver.load("smallest").run.certificate)) | {"strength": "kernel-checked"}
    stated["kernel"] = checked(theorems=[theorem(each, "s") for each in subjects])
    with pytest.raises(AlgaError, match="without a theorem about the network in float32"):
        Certificate.from_json(json.dumps(stated))
    del stated["kernel"]
    with pytest.raises(AlgaError, match="without a theorem about the network in float32"):
        Certificate.from_json(json.dumps(stated))


@pytest.mark.parametrize(
    "statement", ["adds 10 2 [zero] [] (by_table table)", "finds_parity\x1b[2J", "finds_parity x" * 99]
)
def test_folder_whose_theorem_is_about_something_else_is_refused(tmp_path: Path, statement: str) -> None:
    folder = tmp_path / "parity"
    shutil.copytree(runs.SHIPPED / "parity", folder)
    file = folder / "certificate.json"
    stated = json.loads(file.read_text()) | {"kernel": checked(theorems=[theorem(TABLE, statement)])}
    file.write_text(json.dumps(stated))
    checksums.seal(folder)
    with pytest.raises(AlgaError, match="other words or numbers"):
        runs.load(folder)
    stated["kernel"] = checked()
    file.write_text(json.dumps(stated))
    checksums.seal(folder)
    assert runs.load(folder).certified


def test_shipped_checks_are_of_this_development() -> None:
    checks = {name: runs.load(name).certificate for name in runs.shipped()}
    found = {name: each.kernel for name, each in checks.items() if each is not None and each.kernel is not None}
    assert {name: len(each.theorems) for name, each in found.items()} == {"addition": 1, "smallest": 3}
    assert {each.development for each in found.values()} == {kernel.development()}
