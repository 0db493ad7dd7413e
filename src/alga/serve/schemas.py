"""What requests say, as schemas with examples: strict, and nothing besides."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

# The pattern is for readers. What is no number is refused where numbers are read, in words and for the base at hand.
Digits = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^-?[0-9a-zA-Z]+$"})]
Verb = Literal["add", "sub", "mul", "divmod", "cmp"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]

EXAMPLE: Final[dict[str, Any]] = {"operands": ["65785", "8765"]}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Numbers(_Strict):
    """A problem: numbers as text of digits, so that none is too long."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [EXAMPLE]})

    operands: list[Digits] = Field(
        min_length=2, max_length=64, description="Two numbers; `add` takes more. A minus sign may stand before each."
    )
    engine: Literal["table", "sequential", "lookahead"] | None = Field(
        None, description="How steps are chained; `table` where the network is certified, else `sequential`."
    )
    model: Name | None = Field(None, description="A network of `/v1/models` for its kind of step; shipped ones else.")
    base: int | None = Field(None, ge=2, le=36, description="The base of the numbers; 10, or the model's.")


class Problem(_Strict):
    """A problem for a damaged copy, which takes the place of its network there."""

    verb: Verb
    operands: list[Digits] = Field(min_length=2, max_length=64)
    model: Name | None = Field(default=None, description="A network that is asked for, as in the operation itself.")


class Damage(_Strict):
    """One weight moved by an amount, in a copy of the network."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"amount": 2.0, "problem": {"verb": "add", **EXAMPLE}}]},
    )

    amount: float = Field(ge=-100, le=100, description="What is added to the weight.")
    tensor: Name | None = Field(None, description="Which tensor; `/v1/weights` lists them. The embedding else.")
    index: int | None = Field(None, ge=0, le=10**9, description="Which of its numbers; the favourite one else.")
    model: Name | None = Field(None, description="A network of `/v1/models`.")
    problem: Problem | None = Field(None, description="A problem for the damaged network; a telling one else.")


def error(status: int, message: str) -> dict[str, Any]:
    """Return how an error is documented."""
    schema = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "description": {
            400: "The request cannot be read",
            403: "It comes from another site's page",
            404: "There is no such thing",
            408: "The request came too slowly",
            413: "The request is too large",
            422: "The request makes no sense",
            503: "Too busy",
            504: "It took too long",
        }[status],
        "content": {"application/json": {"schema": schema, "example": {"error": message}}},
    }


STREAM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["problem", "steps", "note", "done", "error"]},
        "data": {"type": "string", "description": "JSON on one line."},
    },
    "required": ["event", "data"],
}

ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    400: error(400, "there was an error parsing the body"),
    403: error(403, "pages of other sites may not ask here, got the origin 'https://example.org'"),
    404: error(404, "no model 'abacus' is served here; /v1/models lists those that are"),
    408: error(408, "the request took longer than 10 seconds to arrive"),
    413: error(413, "a number may have up to 100,000 digits here, got 200,000"),
    422: error(422, "a number has only the digits 0-9, got 'x' at position 3"),
    503: error(503, "too busy: 132 requests are under way; try again in a moment"),
    504: error(504, "the answer took longer than 10 seconds, which is the limit here"),
}
