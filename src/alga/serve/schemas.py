"""Request bodies as strict schemas, and the responses that OpenAPI describes, with examples."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

# The pattern only documents. Numbers are validated where they are read, with a message for their base.
Digits = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^-?[0-9a-zA-Z]+$"})]
Verb = Literal["add", "sub", "mul", "divmod", "cmp"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]

EXAMPLE: Final[dict[str, Any]] = {"operands": ["65785", "8765"]}
MANY_EXAMPLE: Final[dict[str, Any]] = {"problems": [["1", "2"], ["30", "40"]]}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Asked(_Strict):
    """How a problem is to be solved."""

    engine: Literal["table", "sequential", "lookahead", "whole"] | None = Field(
        None, description="How steps are chained; default: `table` if the network is certified, else `sequential`."
    )
    model: Name | None = Field(None, description="A network of `/v1/models` to use for its kind of step.")
    base: int | None = Field(None, ge=2, le=36, description="The base of the numbers; default: the model's, or 10.")


class Numbers(_Asked):
    """A problem: numbers as text, of any length."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    operands: list[Digits] = Field(
        min_length=2, max_length=64, description="Two numbers, or more for `add`; each may have a minus sign."
    )


class Problems(_Asked):
    """Many problems of one operation."""

    model_config = ConfigDict(json_schema_extra={"examples": [MANY_EXAMPLE]})

    problems: list[Annotated[list[Digits], Field(min_length=2, max_length=64)]] = Field(
        min_length=1, max_length=100_000, description="The numbers of each problem."
    )


class AskedProblem(_Strict):
    """A problem for a damaged copy, which replaces its original there."""

    verb: Verb
    operands: list[Digits] = Field(min_length=2, max_length=64)
    model: Name | None = Field(default=None, description="A network to use, as in the operation itself.")


class Damage(_Strict):
    """One weight changed by an amount, in a copy of the network."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"amount": 2.0, "problem": {"verb": "add", **EXAMPLE}}]})

    amount: float = Field(ge=-100, le=100, description="Added to the weight.")
    tensor: Name | None = Field(None, description="A tensor of `/v1/weights`; default: the token embedding.")
    index: int | None = Field(None, ge=0, le=10**9, description="Which number of the tensor; default: the largest.")
    model: Name | None = Field(None, description="A network of `/v1/models`.")
    problem: AskedProblem | None = Field(None, description="What to solve; default: a problem that goes wrong, if any.")


STREAM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["problem", "steps", "note", "done", "error"]},
        "data": {"type": "string", "description": "JSON on one line."},
    },
    "required": ["event", "data"],
}

_ERROR: Final = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": meaning, "content": {"application/json": {"schema": _ERROR, "example": {"error": message}}}}
    for status, meaning, message in (
        (400, "The request cannot be parsed", "there was an error parsing the body"),
        (
            403,
            "From another site's page",
            "requests from other sites are refused, got the origin 'https://example.org'",
        ),
        (404, "Not found", "no model 'abacus' is served here; /v1/models lists all models"),
        (408, "The request arrived too slowly", "the request took longer than 10 seconds to arrive"),
        (413, "Over a limit", "a number may have up to 100,000 digits here, got 200,000"),
        (422, "Bad input", "a number has only the digits 0-9, got 'x' at position 3"),
        (503, "Too busy", "too busy: 132 short requests are in progress; try again soon"),
        (504, "Out of time", "the answer took longer than 10 seconds, the limit here"),
    )
}
