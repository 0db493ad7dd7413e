"""One check during a training: every prompt of the domain, by decoding or in one pass over the right outputs."""

from __future__ import annotations

from typing import Any

import torch

from alga.base.edit_distance import edit_distance
from alga.network.kinds import AnyDecoder
from alga.network.model import Transformer
from alga.network.reader import Reader
from alga.tasks import Domain
from alga.training.sampling import Sampler
from alga.training.sums import SumSampler


@torch.no_grad()
def measure(domain: Domain, decoder: AnyDecoder, sampler: Sampler | SumSampler) -> dict[str, Any]:
    """Check the whole domain and return the first five values of a Progress; the model stays in train or eval mode."""
    decoder.refresh()  # a fused optimiser changes weights unnoticed
    decoded = decoder(list(domain))
    expected = [decoder.tokens.written(instance.output) for instance in domain.values()]
    pairs = zip(decoded, expected, strict=True)
    distances = [edit_distance(step.text, text) for step, text in pairs if step.text != text]
    return {
        "evaluation_loss": _evaluation_loss(decoder.model, sampler),
        "accuracy": 100 * (1 - len(distances) / len(expected)),
        "edit_distance": sum(distances) / len(expected),
        "wrong": len(distances),
        "least_margin": min(step.margin for step in decoded),
    }


@torch.no_grad()
def measure_forced(domain: Domain, decoder: AnyDecoder, sampler: Sampler) -> dict[str, Any]:
    """Return the same as `measure` up to rounding, in a third of the time: only prompts that fail are decoded."""
    model = decoder.model
    assert isinstance(model, Transformer)
    training = model.training
    loss, margins_N = sampler.forced(model.eval())
    model.train(training)
    right_N = margins_N > 0  # false for NaN
    doubtful = [prompt for prompt, right in zip(domain, right_N.tolist(), strict=True) if not right]
    decoder.refresh()
    decoded = decoder(doubtful)
    pairs = [(step.text, decoder.tokens.written(domain[step.prompt].output)) for step in decoded]
    distances = [edit_distance(text, expected) for text, expected in pairs if text != expected]
    return {
        "evaluation_loss": loss,
        "accuracy": 100 * (1 - len(distances) / len(domain)),
        "edit_distance": sum(distances) / len(domain),
        "wrong": len(distances),
        "least_margin": min([*margins_N[right_N].tolist(), *(step.margin for step in decoded)]),
    }


def _evaluation_loss(model: Transformer | Reader, sampler: Sampler | SumSampler) -> float:
    """Return the loss with dropout off."""
    training = model.training
    model.eval()
    try:
        return sampler.evaluation_loss(model)  # type: ignore[arg-type]
    finally:
        model.train(training)
