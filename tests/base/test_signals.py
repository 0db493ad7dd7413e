"""Ctrl-C and SIGTERM: one line, the right exit code, and a clean shutdown."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alga.base import signals
from alga.runs import checksums
from alga.training.learner import GradientLearner
from alga.training.trainer import Training
from tests.conftest import ROOT, Alga


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_ends_a_training_cleanly(
    number: signal.Signals, code: int, alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = GradientLearner.learn

    def signalled(learner: GradientLearner, step: int) -> float:
        if step == 7:
            os.kill(os.getpid(), number)
        return learn(learner, step)

    monkeypatch.setattr(GradientLearner, "learn", signalled)
    monkeypatch.setattr("signal.getsignal", lambda _: signal.SIG_DFL)  # background processes ignore Ctrl-C
    before = signal.signal(number, signal.SIG_DFL)
    try:
        result = alga("train", "--task", "parity", "--recipe", "small", "--threads", 1, "--out", tmp_path / "run")
    finally:
        signal.signal(number, before)
    assert result.code == code
    assert result.err == f"stopped at step 7; continue with: alga train --resume {tmp_path / 'run'}\n"
    assert checksums.sealed(tmp_path / "run")
    assert Training.resume(tmp_path / "run").step == 7


def test_signal_outside_training_is_one_line_and_its_exit_code(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.solve.calculator.Calculator", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    result = alga("add", "1", "2")
    assert (result.code, result.out, result.err) == (143, "", "alga: stopped by SIGTERM\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_signal_during_class_creation_is_handled(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kills:
        def __set_name__(self, owner: type, name: str) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("alga.solve.calculator.Calculator", lambda *_, **__: type("Made", (), {"kills": Kills()}))
    result = alga("add", "1", "2")
    assert (result.code, result.out, result.err) == (143, "", "alga: stopped by SIGTERM\n")


def test_signal_dropped_by_python_is_raised_again(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kills:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    def work(*_: object, **__: object) -> None:
        Kills()
        time.sleep(10)

    monkeypatch.setattr("alga.solve.calculator.Calculator", work)
    result = alga("add", "1", "2")
    assert (result.code, result.out, result.err) == (143, "", "alga: stopped by SIGTERM\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_import_finishes_before_a_signal_is_handled(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During its import, torch's C++ calls Python, and aborts the process if Python raises."""
    (tmp_path / "interrupted.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\ndone = [*range(1000)]\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "interrupted", raising=False)
    monkeypatch.setattr("signal.getsignal", lambda _: signal.SIG_DFL)  # background processes ignore Ctrl-C
    seen = []

    def work() -> None:
        with signals.raise_on_signal():
            seen.append(importlib.import_module("interrupted").done)
            time.sleep(60)

    with pytest.raises(signals.SignalReceived) as stopped:
        work()
    assert stopped.value.number == number
    assert seen == [[*range(1000)]]


def test_signal_during_an_import_stops_a_training_with_one_line(
    alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal is raised again after the import; the training reports it, and it is reported once."""
    (tmp_path / "interrupted.py").write_text(f"import os\nos.kill(os.getpid(), {int(signal.SIGTERM)})\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "interrupted", raising=False)
    learn, start = GradientLearner.learn, Training.start

    def started(*arguments: object, **settings: object) -> Training:
        importlib.import_module("interrupted")
        return start(*arguments, **settings)  # type: ignore[arg-type]

    def unhurried(learner: GradientLearner, step: int) -> float:
        time.sleep(0.02)
        return learn(learner, step)

    monkeypatch.setattr(Training, "start", started)
    monkeypatch.setattr(GradientLearner, "learn", unhurried)
    result = alga("train", "--task", "parity", "--recipe", "small", "--threads", 1, "--out", tmp_path / "run")
    assert (result.code, result.err.count("\n")) == (143, 1), result.err
    assert f"continue with: alga train --resume {tmp_path / 'run'}" in result.err


@pytest.mark.slow
@pytest.mark.parametrize("event", range(50, 1500, 120))
def test_signal_anywhere_in_the_torch_import_is_one_line(event: int) -> None:
    script = f"""
import itertools, os, signal, sys
count = itertools.count()
def hook(name, arguments):
    if name in ("import", "exec") and torch_begun() and next(count) == {event}:
        os.kill(os.getpid(), signal.SIGTERM)
def torch_begun():
    return "torch" in sys.modules
sys.argv = ["alga", "certify", "parity"]
import alga.__main__, alga.cli.app
sys.addaudithook(hook)
alga.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    told = [line for line in done.stderr.splitlines() if not line.startswith("checking ")]  # on a busy machine
    assert (done.returncode, told) == (143, ["alga: stopped by SIGTERM"])


@pytest.mark.parametrize("held", ["half_built = HalfBuilt()", "HalfBuilt.cycle()", "sys.half_built = HalfBuilt()"])
def test_interrupted_libraries_do_not_complain(held: str) -> None:
    script = f"""
import gc, os, signal, sys
import alga.__main__
class HalfBuilt:
    def __del__(self): raise AttributeError("half built")
    @classmethod
    def cycle(cls):
        made = cls()
        made.itself = made
def work(*_, **__):
    {held}
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
import alga.solve.calculator
alga.solve.calculator.Calculator = work
import atexit
atexit.register(gc.collect)
sys.argv = ["alga", "add", "1", "2"]
alga.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "alga: stopped by SIGTERM\n")


def test_interrupted_libraries_cannot_crash_the_exit() -> None:
    script = """
import os, signal, sys
import alga.__main__
class HalfBuilt:
    def __del__(self, kill=os.kill, pid=os.getpid()): kill(pid, 11)
def work(*_, **__):
    sys.half_built = HalfBuilt()
    os.kill(os.getpid(), signal.SIGTERM)
import alga.solve.calculator
alga.solve.calculator.Calculator = work
sys.argv = ["alga", "add", "1", "2"]
alga.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "alga: stopped by SIGTERM\n")


@pytest.mark.parametrize(("signals", "code", "out"), [(1, 0, "3\ncleaned up\n"), (2, 143, "3\n")])
def test_signal_after_the_work_lets_libraries_clean_up_unless_repeated(signals: int, code: int, out: str) -> None:
    script = f"""
import atexit, os, signal, sys
import alga.__main__, alga.cli.app
def clean_up():
    sys.stdout.flush()
    for _ in range({signals}):
        os.kill(os.getpid(), signal.SIGTERM)
    print("cleaned up")
def run(command=alga.cli.app.main):
    atexit.register(clean_up)
    command()
alga.cli.app.main = run
sys.argv = ["alga", "add", "1", "2"]
alga.__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


def test_critical_section_finishes_before_a_signal() -> None:
    done = []

    def work() -> None:
        with signals.raise_on_signal(), signals.delay_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("all of it")

    with pytest.raises(signals.SignalReceived):
        work()
    assert done == ["all of it"]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_nothing_special).result() == "done"


def _nothing_special() -> str:
    with signals.delay_signals():
        return "done"


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signals.raise_on_signal():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signal_handlers_are_installed_before_slow_imports() -> None:
    script = "import sys; before = set(sys.modules); import alga.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip
    assert set(done.stdout.split()) <= {
        "__future__",
        "_signal",
        "alga",
        "alga.__main__",
        "alga.base",
        "alga.base.errors",
        "atexit",
    }


def test_signal_after_the_work_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "import os, sys\n"
        "from alga import __main__ as entry\n"
        "class Late:\n"
        "    def __del__(self, kill=os.kill, pid=os.getpid()): kill(pid, 15)\n"
        "sys.late, sys.argv = Late(), ['alga', '--version']\n"
        "entry.main()\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "late.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
