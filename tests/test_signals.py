"""Ctrl-C and SIGTERM: one line, their exit code, and nothing left undone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alga import seal, stopping
from alga.training import Training
from tests.conftest import Alga
from tests.test_faults import ROOT


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_training_in_order(
    number: signal.Signals, code: int, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Training._train_step

    def signalled(training: Training) -> float:
        if training.step == 7:
            os.kill(os.getpid(), number)
        return step(training)

    monkeypatch.setattr(Training, "_train_step", signalled)
    monkeypatch.setattr("signal.getsignal", lambda _: signal.SIG_DFL)  # tests in the background are deaf to Ctrl-C
    before = signal.signal(number, signal.SIG_DFL)
    try:
        result = alga("train", "--task", "parity", "--recipe", "small", "--threads", 1, "--out", tmp_path / "run")
    finally:
        signal.signal(number, before)
    assert result.code == code
    assert result.err == f"stopped at step 7; go on with: alga train --resume {tmp_path / 'run'}\n"
    assert seal.sealed(tmp_path / "run")
    assert Training.resume(tmp_path / "run").step == 7


def test_a_signal_elsewhere_is_one_line_and_its_code(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.arithmetic.Arithmetic", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    result = alga("add", "1", "2")
    assert (result.code, result.out, result.err) == (143, "", "alga: stopped by SIGTERM\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_in_the_making_of_a_class_is_a_signal_still(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kills:
        def __set_name__(self, owner: type, name: str) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("alga.arithmetic.Arithmetic", lambda *_, **__: type("Made", (), {"kills": Kills()}))
    result = alga("add", "1", "2")
    assert (result.code, result.out, result.err) == (143, "", "alga: stopped by SIGTERM\n")


def test_a_signal_that_python_drops_comes_again(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kills:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    def work(*_: object, **__: object) -> None:
        Kills()
        time.sleep(10)

    monkeypatch.setattr("alga.arithmetic.Arithmetic", work)
    result = alga("add", "1", "2")
    assert (result.code, result.out, result.err) == (143, "", "alga: stopped by SIGTERM\n")


def test_work_that_must_not_be_torn_is_finished_first() -> None:
    done = []

    def work() -> None:
        with stopping.by_exception(), stopping.afterwards():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("all of it")

    with pytest.raises(stopping.Stopped):
        work()
    assert done == ["all of it"]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_nothing_special).result() == "done"


def _nothing_special() -> str:
    with stopping.afterwards():
        return "done"


def test_signals_that_are_ignored_stay_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stopping.by_exception():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_command_listens_before_it_imports_anything_that_takes_time() -> None:
    script = "import sys; before = set(sys.modules); import alga.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip
    assert set(done.stdout.split()) <= {"__future__", "_signal", "alga", "alga.__main__", "alga.errors"}
