"""When the table engine loads its compiled code, and that no thread sees half of it."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from alga.solve.engines import table as engine
from alga.solve.engines.machine import Machine
from alga.solve.solver import Solver
from tests.solve.machines import ADDITION, unload


def test_compiler_is_not_loaded_for_short_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    unload(engine.VECTOR, monkeypatch)
    made = Machine(ADDITION, Solver.load().table)
    assert engine.answer(made, "7" * 5000, "5" * 5000) == ADDITION.oracle("7" * 5000, "5" * 5000)
    assert engine.VECTOR not in sys.modules
    assert made.replayed == 5000 * engine.SCANNED
    made.replayed = engine.COMPILE_FROM
    assert engine.answer(made, "7" * 64, "5" * 64) == ADDITION.oracle("7" * 64, "5" * 64)
    assert engine.VECTOR in sys.modules


def test_thread_waits_for_a_module_that_another_is_importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.3)\nLongArithmetic = 'complete'\n")
    monkeypatch.syspath_prepend(tmp_path)
    machine = Machine(ADDITION, Solver.load().table)
    machine.replayed = engine.COMPILE_FROM + 1
    first = threading.Thread(target=engine._compiled, args=("slow_to_import", machine, 0))
    first.start()
    try:
        while "slow_to_import" not in sys.modules:
            time.sleep(0.001)
        assert not hasattr(sys.modules["slow_to_import"], "LongArithmetic")
        assert (
            engine._compiled("slow_to_import", Machine(ADDITION, Solver.load().table), 0).LongArithmetic == "complete"
        )
    finally:
        first.join()
        del sys.modules["slow_to_import"], engine._loaded["slow_to_import"]
