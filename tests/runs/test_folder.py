"""Run folders: validated when read, written atomically."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from alga import runs
from alga.base import files
from alga.base.errors import AlgaError
from alga.network.model import Transformer
from alga.runs import SHIPPED
from alga.solve.solver import Solver
from alga.trust.table import Table
from tests.runs.edited_files import edit, rewrite


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of the shipped run, for a test to damage."""
    return Path(shutil.copytree(SHIPPED / "addition", tmp_path / "run"))


def test_certificate_has_the_hash_of_the_weight_file(run: Path) -> None:
    certificate = Solver.load(run).run.certificate
    assert certificate is not None
    assert certificate.sha256 == hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()
    assert certificate.sha256 == Solver.load(run).run.sha256


def test_saved_network_round_trips(adder: Solver, tmp_path: Path) -> None:
    adder.save(tmp_path / "copy")
    copy = Solver.load(tmp_path / "copy")
    assert copy.certified
    assert copy.run.certificate == adder.run.certificate
    assert copy.run.table == adder.run.table
    assert copy.run.weights.data == adder.run.weights.data
    assert "certified for addition of any length" in (tmp_path / "copy" / "README.md").read_text()


def test_saving_overwrites_nothing(adder: Solver, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(AlgaError, match="already holds other files"):
        adder.save(tmp_path)
    with pytest.raises(AlgaError, match="expected a folder to write to, got the file"):
        adder.save(tmp_path / "letter.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_changed_weights_are_saved_without_the_certificate(tmp_path: Path) -> None:
    calculator = Solver.load()
    with torch.no_grad():
        calculator.run.model.head.weight[3, 0] += 1e-3
    assert not calculator.certified
    assert calculator.solve("1", "2").certified is False
    calculator.save(tmp_path / "changed")
    assert not (tmp_path / "changed" / "certificate.json").exists()
    assert not Solver.load(tmp_path / "changed").certified


@pytest.mark.parametrize(
    "change",
    [
        lambda model: setattr(model, "layers", model.layers[:1]),
        lambda model: model.double(),
        lambda model: setattr(model.head, "weight", torch.nn.Parameter(model.head.weight.detach() * 2)),
        lambda model: model.head.weight.data.mul_(2),
        lambda model: model.head.weight.detach().numpy().__imul__(2),
    ],
)
def test_any_change_to_a_network_revokes_its_certificate(change: Callable[[Transformer], object]) -> None:
    calculator = Solver.load()
    _ = calculator.run.model
    assert calculator.certified
    change(calculator.run.model)
    assert not calculator.certified


def test_torch_defaults_do_not_change_a_loaded_network() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            calculator = Solver.load()
            assert calculator.solve("12", "34", engine="sequential").answer == "46"
        assert calculator.certified
    finally:
        torch.set_default_dtype(torch.float32)


def test_network_in_another_precision_is_refused() -> None:
    calculator = Solver.load()
    calculator.run.model.half()
    with pytest.raises(AlgaError, match=r"expected a network in float32, got torch.float16"):
        calculator.certify()


def test_uncertified_run_loads_and_says_so(run: Path) -> None:
    (run / "certificate.json").unlink()
    assert not Solver.load(run).certified


WEIGHTS, CONFIG, CERTIFICATE, TABLE = "model.safetensors", "config.json", "certificate.json", "table.json"


def forge(run: Path, **changes: object) -> None:
    """Give the run a wrong table (by default one wrong entry) and a certificate for it."""
    table = Table.from_json((run / TABLE).read_text())
    wrong = dataclasses.replace(table, **(changes or {"outputs": {**table.outputs, "99": "19"}}))  # type: ignore[arg-type]
    (run / TABLE).write_text(wrong.to_json())
    edit(run / CERTIFICATE, lambda c: c.update(table_sha256=wrong.sha256))


def reshape(run: Path, **changes: int) -> None:
    """Make config.json state another shape, and a recipe for it."""

    def change(content: dict[str, Any]) -> None:
        content["model"].update(changes)
        content["training"]["recipe"].update(changes)

    edit(run / CONFIG, change)


def append(run: Path) -> None:
    """Append to the weight file, and put its new hash into the certificate."""
    data = (run / WEIGHTS).read_bytes() + b"junk"
    (run / WEIGHTS).write_bytes(data)
    edit(run / CERTIFICATE, lambda c: c.update(sha256=hashlib.sha256(data).hexdigest()))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: (r / WEIGHTS).write_bytes((r / WEIGHTS).read_bytes()[:-7]), "model.safetensors is damaged"),
        (lambda r: (r / WEIGHTS).write_bytes(b""), "model.safetensors is damaged"),
        (lambda r: (r / WEIGHTS).write_bytes(b"\x80\x04" + bytes(100)), "model.safetensors is damaged"),
        (lambda r: (r / WEIGHTS).write_bytes((2**62).to_bytes(8, "little") + b"{}"), "model.safetensors is damaged"),
        (lambda r: (r / WEIGHTS).unlink(), "has no model.safetensors"),
        (lambda r: flip(r / WEIGHTS, -100), "certificate is for other weights"),
        (lambda r: rewrite(r / WEIGHTS, lambda w: w.pop("head.weight")), "head.weight is missing"),
        (lambda r: rewrite(r / WEIGHTS, lambda w: w.update(more=torch.ones(2))), "more is extra"),
        (lambda r: rewrite(r / WEIGHTS, lambda w: w.update({"head.weight": w["head.weight"][:, :-1].clone()})),
         r"head.weight has the shape \[14, 63\], expected \[14, 64\]"),
        (lambda r: rewrite(r / WEIGHTS, lambda w: w["head.weight"].fill_(float("nan"))), "is not finite"),
        (lambda r: rewrite(r / WEIGHTS, lambda w: w["head.weight"].fill_(float("inf"))), "is not finite"),
        (lambda r: rewrite(r / WEIGHTS, lambda w: w.update({"head.weight": w["head.weight"].half()})),
         "holds F16, expected F32"),
        (lambda r: edit(r / CONFIG, lambda c: c["model"].update(width=32)), "a network of another shape than its own"),
        (lambda r: reshape(r, width=32), "written for another task or model"),
        (lambda r: reshape(r, heads=4), "written for another task or model"),
        (lambda r: reshape(r, layers=9999), "layers must be a whole number from 1 to 64, got 9999"),
        (lambda r: reshape(r, width=65_536), "a network may have 268,435,456 parameters, this shape has"),
        (lambda r: edit(r / CONFIG, lambda c: c["model"].update(width=10**9)), "from 1 to 65,536, got 1000000000"),
        (lambda r: edit(r / CONFIG, lambda c: c["model"].update(depth=3)), "is not a run's configuration"),
        (lambda r: edit(r / CONFIG, lambda c: c.update(task="square")), "unknown task 'square'"),
        (lambda r: edit(r / CONFIG, lambda c: c.update(task="addition-padded")), "written for another task or model"),
        (lambda r: edit(r / CONFIG, lambda c: c.update(task="parity")), "other tokens or lengths than the task parity"),
        (lambda r: edit(r / CONFIG, lambda c: c.update(task=["x"])), "unknown task|no configuration"),
        (lambda r: edit(r / CONFIG, lambda c: c["vocabulary"].reverse()), "other tokens or lengths"),
        (lambda r: edit(r / CONFIG, lambda c: c.update(format=2)), "has format 2, this version of alga reads 1"),
        (lambda r: edit(r / CONFIG, lambda c: c.pop("model")), "is not a run's configuration"),
        (lambda r: (r / CONFIG).write_text("{"), "is not a run's configuration"),
        (lambda r: (r / CONFIG).write_text("[" * 100_000), "is not a run's configuration"),
        (lambda r: (r / CONFIG).write_bytes(b"\xff\xfe\x00"), "is not a run's configuration"),
        (lambda r: (r / CONFIG).unlink(), "is not a run: it has no config.json"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(sha256="0" * 64)), "certificate is for other weights"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(task="parity")), "certificate is not for the 2,300"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(prompts=7)), "certificate is not for the 2,300"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(table_sha256="0")), "certificate is for another table"),
        (lambda r: (r / CERTIFICATE).write_text("yes"), "expected a certificate as JSON"),
        (lambda r: (r / CERTIFICATE).write_text("[" * 100_000), "expected a certificate as JSON"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(certified="no")), "certified must be bool, got 'no'"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(failures=[{"prompt": "99", "expected": "18",
         "produced": "19S"}])), "claims to be certified with 1 failures"),
        (lambda r: ((r / CERTIFICATE).unlink(), (r / CERTIFICATE).mkdir()), "certificate.json: is a directory"),
        (lambda r: (r / TABLE).write_text("[" * 100_000), "expected a table as JSON"),
        (forge, "certified, but its table is wrong on 1 prompts, '99' first"),
        (lambda r: forge(r, outputs={}), "table.json is not a certified network's answers"),
        (lambda r: forge(r, uncertain=("99",)), "table.json is not a certified network's answers"),
        (lambda r: forge(r, task="parity"), "table.json is not a certified network's answers"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(certified=False)),
         "kernel-checked without being certified"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(certified=False, kernel=None)),
         "does not say that the network was"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(strength="guessed")), "does not say that the network was"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(strength="proven", proof=None)), "claims to be proven"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(least_margin=1e-9)), "states no margin that decides"),
        (lambda r: edit(r / CERTIFICATE, lambda c: c.update(least_margin=None)), "states no margin that decides"),
        (append, "model.safetensors is damaged: its header describes"),
        (lambda r: (r / TABLE).unlink(), "has a certificate but no table.json"),
        (lambda r: (r / TABLE).write_text((r / TABLE).read_text().replace('"99":"18"', '"99":"19"')), "was altered"),
    ],
)  # fmt: skip
def test_damaged_or_inconsistent_run_is_refused(run: Path, spoil: Callable[[Path], object], message: str) -> None:
    spoil(run)
    with pytest.raises(AlgaError, match=message) as refused:
        Solver.load(run)
    assert "\n" not in str(refused.value)


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_weights_of_another_run_are_refused(run: Path, parity: Path) -> None:
    shutil.copy(parity / WEIGHTS, run / WEIGHTS)
    with pytest.raises(AlgaError, match="written for another task or model"):
        Solver.load(run)


