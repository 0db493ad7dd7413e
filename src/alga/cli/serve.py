"""`alga serve`: the networks over HTTP, and the page that shows them at work."""

from __future__ import annotations

from typing import Annotated

import typer

from alga.cli.screen import OwnTask, known_task
from alga.errors import lacking

Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="A run folder to serve too, by its last name; the first is shown first."),
]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; others can reach 0.0.0.0.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = 8765,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    model: Models = None,
    task: OwnTask = None,
    max_digits: Annotated[int, typer.Option(help="Digits of a number, at most.")] = 100_000,
    max_steps: Annotated[int, typer.Option(help="Steps of one trace, at most.")] = 20_000,
    max_body: Annotated[int, typer.Option(help="Bytes of a request, at most.")] = 1_000_000,
    concurrent: Annotated[int, typer.Option(help="Requests that are computed at once.")] = 4,
    waiting: Annotated[int, typer.Option(help="Requests that may wait for their turn.")] = 128,
    seconds: Annotated[float, typer.Option(help="Time to send a request, and to answer it.")] = 10.0,
) -> None:
    """Serve the page and an HTTP API on this machine, until Ctrl-C.

    Example: alga serve

    Example: alga serve --port 0 --no-open --model runs/mine
    """
    try:
        from alga.serve import server
    except ImportError as missing:
        raise lacking("alga serve", missing.name, "serve") from None
    known_task(task)
    from alga.serve.limits import Limits
    from alga.serve.shelf import Shelf

    limits = Limits(
        digits=max_digits, steps=max_steps, body=max_body, concurrent=concurrent, waiting=waiting, seconds=seconds
    )
    shelf = Shelf(model or [])
    taken = server.listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{taken.getsockname()[1]}/"
    typer.echo("Opening the network …", err=True)
    server.warm(shelf)

    def ready() -> None:
        typer.echo(address)
        typer.echo("Ctrl-C ends it.", err=True)
        if not no_open:
            import webbrowser

            webbrowser.open(address)

    with taken:
        server.server(shelf, limits, ready).run(sockets=[taken])
