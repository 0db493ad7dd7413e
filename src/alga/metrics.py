"""What training measures: a check of the whole domain, kept as lines of metrics.jsonl and drawn as curves."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

import torch
from rapidfuzz.distance import Levenshtein
from torch import Tensor
from torch.nn import functional as F

from alga import files, plots
from alga.decoding import Decoder
from alga.errors import AlgaError
from alga.model import Transformer
from alga.sampling import Batch, Sampler
from alga.tasks import Task
from alga.tokens import PAD_ID, STOP

METRICS: Final = "metrics.jsonl"
LARGEST: Final = 2**28  # bytes of metrics.jsonl
CHUNK: Final = 8192  # instances whose loss is computed together


@dataclass(frozen=True)
class Measured:
    """What one check found, over every prompt of the domain."""

    evaluation_loss: float  # dropout off
    accuracy: float  # per cent
    edit_distance: float  # mean, between what is written and what should be
    wrong: int
    least_margin: float


@dataclass(frozen=True)
class Progress(Measured):
    """A check in its place in the training: a line of metrics.jsonl."""

    step: int
    loss: float  # mean since the last check
    learning_rate: float
    seconds: float  # of training and checking so far


def loss_of(model: Transformer, batch: Batch) -> Tensor:
    """Return the cross-entropy on the output positions, padding ignored."""
    logits_BOV = model(batch.ids_BL)
    return F.cross_entropy(logits_BOV.flatten(0, 1), batch.targets_BO.flatten(), ignore_index=PAD_ID)


@torch.no_grad()
def measure(task: Task, decoder: Decoder, sampler: Sampler) -> Measured:
    """Check the whole domain; the model is left in the mode that it came in."""
    decoder.refresh()  # a fused optimiser changes weights without telling
    decoded = decoder(list(task.domain))
    expected = [f"{instance.output}{STOP}" for instance in task.domain.values()]
    pairs = zip(decoded, expected, strict=True)
    distances = [Levenshtein.distance(step.text, text) for step, text in pairs if step.text != text]
    return Measured(
        evaluation_loss=_evaluation_loss(decoder.model, sampler.everything()),
        accuracy=100 * (1 - len(distances) / len(expected)),
        edit_distance=sum(distances) / len(expected),
        wrong=len(distances),
        least_margin=min(step.margin for step in decoded),
    )


def _evaluation_loss(model: Transformer, batch: Batch) -> float:
    """Return the loss with dropout off; many instances are taken in parts, which bounds memory."""
    training, total, count = model.training, 0.0, 0
    model.eval()
    for start in range(0, len(batch.ids_BL), CHUNK):
        part = Batch(batch.ids_BL[start : start + CHUNK], batch.targets_BO[start : start + CHUNK])
        tokens = int((part.targets_BO != PAD_ID).sum())
        total += loss_of(model, part).item() * tokens
        count += tokens
    model.train(training)
    return total / count


def note(folder: Path, progress: Progress) -> None:
    """Append a line; it is on disk before a checkpoint counts it."""
    row = {name: value if math.isfinite(value) else None for name, value in asdict(progress).items()}
    files.append(folder / METRICS, json.dumps({"step": progress.step} | row, allow_nan=False))


def cut(folder: Path, count: int) -> None:
    """Keep the first `count` lines: those after a checkpoint, a half-written last one too, will be written again."""
    path = folder / METRICS
    lines = files.read(path, LARGEST).splitlines(keepends=True) if path.exists() else []
    if len(lines) < count:
        raise AlgaError(f"{path} has lost lines: expected {count}, got {len(lines)}")
    _ = _rows(path, lines[:count])  # what is damaged is refused now, not when the training ends
    files.write(path, b"".join(lines[:count]))


def draw(folder: Path, title: str) -> None:
    """Draw the curves of a run into its folder, where it has any."""
    path = folder / METRICS
    rows = _rows(path, path.read_bytes().splitlines()) if path.exists() else []
    if rows:
        figure = plots.curves(rows, title)
        for suffix in plots.FORMATS:
            files.write(folder / f"curves{suffix}", plots.render(figure, suffix))


def _rows(path: Path, lines: list[bytes]) -> list[dict[str, float | None]]:
    """Return a check for each line; refuse what is none."""
    names = {each.name for each in fields(Progress)}
    try:
        rows = [json.loads(line) for line in lines]
        if any(row.keys() != names or not all(_measured(value) for value in row.values()) for row in rows):
            raise ValueError("expected the numbers of a check")
    except (ValueError, AttributeError, OverflowError, RecursionError) as problem:
        raise AlgaError(f"{path} is damaged: {problem}") from None
    return rows


def _measured(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