def test_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlgaError, match=r"no model 'nowhere': neither a run folder nor shipped \(addition, "):
        Solver.load("nowhere")
    with pytest.raises(AlgaError, match=r"is not a run: it has no config\.json"):
        Solver.load(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(AlgaError, match="expected a run folder, got the file"):
        Solver.load(tmp_path / "file")


def test_folder_named_like_a_shipped_network_is_not_ignored(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.rename(run.parent / "addition")
    monkeypatch.chdir(run.parent)
    with pytest.raises(AlgaError, match=r"'addition' is both shipped and a run folder here.* write \./addition"):
        Solver.load("addition")
    assert Solver.load("./addition").certified
    assert Solver.load(Path("addition")).certified


def test_link_and_pipe_are_written_to_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write(tmp_path / "pipe", b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_folder_with_only_a_half_written_file_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / ".x.unfinished").touch()
    runs.claim(tmp_path).release()
    assert list(tmp_path.iterdir()) == []


def test_file_is_written_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_shipped_network_has_every_file_of_a_run() -> None:
    assert {"addition", "addition-lookahead", "subtraction", "times-a-digit", "parity"} <= set(runs.shipped())
    for name in runs.shipped():
        files = {path.name for path in (SHIPPED / name).iterdir()}
        assert files == {"config.json", WEIGHTS, CERTIFICATE, TABLE, "metrics.jsonl", "README.md", "SHA256SUMS"}


def test_shipped_adder_has_the_papers_size_and_a_wide_margin(adder: Solver) -> None:
    certificate = adder.run.certificate
    assert certificate is not None
    assert adder.run.model.parameter_count == certificate.parameters == 102_464
    assert certificate.certified
    assert certificate.least_margin >= 10.18  # the margin of the author's network
    model = adder.run.config.model
    assert (model.width, model.heads, model.layers, model.hidden) == (64, 2, 2, 256)
