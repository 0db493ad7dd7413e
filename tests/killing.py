"""Simulates kill -9 between any two changes of a folder: afterwards the process changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from alga.base.folders import Folder


class Kill(BaseException):
    """Raised where the process dies."""


def kill_before(monkeypatch: pytest.MonkeyPatch, when: Callable[[str], bool]) -> list[str]:
    """Kill the process before the first folder change for which `when` is true; return the changes until then.

    A change is `write NAME`, `place NAME` (by renaming) or `remove NAME`.
    """
    done: list[str] = []
    dead = False

    def before(change: str) -> None:
        nonlocal dead
        dead = dead or when(change)
        if dead:
            raise Kill
        done.append(change)

    temporary, rename, remove, append = Folder._temporary, Folder.rename, Folder.remove, Folder.append

    def making(folder: Folder, name: str) -> tuple[int, str]:
        before(f"write {name}")
        return temporary(folder, name)

    def placing(folder: Folder, old: str, new: str) -> None:
        before(f"place {new}")
        rename(folder, old, new)

    def removing(folder: Folder, name: str) -> None:
        before(f"remove {name}")
        remove(folder, name)

    def adding(folder: Folder, name: str, line: str) -> None:
        before(f"add to {name}")
        append(folder, name, line)

    monkeypatch.setattr(Folder, "_temporary", making)
    monkeypatch.setattr(Folder, "rename", placing)
    monkeypatch.setattr(Folder, "remove", removing)
    monkeypatch.setattr(Folder, "append", adding)
    return done
