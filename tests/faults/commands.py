"""Start the command `alga`, and send it a signal at a chosen moment.

Cold, it is the real command. Warm, it is the same command in a fork of this process, which has already imported
torch: on a busy machine that import takes ten seconds, and kills should hit the work, not the import. A warm
training also saves its checkpoint every 0.2 s instead of every 5, so that kills hit that too.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

PATIENCE = 300.0  # seconds; anything longer is a hang
CHECKPOINT_SECONDS = 0.2
END_WITH_PARENT = 1  # PR_SET_PDEATHSIG (Linux)

Arguments = tuple[object, ...]


class Command:
    """A running command; its output goes to files, which survive a kill."""

    def __init__(self, *arguments: object, log: Path, warm: bool = True, cwd: Path | None = None) -> None:
        self.log, self._code = log, None
        self.pid = os.fork()
        if self.pid == 0:
            self._become([str(argument) for argument in arguments], warm, cwd)

    def _become(self, arguments: list[str], warm: bool, cwd: Path | None) -> None:
        """Become the command in the child; never returns."""
        code = 70
        try:
            os.setsid()
            ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)  # if the harness itself is stopped
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            for number, name in ((0, os.devnull), (1, f"{self.log}.out"), (2, f"{self.log}.err")):
                handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
                os.dup2(handle, number)
                os.close(handle)
            if cwd is not None:
                os.chdir(cwd)
            if not warm:
                script = Path(sys.executable).with_name("alga")
                os.execv(script, [str(script), *arguments])
            sys.argv = ["alga", *arguments]
            from alga.__main__ import main
            from alga.training import trainer

            trainer.CHECKPOINT_SECONDS = CHECKPOINT_SECONDS  # type: ignore[misc]
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                threading._shutdown()  # type: ignore[attr-defined]  # as Python does at its end, in this order
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def poll(self) -> int | None:
        """Return the exit code, negative if a signal ended it; None while it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait until it ends."""
        until = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                self.strike(signal.SIGKILL)
                raise AssertionError(f"the command still runs after {seconds:.0f} s")
            time.sleep(0.005)
        return code

    def strike(self, number: int) -> None:
        """Send it a signal."""
        if self.poll() is None:
            os.kill(self.pid, number)

    @property
    def out(self) -> str:
        """Its stdout so far."""
        return Path(f"{self.log}.out").read_text(errors="replace")

    @property
    def err(self) -> str:
        """Its stderr so far."""
        return Path(f"{self.log}.err").read_text(errors="replace")

    @property
    def said(self) -> list[str]:
        """The lines of stderr without progress."""
        return [line for line in self.err.splitlines() if line and " of " not in line.partition(",")[0]]


def moment(rng: random.Random, seconds: float, folder: Path, most: int = 25) -> Callable[[Command], bool]:
    """Return a function that waits for a random moment of a command; it returns False if the command ended first.

    Half of the moments are random times; the other half come right after a random change in the output folder,
    one of the first `most`, when files are being created, renamed and removed.
    """
    if rng.random() < 0.5:
        until = rng.uniform(0, seconds)
        return lambda command: _wait(command, seconds=until)
    changes, more = rng.randint(1, most), rng.choice((0.0, 0.0, 0.001, 0.01, 0.1))
    return lambda command: _wait_for_changes(command, folder, changes) and _wait(command, seconds=more)


def _wait(command: Command, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while command.poll() is None:
        if time.monotonic() >= until:
            return True
        time.sleep(min(0.002, max(0.0, until - time.monotonic())))
    return False


def _wait_for_changes(command: Command, folder: Path, changes: int) -> bool:
    seen = _state(folder)
    while command.poll() is None:
        now = _state(folder)
        if now != seen:
            seen, changes = now, changes - 1
            if changes <= 0:
                return True
        time.sleep(0.0005)
    return False


def _state(folder: Path) -> list[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry.name, entry.stat().st_size) for entry in entries)
    except OSError:
        return []


def children(parent: int) -> list[int]:
    """Return the children of a process."""
    return [pid for pid, above in _parents() if above == parent]


def _parents() -> Iterator[tuple[int, int]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            yield int(path.parent.name), int(path.read_text().rpartition(")")[2].split()[1])


def alive(pids: list[int]) -> list[int]:
    """Return the processes that are still running."""
    return [pid for pid in pids if Path(f"/proc/{pid}/cwd").exists()]
