"""The fuzz targets without a fuzzer: seeds are read, and damaged copies raise only AlgaError."""

from __future__ import annotations

import json
import random

import pytest

from alga.base.errors import AlgaError
from tests.conftest import ROOT
from tests.fuzz.page import section
from tests.fuzz.targets import Target, targets

TARGETS = targets()
COPIES = {"torch": 100, "safetensors": 80, "checkpoint": 100}
A_FEW = 60  # of each seed, in the fast tests


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return a copy with bytes flipped, cut, repeated or set to values that often break readers."""
    copy = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(copy) or 1)
        way = rng.randrange(4)
        if way == 0:
            copy[place : place + 1] = bytes([rng.randrange(256)])
        elif way == 1:
            del copy[place : place + rng.randint(1, 40)]
        elif way == 2:
            copy[place:place] = copy[place : place + rng.randint(1, 40)]
        else:
            copy[place : place + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"null", b"-1e9", b"[[[[", b"1e99"])
    return bytes(copy)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("most", [A_FEW, pytest.param(300, marks=pytest.mark.slow)])
def test_damaged_copies_are_read_or_refused(name: str, most: int) -> None:
    target, rng = TARGETS[name], random.Random(name)
    for seed in target.seeds:
        target(seed)
        for _ in range(min(most, COPIES.get(name, 300))):
            target(damaged(seed, rng))


def test_target_does_not_hide_other_errors() -> None:
    with pytest.raises(ZeroDivisionError):
        Target(lambda data: 1 / len(data), [])(b"")


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in {"torch", "pickle", "r", "rds"}])
def test_seeds_are_accepted(name: str) -> None:
    TARGETS[name].read(TARGETS[name].seeds[0])


def test_import_seeds_include_a_whole_network() -> None:
    TARGETS["torch"].read(TARGETS["torch"].seeds[2])


@pytest.mark.parametrize("name", ["torch", "pickle", "r", "rds"])
def test_two_tensor_seeds_are_read_fully_before_they_are_refused(name: str) -> None:
    with pytest.raises(AlgaError, match="it has 0 layers, expected 1"):
        TARGETS[name].read(TARGETS[name].seeds[0])


@pytest.mark.parametrize("name", [name for name in TARGETS if name.startswith("run ")])
def test_run_is_restored_after_each_input(name: str) -> None:
    for data in (b"", b"{}", b"\xff" * 100):
        TARGETS[name](data)
    TARGETS[name].read(TARGETS[name].seeds[0])


@pytest.mark.parametrize("name", ["run model.safetensors", "run metrics.jsonl"])
def test_checksums_do_not_stop_a_changed_file(name: str) -> None:
    """One bit of a weight or one digit of a metric changes: the run is still read, because hashes are made to match."""
    seed = TARGETS[name].seeds[0]
    place = len(seed) - 4 if name.endswith("safetensors") else seed.index(b": ") + 2
    TARGETS[name].read(seed[:place] + bytes([seed[place] ^ 1]) + seed[place + 1 :])


# --- the committed results --------------------------------------------------------------------------------------------


def test_committed_results_cover_every_target_and_finding() -> None:
    """test_faults checks that the page matches the results."""
    results = json.loads((ROOT / "results" / "fuzz.json").read_text())
    assert results["targets"].keys() == TARGETS.keys()
    assert all(row["inputs"] >= 50_000 and row["seconds"] >= 300 for row in results["targets"].values())
    assert sum(row["seconds"] for row in results["targets"].values()) >= 3600
    assert sum(row["findings"] for row in results["targets"].values()) <= len(results["mended"])


def test_section_sums_its_results() -> None:
    rows = {
        "rds": {"seconds": 1800, "inputs": 3600, "findings": 1},
        "run x": {"seconds": 5400, "inputs": 2, "findings": 0},
    }
    told = section({"machine": {"system": "Linux"}, "targets": rows, "mended": ["a loop without end"]})
    assert "**2.0 hours, 3,602 inputs, 1 findings.** (system Linux.)" in told
    assert "| an R file, unpacked | 30.0 | 3,600 | 2 | 1 |\n| `x` in a run folder | 90.0 | 2 | 0 | 0 |" in told
    assert "\n- a loop without end\n" in told
