"""What the tests of the server share: one that runs in a thread on a free port, ended when the test is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from alga.serve import server
from alga.serve.limits import Limits
from alga.serve.registry import ModelRegistry


@contextmanager
def serving(limits: Limits | None = None, models: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> Iterator[str]:
    """Run a server; give its address."""
    registry = ModelRegistry(models)
    taken = server.listen("127.0.0.1", 0)
    ready = threading.Event()
    running = server.server(registry, limits or Limits(), ready.set, "127.0.0.1", hosts)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [taken]}, daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(10)
        taken.close()
