"""Coq's kernel on a network: read off its bytes, accepted on its own table, rejected once a weight is wrong.

The whole of `smallest` takes minutes (`make coq`); here a few prompts are decoded in Coq.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from alga.base.errors import AlgaError
from alga.export import coq
from alga.runs import SHIPPED
from alga.solve.solver import Solver
from alga.trust.coq import kernel
from alga.trust.coq.record import FLOAT32, NETWORK, REAL_AXIOMS, TABLE
from tests.conftest import program

PROMPTS = ("81", "9C97", "18C06")  # one token, the least margin, two tokens
THEOREM = """
Theorem kernel_checked_{0} : forall p o, In (p, o) table -> forall t, writes{1} letters network p t <-> t = o.
Proof. apply writes_table{1}. vm_cast_no_check (eq_refl true). Qed.
Check kernel_checked_{0}.
Print Assumptions kernel_checked_{0}.
"""
REAL, ROUNDED = THEOREM.format("network", ""), THEOREM.format("float32", "32")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The development's part about networks, compiled."""
    program("coqc", "coq")
    folder = tmp_path_factory.mktemp("theories")
    kernel.build(folder, kernel.required("From Alga Require Import Greedy32."))
    return folder


@pytest.fixture(scope="module")
def exported() -> str:
    return coq.proof(Solver.load("smallest")).decode()


def on_prompts(exported: str, outputs: dict[str, str], file: bytes | None = None, theorem: str = REAL) -> str:
    """Return the exported network with a theorem about a few entries only, and another weight file if given."""
    network = exported[exported.index("Definition file") : exported.index("Theorem kernel_checked_network")]
    if file is not None:
        network = re.sub(r'unhex \(text! "[0-9a-f]+"\)', f'unhex (text! "{file.hex()}")', network)
    entries = "; ".join(f'("{prompt}", "{output}")' for prompt, output in outputs.items())
    table = f"Definition table := table_of [{entries}]%text.\n"
    return f"From Alga Require Import Greedy32.\n{table}{network}{theorem}"


def right(*prompts: str) -> dict[str, str]:
    outputs = Solver.load("smallest").table.outputs
    return {prompt: str(outputs[prompt]) for prompt in prompts}


def bytes_of_smallest() -> bytes:
    return (SHIPPED / "smallest" / "model.safetensors").read_bytes()


def embedding_at(file: bytes, token: int) -> int:
    """Return where a token's embedding of two float32 begins: the tensor is the last of the file."""
    return len(file) - (14 - token) * 8


def test_exported_bytes_are_those_of_the_certificate(exported: str) -> None:
    (written,) = re.findall(r'unhex \(text! "([0-9a-f]+)"\)', exported)
    solver = Solver.load("smallest")
    assert bytes.fromhex(written) == bytes_of_smallest()
    assert solver.run.certificate is not None
    assert hashlib.sha256(bytes.fromhex(written)).hexdigest() == solver.run.certificate.sha256


def test_exported_network_has_the_settings_of_its_configuration(exported: str) -> None:
    assert 'weights_in (rows_of (text! "..011123")) file' in exported
    assert "start := 12;\n  input_length := 5;\n  output_length := 3\n" in exported
    assert "Theorem kernel_checked_network : network_adds 10 2 [zero] [] letters network table." in exported


def test_other_shapes_have_their_tables_theorem_only() -> None:
    for name in ("addition", "parity"):
        assert coq.proof(Solver.load(name)) == coq.table_proof(Solver.load(name))


@pytest.mark.slow
@pytest.mark.parametrize(("theorem", "subject"), [(REAL, NETWORK), (ROUNDED, FLOAT32)])
def test_network_is_checked_on_its_own_outputs(built: Path, exported: str, theorem: str, subject: str) -> None:
    (found,) = kernel.check(on_prompts(exported, right(*PROMPTS), theorem=theorem), built=built).theorems
    assert found.subject == subject
    assert set(found.axioms) == set(REAL_AXIOMS)


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [{"81": "8"}, {"81": ""}, {"81": "90"}, {"9C97": "1"}, {"81": "C"}, {"8X": "9"}])
def test_wrong_output_of_the_network_is_rejected(built: Path, exported: str, outputs: dict[str, str]) -> None:
    with pytest.raises(AlgaError, match="coqc rejects"):
        kernel.check(on_prompts(exported, outputs), built=built)


@pytest.mark.slow
@pytest.mark.parametrize("theorem", [REAL, ROUNDED])
def test_swapped_weights_are_rejected(built: Path, exported: str, theorem: str) -> None:
    file = bytearray(bytes_of_smallest())
    nine, eight = embedding_at(file, 11), embedding_at(file, 10)
    file[nine : nine + 4], file[eight : eight + 4] = file[eight : eight + 4], file[nine : nine + 4]
    with pytest.raises(AlgaError, match="coqc rejects"):
        kernel.check(on_prompts(exported, right("81"), bytes(file), theorem), built=built)


@pytest.mark.slow
@pytest.mark.parametrize("theorem", [REAL, ROUNDED])
def test_tie_is_rejected(built: Path, exported: str, theorem: str) -> None:
    """If `C` has the embedding of `9`, their logits are equal: a decoder that takes the first is right by luck."""
    file = bytearray(bytes_of_smallest())
    file[embedding_at(file, 13) :] = file[embedding_at(file, 11) : embedding_at(file, 12)]
    with pytest.raises(AlgaError, match="coqc rejects"):
        kernel.check(on_prompts(exported, right("81"), bytes(file), theorem), built=built)


@pytest.mark.slow
def test_margin_within_rounding_is_rejected_in_float32_only(built: Path, exported: str) -> None:
    """The last bit of the embedding of `9`, for `C`: right in real arithmetic, but float32 might write `C`."""
    file = bytearray(bytes_of_smallest())
    nine = file[embedding_at(file, 11) : embedding_at(file, 12)]
    nine[4] -= 4  # a little less of the second component, which counts for more
    file[embedding_at(file, 13) :] = nine
    assert kernel.check(on_prompts(exported, right("81"), bytes(file)), built=built).theorems
    with pytest.raises(AlgaError, match="coqc rejects"):
        kernel.check(on_prompts(exported, right("81"), bytes(file), ROUNDED), built=built)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["0000c07f", "0000807f"])
def test_weight_that_is_no_number_is_rejected(built: Path, exported: str, pattern: str) -> None:
    file = bytearray(bytes_of_smallest())
    file[embedding_at(file, 13) : embedding_at(file, 13) + 4] = bytes.fromhex(pattern)
    with pytest.raises(AlgaError, match="coqc rejects"):
        kernel.check(on_prompts(exported, right("81"), bytes(file)), built=built)


@pytest.mark.slow
def test_damaged_header_is_rejected(built: Path, exported: str) -> None:
    file = bytes_of_smallest().replace(b'"token_embedding.weight"', b'"token_embedding_weight"')
    with pytest.raises(AlgaError, match="coqc rejects"):
        kernel.check(on_prompts(exported, right("81"), file), built=built)


def test_whole_export_has_all_theorems(exported: str) -> None:
    assert [kernel.NAMES[name] for name in re.findall(r"^Theorem (kernel_checked_\w+)", exported, re.MULTILINE)] == [
        TABLE,
        NETWORK,
        FLOAT32,
    ]
