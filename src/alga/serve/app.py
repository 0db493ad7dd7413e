"""The application: HTTP in, what the networks say out. Here alone an error becomes a status and a JSON line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

import alga
from alga.arithmetic import Listener
from alga.arithmetic.result import SIGNS
from alga.errors import AlgaError
from alga.serve import content, damage, shapes
from alga.serve.desks import Desks
from alga.serve.guard import Guard
from alga.serve.limits import Deadline, Limits, RefusedError, check_digits
from alga.serve.shapes import ERRORS
from alga.serve.shelf import Desk, Shelf
from alga.serve.steps import Stream

PAGE: Final = Path(__file__).parent / "page"
KINDS: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

Model = Annotated[str | None, Query(min_length=1, max_length=200, description="A network of `/v1/models`.")]


def create(shelf: Shelf, limits: Limits) -> Guard:
    """Return the application that serves these networks within these limits."""
    desks = Desks(shelf, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desks.close()

    app = FastAPI(
        title="ALGA",
        version=alga.__version__,
        description="Tiny Transformers that calculate one column at a time, checked on every step there is.",
        docs_url=None,  # its page would be loaded from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=ERRORS,
    )
    _errors(app)
    _operations(app, desks)
    _networks(app, desks)
    _page(app)
    return Guard(app, limits)


# --- errors -----------------------------------------------------------------------------------------------------------


def _errors(app: FastAPI) -> None:
    @app.exception_handler(AlgaError)
    async def refused(_: Request, problem: AlgaError) -> JSONResponse:
        status = problem.status if isinstance(problem, RefusedError) else 422
        headers = {"retry-after": "1"} if status == 503 else None
        return JSONResponse({"error": str(problem)}, status, headers)

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, problem: RequestValidationError) -> JSONResponse:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return JSONResponse({"error": f"{where}: {first['msg'].lower()}"}, 422)

    @app.exception_handler(HTTPException)
    async def other(_: Request, problem: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(problem.detail).lower()}, problem.status_code, problem.headers)

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, __: Exception) -> JSONResponse:  # uvicorn tells who runs it; nobody else
        return JSONResponse({"error": "something went wrong here"}, 500)


# --- operations -------------------------------------------------------------------------------------------------------


def _operations(app: FastAPI, desks: Desks) -> None:
    for verb in SIGNS:
        app.post(f"/v1/{verb}", summary=f"{verb}: the answer", name=verb, responses=_example(verb))(
            _answer(desks, verb)
        )
        app.post(
            f"/v1/{verb}/steps",
            summary=f"{verb}: every step, as server-sent events",
            name=f"{verb} steps",
            response_class=StreamingResponse,
            responses={200: {"content": {"text/event-stream": {"schema": shapes.STREAM}}}},
        )(_steps(desks, verb))


def _answer(desks: Desks, verb: str) -> Callable[..., Any]:
    async def answer(numbers: shapes.Numbers) -> dict[str, Any]:
        check_digits(numbers.operands, desks.limits.digits)
        deadline = Deadline(desks.limits.seconds)

        def job(desk: Desk) -> dict[str, Any]:
            arithmetic = desk.arithmetic(numbers.base, numbers.model, numbers.engine)
            arithmetic.named(verb)
            return arithmetic.solve(verb, *numbers.operands, watch=deadline.watch).as_dict()

        return await desks.run(job, deadline)

    return answer


def _steps(desks: Desks, verb: str) -> Callable[..., Any]:
    async def steps(numbers: shapes.Numbers) -> StreamingResponse:
        check_digits(numbers.operands, min(desks.limits.digits, desks.limits.steps))
        if numbers.engine not in (None, "sequential"):
            raise AlgaError(f"steps are the network's own: they go with the engine sequential, not {numbers.engine}")

        def solve(desk: Desk, listener: Listener, deadline: Deadline) -> dict[str, Any]:
            arithmetic = desk.arithmetic(numbers.base, numbers.model, None, listener)
            arithmetic.named(verb)
            return arithmetic.solve(verb, *numbers.operands, watch=deadline.watch).as_dict()

        stream = Stream(desks, solve)
        return StreamingResponse(stream.rest(await stream.first()), media_type="text/event-stream")

    return steps


def _example(verb: str) -> dict[int | str, dict[str, Any]]:
    if verb != "add":
        return {}
    shown = {"engine": "table", "operands": ["65785", "8765"], "answer": "74550", "steps": 5, "certified": True}
    return {200: {"content": {"application/json": {"example": shown}}}}


# --- networks ---------------------------------------------------------------------------------------------------------


def _networks(app: FastAPI, desks: Desks) -> None:
    shelf = desks.shelf

    async def at_desk(job: Callable[[Desk, Deadline], dict[str, Any] | bytes]) -> Response:
        deadline = Deadline(desks.limits.seconds)

        def work(desk: Desk) -> bytes:  # the text is made there too: a domain's is megabytes, and others wait
            found = job(desk, deadline)
            return found if isinstance(found, bytes) else content.as_json(found)

        return Response(await desks.run(work, deadline), media_type="application/json")

    @app.get("/v1/models", summary="Every network that is served")
    async def models() -> Response:
        def job(desk: Desk, _: Deadline) -> dict[str, Any]:
            found = [desk.described(name) for name in shelf.names]
            return {"first": shelf.first, "verbs": SIGNS, "limits": vars(desks.limits), "models": found}

        return await at_desk(job)

    @app.get("/v1/certificate", summary="What was checked of a network, and in words what that means")
    async def certificate(model: Model = None) -> Response:
        name = model or shelf.first

        def job(desk: Desk, deadline: Deadline) -> dict[str, Any]:
            calculator = desk.calculator(name)
            held = calculator.run.certificate if calculator.certified else None
            held = held or shelf.once("judged", name, lambda: calculator.certify(deadline.watch))
            return {"model": name, **content.certificate(held, base=calculator.task.base)}

        return await at_desk(job)

    @app.get("/v1/domain", summary="Every prompt there is, with the network's answer and margin")
    async def domain(model: Model = None) -> Response:
        return await at_desk(lambda desk, _: desk.domain(model or shelf.first))

    @app.get("/v1/step", summary="One step laid open: probabilities and attention")
    async def step(
        prompt: Annotated[
            str, Query(min_length=1, max_length=64, description="As the network reads it.", examples=["15C77"])
        ],
        model: Model = None,
        amount: Annotated[float, Query(ge=-100, le=100, description="Of a damaged copy: what is added.")] = 0.0,
        tensor: Annotated[str | None, Query(max_length=200, description="To which tensor.")] = None,
        index: Annotated[int | None, Query(ge=0, le=10**9, description="To which of its numbers.")] = None,
    ) -> Response:
        def job(desk: Desk, _: Deadline) -> dict[str, Any]:
            calculator = desk.calculator(model or shelf.first)
            if amount:
                calculator, _before = damage.damaged(calculator, damage.chosen(calculator, tensor, index), amount)
            return content.step(calculator, prompt)

        return await at_desk(job)

    @app.get("/v1/weights", summary="The tensors of a network, and the weight that is damaged unless one is named")
    async def weights(model: Model = None) -> Response:
        def job(desk: Desk, _: Deadline) -> dict[str, Any]:
            calculator = desk.calculator(model or shelf.first)
            return {"tensors": damage.weights(calculator), "favourite": vars(damage.favourite(calculator))}

        return await at_desk(job)

    @app.post("/v1/damage", summary="Move one weight of a copy, and judge it anew on every prompt")
    async def damaged(wanted: shapes.Damage) -> Response:
        check_digits(wanted.operands or [""], min(desks.limits.digits, desks.limits.steps))

        def job(desk: Desk, deadline: Deadline) -> dict[str, Any]:
            calculator = desk.calculator(wanted.model or shelf.first)
            weight = damage.chosen(calculator, wanted.tensor, wanted.index)
            operands = tuple(wanted.operands) if wanted.operands else None
            return damage.report(calculator, weight, wanted.amount, operands, deadline.watch)

        return await at_desk(job)

    @app.get("/healthz", summary="Whether the server answers")
    async def health() -> dict[str, Any]:
        return {"ok": True, "version": alga.__version__}


# --- the page ---------------------------------------------------------------------------------------------------------


def _page(app: FastAPI) -> None:
    """Serve the files of the page, each by its own route: no path that a request names is ever opened."""
    for path in sorted(PAGE.iterdir()):
        if path.suffix not in KINDS:
            continue
        route = "/" if path.name == "index.html" else f"/{path.name}"

        app.get(route, include_in_schema=False)(_file(path))


def _file(path: Path) -> Callable[..., Any]:
    async def file() -> FileResponse:
        return FileResponse(path, media_type=KINDS[path.suffix])

    return file
