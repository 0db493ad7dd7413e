"""uvicorn on a socket of ours, warmed up before it reports that it is ready, so that the first answer is fast."""

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
from alga.serve.registry import ModelRegistry
from alga.serve.workers import Worker

M_MMAP_THRESHOLD: Final = -3  # from glibc's malloc.h
GRACE: Final = 2  # seconds for requests in progress when the server shuts down
ACCEPTED_AT_ONCE: Final = 16  # connections accepted before the first of them is handled
QUEUE: Final = 128  # connections that the system holds until they are accepted
OTHER_FILES: Final = 96  # open files besides established connections


def warm(registry: ModelRegistry) -> None:
    """Load the first network and compute what the page requests first; load the others in the background."""
    worker = Worker(registry)
    solver = worker.solver(registry.first)
    worker.domain(registry.first)
    content.step(solver, next(iter(solver.trained.domain)))
    Thread(target=lambda: [worker.described(name) for name in registry.names], daemon=True).start()


def return_freed_memory() -> None:
    """Make glibc return freed arrays to the system.

    By default each thread keeps freed blocks of up to 32 MB: damaging networks grew 550 MB to 900 within a minute.
    """
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 2**20)


def check_open_files(connections: int) -> None:
    """Refuse a limit on connections above the system's limit on open files: each connection is one."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if most != resource.RLIM_INFINITY and needed > most:
        raise AlgaError(
            f"{connections} connections need {needed} open files, and {most} are allowed here; "
            f"run ulimit -n {needed} first, or use a smaller --connections"
        )


def listen(host: str, port: int) -> socket.socket:
    """Bind a port, any free one for 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's algorithm only if the protocol is stated; otherwise every response waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as problem:
        listener.close()
        raise AlgaError(f"cannot listen on {host}, port {port}: {str(problem).lower()}; try --port 0") from None
    return listener


class _Server(uvicorn.Server):
    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(QUEUE)  # asyncio has one number for both, and would accept a whole queue at once
        self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(GRACE, self._cut_off)
        await super().shutdown(sockets)

    def _cut_off(self) -> None:
        """End remaining requests as if their clients had left; uvicorn would log a traceback for each."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def server(
    registry: ModelRegistry,
    limits: Limits,
    ready: Callable[[], None] = lambda: None,
    bound: str = "",
    hosts: Collection[str] = (),
) -> uvicorn.Server:
    """Return the server of these networks, for requests to the host it is bound to and to `hosts`.

    `ready` is called when it accepts requests.
    """
    config = uvicorn.Config(
        create(registry, limits, bound, hosts),
        http=protocol(limits),
        ws="none",
        log_config=None,  # errors go to stderr, Python's default
        log_level="error",
        access_log=False,
        backlog=ACCEPTED_AT_ONCE,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2 * GRACE,
    )
    made = _Server(config)
    made.ready = ready
    return made
