"""Slow: training in the browser: its gradients are torch's, its tasks ours, and it ends with every prompt right."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch.nn import functional as F

from alga import tasks
from alga.network.model import Transformer
from alga.network.tokens import PAD_ID, Tokens
from alga.solve.solver import Solver

pytestmark = [pytest.mark.slow, pytest.mark.alone]

GRADIENTS = """async (name) => {
  const description = await live.network(name), forward = new Forward(description);
  const zeros = (array) => new Float64Array(array.length);
  const gradients = Object.fromEntries(Object.entries(forward.weights).map(([name, array]) => [name, zeros(array)]));
  let loss = 0, tokens = 0;
  description.prompts.forEach((prompt, i) => {
    const [more, count] = Trainer.addGradient(forward, gradients, prompt, description.outputs[i]);
    loss += more;
    tokens += count;
  });
  const mean = ([name, array]) => [name, [...array].map((value) => value / tokens)];
  return { loss: loss / tokens, gradients: Object.fromEntries(Object.entries(gradients).map(mean)) };
}"""


def part(page: Page, name: str) -> Locator:
    return page.locator(f'#train-here [data-part="{name}"]')


def opened(page: Page, place: str) -> None:
    page.goto(place)
    page.locator("#train-here").scroll_into_view_if_needed()
    expect(part(page, "status")).to_have_text("6 questions, 2,528 numbers, nothing learned yet.")


@pytest.mark.parametrize("name", ["parity", "comparison-base-2", "addition-base-2"])
def test_gradients_are_those_of_torch(name: str, page: Page, address: str) -> None:
    page.goto(address)
    found = page.evaluate(GRADIENTS, name)
    solver = Solver.load(name)
    domain, tokens = solver.trained.domain, Tokens.of(solver.trained.domain)
    model = solver.decoder.model
    assert isinstance(model, Transformer)
    targets = torch.tensor(tokens.outputs([each.output for each in domain.values()]))
    prompts = torch.tensor([[*row, tokens.ids["\n"]] for row in tokens.prompts(domain)])
    model.double().zero_grad()
    logits = model(torch.cat([prompts, targets[:, :-1]], dim=1))
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD_ID)
    loss.backward()
    assert found["loss"] == pytest.approx(loss.item(), rel=1e-6)
    largest = max(parameter.grad.abs().max().item() for parameter in model.parameters() if parameter.grad is not None)
    assert found["gradients"].keys() == dict(model.named_parameters()).keys()
    for tensor, parameter in model.named_parameters():
        assert parameter.grad is not None
        ours = np.array(found["gradients"][tensor]).reshape(parameter.shape)
        assert np.abs(ours - parameter.grad.numpy()).max() < 1e-6 * largest, tensor


@pytest.mark.parametrize(
    ("task", "code"),
    [("parity", "parity()"), ("comparison-base-4", "comparison()"), ("comparison", 'comparison("0123456789")')],
)
def test_tasks_are_ours(task: str, code: str, page: Page, address: str) -> None:
    page.goto(address)
    found: dict[str, Any] = page.evaluate(f"Trainer.shapeOf(Trainer.tasks.{code})")
    domain = tasks.find(task).domain
    assert dict(zip(found["prompts"], found["outputs"], strict=True)) == {p: each.output for p, each in domain.items()}
    tokens = Tokens.of(domain)
    assert found["vocabulary"] == list(tokens.vocabulary)
    assert (found["shape"]["input_length"], found["shape"]["output_length"]) == (
        tokens.input_length,
        tokens.output_length,
    )
    assert [found["contexts"], found["columns"]] == [*map(list, domain.axes)]


@pytest.mark.parametrize(("task", "prompts"), [("parity", 6), ("comparison", 64), ("rule", 12)])
def test_network_learns_every_prompt(task: str, prompts: int, page: Page, place: str) -> None:
    opened(page, place)
    part(page, "task").select_option(task)
    expect(part(page, "status")).to_contain_text(f"{prompts} questions,")
    part(page, "start").click()
    expect(part(page, "start")).to_have_text("Stop")
    expect(part(page, "status")).to_contain_text(
        re.compile(f"^All {prompts} answers are right, with a lead of [\\d.]+ or more: checked in this browser"),
        timeout=60_000,
    )
    expect(part(page, "status")).to_have_text(re.compile(r"walked 1,000 random columns and ended with .: right\.$"))
    expect(page.locator("#train-here canvas")).to_have_attribute("data-right", str(prompts))
    expect(part(page, "start")).to_have_text("Train")
    assert "certif" not in page.locator("#train-here").inner_text().lower()
    if prompts <= 16:
        expect(page.locator("#train-here .chips .right")).to_have_count(prompts)


def test_changed_rule_is_not_learned_yet(page: Page, place: str) -> None:
    opened(page, place)
    part(page, "task").select_option("rule")
    part(page, "start").click()
    expect(page.locator("#train-here")).to_have_attribute("data-state", "good")
    changed = part(page, "rule").locator("button").nth(7)
    changed.click()
    expect(changed).to_have_accessible_name("After 1, for 11: 0")
    expect(changed).to_be_focused()
    expect(part(page, "status")).to_have_text("12 questions, 2,544 numbers, nothing learned yet.")
    expect(page.locator("#train-here .chips .right")).to_have_count(0)
    part(page, "start").click()
    expect(page.locator("#train-here")).to_have_attribute("data-state", "good")
    expect(page.locator("#train-here .chips")).to_contain_text("1C11 → 0S ✓")


STOP_AT_FIRST_STEP = """() => new Promise((stopped) => {
  const part = (name) => document.querySelector(`#train-here [data-part="${name}"]`);
  const start = part("start"), status = part("status");
  new MutationObserver((_, watching) => {
    if (!status.textContent.startsWith("Step ")) return;
    watching.disconnect();
    start.click();
    stopped();
  }).observe(status, { childList: true });
  start.click();
})"""


def test_training_can_be_stopped(page: Page, address: str) -> None:
    opened(page, address)
    part(page, "task").select_option("comparison")
    page.evaluate(STOP_AT_FIRST_STEP)
    expect(part(page, "start")).to_have_text("Train")
    told = part(page, "status").inner_text()
    page.wait_for_timeout(500)
    assert part(page, "status").inner_text() == told
    assert "All" not in told


def test_same_seed_learns_the_same(page: Page, address: str) -> None:
    opened(page, address)
    ends = page.evaluate(
        """() => [1, 1, 2].map((seed) => {
          const reports = [...Trainer.course(Trainer.shapeOf(Trainer.tasks.parity()), seed)];
          return JSON.stringify([reports.at(-1).step, [...reports.at(-1).weights["head.weight"]]]);
        })"""
    )
    assert ends[0] == ends[1] != ends[2]
