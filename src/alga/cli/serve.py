"""`alga serve`: an HTTP API to the networks, and the page that shows them at work."""

from __future__ import annotations

from typing import Annotated

import typer

from alga.base.errors import missing_extra
from alga.cli.console import note
from alga.cli.options import OwnTask, load_own_task, model_argument, model_option, option
from alga.serve.limits import Limits

Models = Annotated[
    list[str] | None,
    model_argument(
        "[MODEL]...",
        "Run folders to serve beside the shipped networks, each under its last name; the page starts with the first.",
        show_default="the shipped networks",
    ),
]
OldModels = Annotated[list[str] | None, model_option("The old spelling of the argument MODEL.", hidden=True)]
Hosts = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Also answer requests addressed to this host name, such as a proxy's; * for any. Repeatable.",
        default="localhost and HOST",
    ),
]


def serve(
    models: Models = None,
    host: Annotated[
        str, option("ADDRESS", "The address to listen on; 0.0.0.0 lets other machines connect.")
    ] = "127.0.0.1",
    port: Annotated[int, option("N", "The port to listen on; 0 takes a free one.")] = 8765,
    allow_host: Hosts = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    model: OldModels = None,
    task: OwnTask = None,
    max_digits: Annotated[int, option("N", "Most digits of a number.")] = Limits.digits,
    max_steps: Annotated[int, option("N", "Most steps of one trace.")] = Limits.steps,
    max_damage: Annotated[
        int, option("N", "Largest network to damage: its prompts times its weights.")
    ] = Limits.damage,
    max_body: Annotated[int, option("N", "Most bytes of a request.")] = Limits.body,
    connections: Annotated[int, option("N", "Most open connections.")] = Limits.connections,
    concurrent: Annotated[
        int, option("N", "Most requests computed at once; half as many long ones.")
    ] = Limits.concurrent,
    waiting: Annotated[int, option("N", "Most requests in the queue; an eighth as many long ones.")] = Limits.waiting,
    seconds: Annotated[
        float, option("S", "Seconds to send a request, to compute its answer, to read the answer.")
    ] = Limits.seconds,
) -> None:
    """Open the page in the browser and serve an HTTP API.

    Runs until Ctrl-C, for this machine only unless --host says otherwise (docs/serve.md).

    Examples:
      alga serve
      alga serve runs/mine --port 0 --no-open

    """
    try:
        from alga.serve import server
    except ImportError as missing:
        raise missing_extra("alga serve", missing.name, "serve") from None
    load_own_task(task)
    from alga.serve.registry import ModelRegistry

    limits = Limits(
        digits=max_digits,
        steps=max_steps,
        body=max_body,
        damage=max_damage,
        connections=connections,
        concurrent=concurrent,
        waiting=waiting,
        seconds=seconds,
    )
    server.check_open_files(connections)
    server.return_freed_memory()
    registry = ModelRegistry([*(models or []), *(model or [])])
    listener = server.listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"
    note("Loading the network …")
    server.warm(registry)

    def ready() -> None:
        typer.echo(address)
        note("Press Ctrl-C to stop.")
        if not no_open:
            import webbrowser

            webbrowser.open(address)

    with listener:
        server.server(registry, limits, ready, host, allow_host or []).run(sockets=[listener])
