"""Slow: the forward pass in the browser equals torch's, on every prompt and in every activation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from alga import runs
from alga.solve.solver import Solver

pytestmark = [pytest.mark.slow, pytest.mark.alone]

EVERY_PROMPT = 5_000  # of domains up to this size; of larger ones, every tenth
TOLERANCE = 1e-4  # of the largest number of an activation: torch's float32 itself errs by some 1e-5 of it
ROUNDED = {"smallest-26": 0.02}  # its logits are some 1e5, of which torch's float32 keeps 1e-7; the page has float64
ANSWERS = """async ([name, prompts]) => {
  const network = new Forward(await live.network(name));
  return prompts.map((prompt) => { const { text, margin } = network.answer(prompt); return [text, margin]; });
}"""
ACTIVATIONS = """async ([name, texts]) => {
  const network = new Forward(await live.network(name));
  return texts.map((text) => Object.fromEntries(Object.entries(network.run(text).activations)
    .map(([name, { shape, data }]) => [name, { shape, data: [...data] }])));
}"""


def step_networks() -> list[str]:
    return [name for name in runs.shipped() if Solver.load(name).run.config.task.engine != "whole"]


def test_answers_are_those_of_torch(page: Page, address: str) -> None:
    page.set_default_timeout(120_000)
    page.goto(address)
    checked = {}
    for name in step_networks():
        solver = Solver.load(name)
        prompts = list(solver.trained.domain)[:: 1 if len(solver.trained.domain) <= EVERY_PROMPT else 10]
        found = page.evaluate(ANSWERS, [name, prompts])
        steps = solver.step_decoder.by_torch(prompts)
        assert [text for text, _ in found] == [step.text for step in steps], name
        margins = np.array([step.margin for step in steps])
        apart = np.abs(np.array([margin for _, margin in found]) - margins).max()
        assert apart < TOLERANCE * margins.max() + ROUNDED.get(name, 0.0), name
        checked[name] = len(prompts)
    assert len(checked) == len(runs.shipped()) - 4  # those that read whole texts
    assert (checked["addition"], checked["smallest"], checked["parity"]) == (2300, 2100, 6)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *((name, "served") for name in ("addition", "smallest", "parity", "comparison-base-16")),
        *((name, "file") for name in ("addition", "smallest")),  # a file has these two
    ],
    indirect=["place"],
)
def test_every_activation_is_that_of_torch(name: str, page: Page, place: str) -> None:
    page.goto(place)
    network = Solver.load(name)
    domain = network.trained.domain
    chosen = list(domain.values())[:: max(1, len(domain) // 25)]
    texts = [f"{each.prompt}\n{each.output}" for each in chosen]
    found: list[dict[str, Any]] = page.evaluate(ACTIVATIONS, [name, texts])
    for text, activations in zip(texts, found, strict=True):
        _, cache = network.run_with_cache([text])
        assert list(activations) == list(cache)
        for hook, activation in activations.items():
            theirs = cache[hook][0].detach().numpy()
            ours = np.array(activation["data"]).reshape(activation["shape"])
            assert ours.shape == theirs.shape, hook
            seen = np.isfinite(theirs)
            assert (seen == np.isfinite(ours)).all(), hook
            largest = max(1.0, np.abs(theirs[seen]).max())
            assert np.abs(ours[seen] - theirs[seen]).max() < TOLERANCE * largest, (text, hook)


def test_changed_weight_changes_the_answers_as_in_torch(page: Page, address: str) -> None:
    import torch

    page.goto(address)
    network = Solver.load("smallest")
    prompts = list(network.trained.domain)
    changed = """async ([tensor, index, value, prompts]) => {
      const network = new Forward(await live.network("smallest"));
      network.weights[tensor][index] = value;
      return prompts.map((prompt) => network.answer(prompt).text);
    }"""
    model = network.decoder.model
    assert isinstance(model, torch.nn.Module)
    with torch.no_grad():
        model.get_parameter("token_embedding.weight")[5, 0] += 4.0
        value = float(model.get_parameter("token_embedding.weight")[5, 0])
    texts = [step.text for step in network.step_decoder.by_torch(prompts)]
    assert page.evaluate(changed, ["token_embedding.weight", 10, value, prompts]) == texts
    assert sum(text != f"{network.trained.domain[p].output}S" for p, text in zip(prompts, texts, strict=True)) > 0


def test_erf_is_exact(page: Page, address: str) -> None:
    import math

    page.goto(address)
    points = [i / 97 - 8 for i in range(1552)]
    found = page.evaluate("(points) => points.map(Forward.erf)", points)
    assert max(abs(math.erf(x) - y) for x, y in zip(points, found, strict=True)) < 1e-12
