"""The named recipes: functions that return a complete training configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.runs import config as configs
from alga.runs.config import Recipe


def paper() -> Recipe:
    """The paper's settings, unchanged; 40,000 iterations are the 20 epochs of the author's code."""
    return Recipe(
        name="paper", task="addition-padded", batch_size=512, learning_rate=5e-4, weight_decay=0.01, dropout=0.2,
        second_type_share=0.5, contexts="paper", steps=40_000, check_every=100, margin=0.0,
    )  # fmt: skip


def fast() -> Recipe:
    """The paper's network, certified with a wide margin in about 200 steps.

    Muon for the layers' matrices, averaged weights, no dropout, small initial embeddings, a high learning rate that
    decays early, little momentum, and sampling from the whole domain. docs/decisions.md lists what was tried.
    """
    return dataclasses.replace(
        fast_by_adamw(), learning_rate=6e-3, warmup_steps=10, final_rate=1.5e-3, beta1=0.65, matrix_rate=2.5,
        averaging=0.95, check_every=10, check_below=0.07,
    )  # fmt: skip


def fast_by_adamw() -> Recipe:
    """The recipe `fast` of version 0.1: the lab and the comparison were measured with it; `small` derives from it."""
    return Recipe(
        name="fast", task="addition", batch_size=128, learning_rate=4e-3, warmup_steps=50, decay_steps=200,
        final_rate=1e-3, weight_decay=0.01, beta1=0.8, beta2=0.99, embedding_scale=0.1, second_type_share=0.85,
        contexts="domain", steps=4_000, check_every=25, margin=5.0,
    )  # fmt: skip


def small() -> Recipe:
    """One narrow layer, for tasks with few prompts: a higher learning rate and no weight decay."""
    return dataclasses.replace(
        fast_by_adamw(), name="small", learning_rate=1e-2, decay_steps=1_000, final_rate=3e-3, weight_decay=0.0,
        embedding_scale=0.3, check_every=50, margin=7.0, width=16, layers=1, hidden=32,
    )  # fmt: skip


def smallest() -> Recipe:
    """59 parameters: width 2, nearly everything tied or left out. Few seeds succeed; docs/lab.md counts them."""
    return dataclasses.replace(
        small(), name="smallest", task="addition-padded", learning_rate=4e-2, warmup_steps=500, decay_steps=59_500,
        final_rate=4e-4, beta1=0.9, embedding_scale=0.5, start="normal", second_type_share=0.65, steps=60_000,
        check_every=500, patience=20_000, margin=2.0, width=2, heads=1, hidden=3, clip=1.0,
        options={
            "tied": True, "norms": "none", "biases": "hidden", "query_width": 1, "out": False, "positions": "..011123",
        },
    )  # fmt: skip


def smallest_26() -> Recipe:
    """26 trained numbers: a crowd of random starts, the best of which evolve; docs/decisions.md tells of the search."""
    return dataclasses.replace(
        smallest(), name="smallest-26", batch_size=128, learning_rate=5e-2, warmup_steps=200, decay_steps=7_800,
        final_rate=1e-3, steps=92_000, check_every=500, patience=0, margin=0.9, strength="proven", hidden=1, crowd=288,
        start_steps=8_000, evolved=8, turn=1_500, first_spread=2e-3,
        options={
            **smallest().options, "positions": "..011234", "parabola": 10, "silent": "12", "alike": "0 13",
            "values": "diagonal",
        },
    )  # fmt: skip


def whole() -> Recipe:
    """A reader of whole sums of up to five digits; docs/whole.md says why there is a price."""
    return Recipe(
        name="whole", task="addition-whole", batch_size=256, learning_rate=3e-3, warmup_steps=50, decay_steps=1_950,
        final_rate=1e-4, weight_decay=0.01, beta1=0.9, beta2=0.98, embedding_scale=0.2, second_type_share=0.0,
        contexts="domain", steps=2_500, check_every=250, margin=4.0, clip=1.0, layers=1, digits=5, price=0.02,
        distance_rate=10.0,
    )  # fmt: skip


def smallest_whole() -> Recipe:
    """The smallest reader of whole sums: digits on a parabola, nearly everything tied or left out; docs/whole.md."""
    return dataclasses.replace(
        whole(), name="smallest-whole", batch_size=80, learning_rate=2e-2, warmup_steps=200, decay_steps=39_800,
        final_rate=2e-4, weight_decay=0.0, beta2=0.99, embedding_scale=0.5, start="two-columns", steps=40_000,
        check_every=2_000, margin=1.0, width=2, heads=1, hidden=12, digits=4, price=0.005, distance_rate=3.0,
        value_rate=3.0,
        options={
            "reach": 1, "keys": False, "tied": True, "norms": "none", "biases": "hidden", "parts": False, "out": False,
            "curve": "parabola",
        },
    )  # fmt: skip


def release(task: str = "addition") -> Recipe:
    """The recipe of a shipped network, from its config; for a task that does not ship, the adder's.

    docs/decisions.md says how sizes were chosen.
    """
    name = "whole" if tasks.find(task).engine == "whole" else task if task in runs.shipped() else "addition"
    config = configs.load(Folder(runs.SHIPPED / name))
    return dataclasses.replace(Recipe(**config.training["recipe"]), task=task)


_RECIPES: dict[str, Callable[[], Recipe]] = {
    "paper": paper,
    "fast": fast,
    "small": small,
    "smallest": smallest,
    "smallest-26": smallest_26,
    "whole": whole,
    "smallest-whole": smallest_whole,
}


def names() -> tuple[str, ...]:
    """Return the names of all recipes."""
    return (*_RECIPES, "release")


def find(name: str, task: str | None = None) -> Recipe:
    """Return a recipe by name, for its own task or the given one.

    >>> find("paper").dropout, find("release", "parity").width
    (0.2, 16)
    """
    if name not in names():
        raise AlgaError(f"unknown recipe {name!r}; there are {', '.join(names())}")
    if name == "release":
        return release() if task is None else release(task)
    recipe = _RECIPES[name]()
    return recipe if task is None else dataclasses.replace(recipe, task=task)
