"""The application: HTTP in, what the networks say out. Here alone an error becomes a status and a JSON line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

import alga
from alga.base.errors import AlgaError
from alga.serve import content, damage, schemas
from alga.serve.cost import LARGE, is_long
from alga.serve.events import Stream
from alga.serve.limits import Deadline, Limits, RefusedError, check_digits
from alga.serve.middleware import Guard
from alga.serve.registry import Desk, Shelf
from alga.serve.schemas import ERRORS
from alga.serve.workers import Desks
from alga.solve.result import SIGNS
from alga.solve.schoolbook import Listener
from alga.solve.solver import Solver

T = TypeVar("T")
PAGE: Final = Path(__file__).parent / "page"
KINDS: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

Model = Annotated[str | None, Query(min_length=1, max_length=200, description="A network of `/v1/models`.")]


def create(shelf: Shelf, limits: Limits, bound: str = "", hosts: Collection[str] = ()) -> Guard:
    """Return the application that serves these networks within these limits, under these names."""
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
    return Guard(app, limits, bound, hosts)


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
            responses={200: {"content": {"text/event-stream": {"schema": schemas.STREAM}}}},
        )(_steps(desks, verb))


def _answer(desks: Desks, verb: str) -> Callable[..., Any]:
    async def answer(numbers: schemas.Numbers) -> dict[str, Any]:
        check_digits(numbers.operands, desks.limits.digits)
        deadline = Deadline(desks.limits.seconds)

        def job(desk: Desk) -> dict[str, Any]:
            calculator = desk.calculator(numbers.base, numbers.model, numbers.engine)
            calculator.networks.given_for(verb)
            return calculator.solve(*numbers.operands, operation=verb, cancel=deadline).as_dict()

        return await desks.run(job, deadline, long=await _long(desks, verb, numbers))

    return answer


def _steps(desks: Desks, verb: str) -> Callable[..., Any]:
    async def steps(numbers: schemas.Numbers) -> StreamingResponse:
        check_digits(numbers.operands, min(desks.limits.digits, desks.limits.steps))
        if numbers.engine not in (None, "sequential"):
            raise AlgaError(f"steps are the network's own: they go with the engine sequential, not {numbers.engine}")

        def solve(desk: Desk, listener: Listener, deadline: Deadline) -> dict[str, Any]:
            calculator = desk.calculator(numbers.base, numbers.model)
            calculator.networks.given_for(verb)
            result = calculator.trace(*numbers.operands, operation=verb, listener=listener, cancel=deadline)
            return result.as_dict()

        stream = Stream(desks, solve, long=await _long(desks, verb, numbers, steps=True))
        return StreamingResponse(stream.rest(await stream.first()), media_type="text/event-stream")

    return steps


async def _long(desks: Desks, verb: str, numbers: schemas.Numbers, *, steps: bool = False) -> bool:
    """Tell whether a problem has to go to a desk for long ones."""
    by_network, model = steps or numbers.engine == "sequential", numbers.model
    if model is not None and not by_network:
        by_network = not await desks.run(lambda desk: desk.shelf.run(model).certified, Deadline(desks.limits.seconds))
        if by_network and numbers.engine == "table":
            return True  # the table is made first
    return is_long(verb, numbers.operands, numbers.base or 10, by_network=by_network)


def _example(verb: str) -> dict[int | str, dict[str, Any]]:
    if verb != "add":
        return {}
    shown = {"engine": "table", "operands": ["65785", "8765"], "answer": "74550", "steps": 5, "certified": True}
    return {200: {"content": {"application/json": {"example": shown}}}}


# --- networks ---------------------------------------------------------------------------------------------------------


def _networks(app: FastAPI, desks: Desks) -> None:
    shelf = desks.shelf

    async def at_desk(job: Callable[[Desk, Deadline], dict[str, Any] | bytes], *, long: bool = False) -> Response:
        deadline = Deadline(desks.limits.seconds)

        def work(desk: Desk) -> bytes:  # the text is made there too: a domain's is megabytes, and others wait
            found = job(desk, deadline)
            return found if isinstance(found, bytes) else content.as_json(found)

        return Response(await desks.run(work, deadline, long=long), media_type="application/json")

    async def known(asked: Callable[[Desk], T]) -> T:
        return await desks.run(asked, Deadline(desks.limits.seconds))

    def affordable(solver: Solver) -> int:
        """Return what it costs to judge a copy of a network; refuse one that is too large to be damaged."""
        size, most = len(solver.trained.domain) * solver.run.config.model.parameters, desks.limits.damage
        if size > most:
            said = f"{solver.run.name} is too large to be damaged here"
            raise RefusedError(413, f"{said}: {size:,} prompts × weights, up to {most:,} may be")
        return size

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
            solver = desk.solver(name)
            held = solver.run.certificate if solver.certified else None
            held = held or shelf.once("judged", name, lambda: solver.certify(cancel=deadline))
            return {"model": name, **content.certificate(held, base=solver.procedure.layout.base)}

        judged = await known(lambda desk: desk.solver(name).certified or shelf.has("judged", name))
        return await at_desk(job, long=not judged)

    @app.get("/v1/domain", summary="Every prompt there is, with the network's answer and margin")
    async def domain(model: Model = None) -> Response:
        name = model or shelf.first
        return await at_desk(lambda desk, _: desk.domain(name), long=not shelf.has("domain", name))

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
            solver = desk.solver(model or shelf.first)
            if amount:
                affordable(solver)
                solver, _before = damage.damaged(solver, damage.chosen(solver, tensor, index), amount)
            return content.step(solver, prompt)

        return await at_desk(job)

    @app.get("/v1/weights", summary="The tensors of a network, and the weight that is damaged unless one is named")
    async def weights(model: Model = None) -> Response:
        def job(desk: Desk, _: Deadline) -> dict[str, Any]:
            solver = desk.solver(model or shelf.first)
            return {"tensors": damage.weights(solver), "favourite": vars(damage.favourite(solver))}

        return await at_desk(job)

    @app.post("/v1/damage", summary="Move one weight of a copy, and judge it anew on every prompt")
    async def damaged(wanted: schemas.Damage) -> Response:
        asked = wanted.problem
        check_digits(asked.operands if asked else [""], min(desks.limits.digits, desks.limits.steps))
        name = wanted.model or shelf.first

        def job(desk: Desk, deadline: Deadline) -> dict[str, Any]:
            solver = desk.solver(name)
            weight = damage.chosen(solver, wanted.tensor, wanted.index)
            most = desks.limits.steps
            return damage.report(desk, solver, weight, wanted.amount, asked, most=most, cancel=deadline)

        size = await known(lambda desk: affordable(desk.solver(name)))
        long = size > LARGE or (asked is not None and is_long(asked.verb, asked.operands, 10, by_network=True))
        return await at_desk(job, long=long)

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
