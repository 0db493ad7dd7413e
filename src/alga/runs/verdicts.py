"""Which prompts were right after each kept step of a training, a bit each: `checkpoints/right.json` in its run folder.

Bit i of a step, counted from the lowest bit of the first byte, is 1 if prompt i of the domain was answered right. The
file is replaced as a whole; a step that is written again, by a resumed run, replaces its old entry.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from alga.base.errors import AlgaError, Blaming
from alga.base.folders import Folder
from alga.runs import intermediate

RIGHT: Final = "right.json"
LARGEST: Final = 2**26  # bytes: some 150,000 steps of the adder


@dataclass(frozen=True)
class Verdict:
    """One kept step: the mean loss since the check before it (None at the start), and which prompts were right."""

    step: int
    loss: float | None
    right: tuple[bool, ...]


def write(run: Folder, verdict: Verdict) -> None:
    """Add the verdict on one step, or replace it."""
    inside = intermediate.kept_folder(run, create=True)
    assert inside is not None
    known = {each.step: each for each in _read(inside)} | {verdict.step: verdict}
    steps = [known[step] for step in sorted(known)]
    content = {
        "prompts": len(verdict.right),
        "steps": [each.step for each in steps],
        "losses": [each.loss for each in steps],
        "right": [packed(each.right) for each in steps],
    }
    inside.write(RIGHT, json.dumps(content, allow_nan=False).encode())


def read(run: Folder) -> list[Verdict]:
    """Return the verdicts on all kept steps, in order; empty if there are none."""
    inside = intermediate.kept_folder(run)
    return [] if inside is None else _read(inside)


def packed(right: Sequence[bool]) -> str:
    """Return bits as base64, eight to a byte.

    >>> packed([True, False, False, True]), unpacked("CQ==", 4)
    ('CQ==', (True, False, False, True))
    """
    number = sum(1 << i for i, bit in enumerate(right) if bit)
    return base64.b64encode(number.to_bytes((len(right) + 7) // 8, "little")).decode()


def unpacked(text: str, count: int) -> tuple[bool, ...]:
    """Return so many bits from base64; refuse any other number of them."""
    data = base64.b64decode(text, validate=True)
    number = int.from_bytes(data, "little")
    if len(data) != (count + 7) // 8 or number >> count:
        raise ValueError(f"expected {count} bits, got {len(data)} bytes")
    return tuple(bool(number >> i & 1) for i in range(count))


def _read(inside: Folder) -> list[Verdict]:
    if not inside.has(RIGHT):
        return []
    path = inside.path / RIGHT
    with Blaming(f"{path} is damaged"):
        content = json.loads(inside.read(RIGHT, LARGEST))
        count, steps, losses, right = (content[name] for name in ("prompts", "steps", "losses", "right"))
        if type(count) is not int or not 0 < count <= LARGEST or steps != sorted(set(steps)):
            raise AlgaError(f"{path} is damaged: expected steps in order")
        if not all(type(step) is int and step >= 0 for step in steps):
            raise AlgaError(f"{path} is damaged: a step is not a number of steps")
        if not all(loss is None or (type(loss) is float and math.isfinite(loss)) for loss in losses):
            raise AlgaError(f"{path} is damaged: a loss is not a number")
        rows = zip(steps, losses, right, strict=True)
        return [Verdict(step, loss, unpacked(bits, count)) for step, loss, bits in rows]
