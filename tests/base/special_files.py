"""Links, pipes, sockets, folders and devices in place of a file."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path


def exchange(path: Path, kind: str) -> Path:
    """Replace a file with a link to a copy of it, or with a special file; return the copy."""
    outside = path.parent.parent / "outside"
    outside.write_bytes(path.read_bytes() if path.exists() else b"precious")
    path.unlink(missing_ok=True)
    match kind:
        case "link":
            path.symlink_to(outside)
        case "dangling link":
            outside.unlink()
            path.symlink_to(outside)
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path.name)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
    return outside


KINDS = ("link", "dangling link", "pipe", "socket", "folder", "device")
