"""The FastAPI application: routes of the API and the page. The one place where errors become a status and JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

import alga
from alga.base.errors import AlgaError
from alga.serve import content, damage, schemas
from alga.serve.events import Stream
from alga.serve.limits import LARGE, Deadline, Limits, RefusedError, check_digits, is_long
from alga.serve.middleware import RequestMiddleware
from alga.serve.registry import ModelRegistry
from alga.serve.workers import Job, Worker, WorkerPool
from alga.solve.result import SIGNS, Listener
from alga.solve.solver import Solver

FEW: Final = 100  # problems; more are computed where long problems are
PAGE: Final = Path(__file__).parent / "page"
MEDIA_TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json"}
ANSWER_EXAMPLE: Final = {"engine": "table", **schemas.EXAMPLE, "answer": "74550", "steps": 5, "certified": True}

Model = Annotated[str | None, Query(min_length=1, max_length=200, description="A network of `/v1/models`.")]


def create(registry: ModelRegistry, limits: Limits, bound: str = "", hosts: Collection[str] = ()) -> RequestMiddleware:
    """Return the application that serves these networks within these limits, under these host names."""
    pool = WorkerPool(registry, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        pool.close()

    app = FastAPI(
        title="ALGA",
        version=alga.__version__,
        description="Tiny Transformers that calculate one column at a time, certified on every step there is.",
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=schemas.ERRORS,
    )
    _add_error_handlers(app)
    for verb in SIGNS:
        _add_operation(app, pool, verb)
    _add_networks(app, pool)
    for path in sorted(PAGE.iterdir()):  # each file by its own route: no path in a request is ever opened
        if path.suffix in MEDIA_TYPES:
            _add_file(app, path)
    return RequestMiddleware(app, limits, bound, hosts)


def _add_error_handlers(app: FastAPI) -> None:
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
    async def unexpected(_: Request, __: Exception) -> JSONResponse:  # uvicorn logs it; the client learns nothing
        return JSONResponse({"error": "internal server error"}, 500)


def _add_operation(app: FastAPI, pool: WorkerPool, verb: str) -> None:
    """Add the routes of one operation: its answer, and its steps."""
    shown: dict[int | str, Any] = {200: {"content": {"application/json": {"example": ANSWER_EXAMPLE}}}}

    @app.post(f"/v1/{verb}", summary=f"{verb}: the answer", name=verb, responses=shown if verb == "add" else {})
    async def answer(numbers: schemas.Numbers) -> dict[str, Any]:
        check_digits(numbers.operands, pool.limits.digits)

        def job(worker: Worker, deadline: Deadline) -> dict[str, Any]:
            calculator = worker.calculator(numbers.base, numbers.model, numbers.engine)
            calculator.networks.given_for(verb)
            return calculator.solve(*numbers.operands, operation=verb, cancel=deadline).as_dict()

        deadline = Deadline(pool.limits.seconds)
        return await pool.run(job, deadline, long=await is_long_problem(numbers, deadline))

    @app.post(f"/v1/{verb}/many", summary=f"{verb}: the answers to many problems", name=f"{verb} many")
    async def many(asked: schemas.Problems) -> Response:
        check_digits([operand for problem in asked.problems for operand in problem], pool.limits.digits)

        def job(worker: Worker, deadline: Deadline) -> bytes:
            calculator = worker.calculator(asked.base, asked.model, asked.engine)
            calculator.networks.given_for(verb)
            results = calculator.solve_many(asked.problems, operation=verb, cancel=deadline)
            return content.as_json(content.answers(results))

        return Response(await pool.run(job, long=len(asked.problems) > FEW), media_type="application/json")

    @app.post(
        f"/v1/{verb}/steps",
        summary=f"{verb}: every step, as server-sent events",
        name=f"{verb} steps",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": schemas.STREAM}}}},
    )
    async def steps(numbers: schemas.Numbers) -> StreamingResponse:
        check_digits(numbers.operands, min(pool.limits.digits, pool.limits.steps))
        if numbers.engine not in (None, "sequential"):
            raise AlgaError(f"steps need the engine sequential, got {numbers.engine}")

        def solve(worker: Worker, listener: Listener, deadline: Deadline) -> dict[str, Any]:
            calculator = worker.calculator(numbers.base, numbers.model)
            calculator.networks.given_for(verb)
            result = calculator.trace(
                *numbers.operands, operation=verb, engine="sequential", listener=listener, cancel=deadline
            )
            return result.as_dict()

        long = is_long(verb, numbers.operands, numbers.base or 10, by_network=True)
        stream = Stream(pool, solve, long=long)
        return StreamingResponse(stream.events(await stream.first()), media_type="text/event-stream")

    async def is_long_problem(numbers: schemas.Numbers, deadline: Deadline) -> bool:
        by_network, model = numbers.engine in ("sequential", "whole"), numbers.model
        if model is not None and not by_network:
            by_network = await pool.run(lambda worker, _: worker.answers_itself(model), deadline)
            if by_network and numbers.engine == "table":
                return True  # the table is extracted first
        return is_long(verb, numbers.operands, numbers.base or 10, by_network=by_network)


def _add_networks(app: FastAPI, pool: WorkerPool) -> None:
    """Add the routes about the networks themselves."""
    registry = pool.registry

    async def respond(job: Job[dict[str, Any] | bytes], *, long: bool = False) -> Response:
        def work(worker: Worker, deadline: Deadline) -> bytes:  # encoding takes time too: a domain has megabytes
            found = job(worker, deadline)
            return found if isinstance(found, bytes) else content.as_json(found)

        return Response(await pool.run(work, long=long), media_type="application/json")

    def check_size(solver: Solver) -> int:
        """Return the cost of certifying a copy of a network; refuse one that is too large."""
        size, most = len(solver.trained.domain) * solver.run.config.model.parameters, pool.limits.damage
        if size > most:
            limit = f"{size:,} prompts × weights, up to {most:,} are allowed"
            raise RefusedError(413, f"{solver.run.name} is too large to be damaged here: {limit}")
        return size

    @app.get("/v1/models", summary="Every network that is served")
    async def models() -> Response:
        def job(worker: Worker, _: Deadline) -> dict[str, Any]:
            found = [worker.described(name) for name in registry.names]
            return {"first": registry.first, "verbs": SIGNS, "limits": vars(pool.limits), "models": found}

        return await respond(job)

    @app.get("/v1/certificate", summary="A network's certificate, and its meaning in words")
    async def certificate(model: Model = None) -> Response:
        name = model or registry.first

        def job(worker: Worker, deadline: Deadline) -> dict[str, Any]:
            solver = worker.solver(name)
            found = solver.run.certificate if solver.certified else None
            found = found or registry.cached("certificate", name, lambda: solver.certify(cancel=deadline))
            return {"model": name, **content.certificate(found, base=solver.procedure.layout.base)}

        known = await pool.run(lambda w, _: w.solver(name).certified or registry.is_cached("certificate", name))
        return await respond(job, long=not known)

    @app.get("/v1/domain", summary="Every prompt there is, with the network's output and margin")
    async def domain(model: Model = None) -> Response:
        name = model or registry.first
        return await respond(lambda worker, _: worker.domain(name), long=not registry.is_cached("domain", name))

    @app.get("/v1/step", summary="The inside of one step: probabilities and attention")
    async def step(
        prompt: Annotated[
            str, Query(min_length=1, max_length=64, description="As the network reads it.", examples=["15C77"])
        ],
        model: Model = None,
        amount: Annotated[float, Query(ge=-100, le=100, description="Of a damaged copy: added to the weight.")] = 0.0,
        tensor: Annotated[str | None, Query(max_length=200, description="The tensor of the weight.")] = None,
        index: Annotated[int | None, Query(ge=0, le=10**9, description="The index of the weight.")] = None,
    ) -> Response:
        def job(worker: Worker, _: Deadline) -> dict[str, Any]:
            solver = worker.solver(model or registry.first)
            if amount:
                check_size(solver)
                solver, _before = damage.damage(solver, damage.find_weight(solver, tensor, index), amount)
            return content.step(solver, prompt)

        return await respond(job)

    @app.get("/v1/weights", summary="The tensors of a network, and the weight that is damaged by default")
    async def weights(model: Model = None) -> Response:
        def job(worker: Worker, _: Deadline) -> dict[str, Any]:
            solver = worker.solver(model or registry.first)
            return {"tensors": damage.weights(solver), "favourite": vars(damage.default_weight(solver))}

        return await respond(job)

    @app.get("/v1/network", summary="Everything that a browser needs to run a network itself: shape, weights, prompts")
    async def network(model: Model = None) -> Response:
        name = model or registry.first
        return await respond(lambda worker, _: worker.network(name), long=not registry.is_cached("network", name))

    @app.post("/v1/damage", summary="Change one weight of a copy, and certify it again")
    async def damaged(wanted: schemas.Damage) -> Response:
        problem, max_steps = wanted.problem, pool.limits.steps
        check_digits(problem.operands if problem else [""], min(pool.limits.digits, max_steps))
        name = wanted.model or registry.first

        def job(worker: Worker, deadline: Deadline) -> dict[str, Any]:
            solver = worker.solver(name)
            weight = damage.find_weight(solver, wanted.tensor, wanted.index)
            return damage.report(worker, solver, weight, wanted.amount, problem, max_steps=max_steps, cancel=deadline)

        size = await pool.run(lambda worker, _: check_size(worker.solver(name)))
        long = problem is not None and is_long(problem.verb, problem.operands, 10, by_network=True)
        return await respond(job, long=long or size > LARGE)

    @app.get("/healthz", summary="Whether the server is up")
    async def health() -> dict[str, Any]:
        return {"ok": True, "version": alga.__version__}


def _add_file(app: FastAPI, path: Path) -> None:
    @app.get("/" if path.name == "index.html" else f"/{path.name}", include_in_schema=False)
    async def file() -> FileResponse:
        return FileResponse(path, media_type=MEDIA_TYPES[path.suffix])
