"""The server on its socket: warm before it says that it is there, so that the first answer does not wait."""

from __future__ import annotations

import asyncio
import ctypes
import socket
from collections.abc import Callable, Collection
from contextlib import suppress
from threading import Thread
from typing import Final

import uvicorn

from alga.base.errors import AlgaError
from alga.serve import content
from alga.serve.app import create
from alga.serve.connection import protocol
from alga.serve.limits import Limits
from alga.serve.registry import Desk, Shelf

M_MMAP_THRESHOLD: Final = -3  # of glibc's malloc.h
GRACE: Final = 2  # seconds for what is under way when the server ends
TOGETHER: Final = 16  # connections that are accepted before the first of them is looked at
QUEUE: Final = 128  # connections that the system holds until they are accepted
OTHER_FILES: Final = 96  # that the server has open besides connections, and those on their way in and out


def warm(shelf: Shelf) -> None:
    """Open the first network and compute what the page asks for first; read the others while nobody waits for them."""
    desk = Desk(shelf)
    solver = desk.solver(shelf.first)
    desk.domain(shelf.first)
    content.step(solver, next(iter(solver.trained.domain)))
    Thread(target=lambda: [desk.described(name) for name in shelf.names], daemon=True).start()


def give_memory_back() -> None:
    """Have freed tensors given back to the system, where the C library is glibc.

    It would keep those of up to 32 MB for later, in each thread: damaging networks made 900 MB of 550 within a minute.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 2**20)


def check_open_files(connections: int) -> None:
    """Refuse a limit on connections that the system's on open files does not allow: each of them is one."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and connections + OTHER_FILES > most:
        raise AlgaError(
            f"{connections} connections need {connections + OTHER_FILES} open files, and {most} are allowed here; "
            f"try ulimit -n {connections + OTHER_FILES} before, or --connections with a smaller number"
        )


def listen(host: str, port: int) -> socket.socket:
    """Take a port, any free one for 0; say so where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Of a socket that is not said to be TCP's, asyncio does not switch Nagle's algorithm off: every answer waits 40 ms.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except (OSError, OverflowError) as problem:
        taken.close()
        raise AlgaError(f"cannot listen on {host}, port {port}: {str(problem).lower()}; try --port 0") from None
    return taken


def server(
    shelf: Shelf,
    limits: Limits,
    ready: Callable[[], None] = lambda: None,
    bound: str = "",
    hosts: Collection[str] = (),
) -> uvicorn.Server:
    """Return the server of these networks, known by the name it is bound to and by `hosts`; it says when it answers."""

    class Ready(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            for listening in sockets or ():
                listening.listen(QUEUE)  # asyncio has one number for both, and would accept a whole queue at once
            ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            asyncio.get_running_loop().call_later(GRACE, self._cut_off)
            await super().shutdown(sockets)

        def _cut_off(self) -> None:
            """End what is still under way as if its client had left; uvicorn would log a traceback for each."""
            for connection in list(self.server_state.connections):
                connection.transport.abort()

    return Ready(
        uvicorn.Config(
            create(shelf, limits, bound, hosts),
            http=protocol(limits),
            ws="none",
            log_config=None,  # what goes wrong is told on stderr, as Python does by itself
            log_level="error",
            access_log=False,
            backlog=TOGETHER,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2 * GRACE,
        )
    )
