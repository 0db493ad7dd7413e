"""The server on its socket: warm before it says that it is there, so that the first answer does not wait."""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Thread

import uvicorn

from alga.errors import AlgaError
from alga.serve import content
from alga.serve.app import create
from alga.serve.guard import patient
from alga.serve.limits import Limits
from alga.serve.shelf import Desk, Shelf


def warm(shelf: Shelf) -> None:
    """Open the first network and compute what the page asks for first; read the others while nobody waits for them."""
    desk = Desk(shelf)
    calculator = desk.calculator(shelf.first)
    desk.domain(shelf.first)
    content.step(calculator, next(iter(calculator.trained.domain)))
    Thread(target=lambda: [desk.described(name) for name in shelf.names], daemon=True).start()


def listen(host: str, port: int) -> socket.socket:
    """Take a port, any free one for 0; say so where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except (OSError, OverflowError) as problem:
        taken.close()
        raise AlgaError(f"cannot listen on {host}, port {port}: {str(problem).lower()}; try --port 0") from None
    return taken


def server(shelf: Shelf, limits: Limits, ready: Callable[[], None] = lambda: None) -> uvicorn.Server:
    """Return the server of these networks; it calls `ready` when it answers."""

    class Ready(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    return Ready(
        uvicorn.Config(
            create(shelf, limits),
            http=patient(limits.seconds),
            ws="none",
            log_config=None,  # what goes wrong is told on stderr, as Python does by itself
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
    )
