"""Two runs side by side: settings, curves of their trainings, and the prompts that they answer differently."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from alga import runs, tasks
from alga.base.folders import Folder
from alga.runs import Run
from alga.runs.config import Recipe
from alga.solve.calculator import Calculator
from alga.solve.solver import Solver
from alga.tasks import Task
from alga.training import metrics

SHOWN: Final = 10  # prompts in the text; `as_dict` has all
Given = str | os.PathLike[str] | Calculator


@dataclass(frozen=True)
class Answer:
    """A prompt that two networks answer differently; an answer is None if the text is not a valid output."""

    prompt: str
    expected: str | None
    a: str | None
    b: str | None


@dataclass(frozen=True)
class Curve:
    """A training in a few numbers, and all its checks: the lines of metrics.jsonl."""

    checks: int
    steps: int
    seconds: float | None
    all_right_at: int | None  # the first step at which every prompt was right
    least_margin: float | None
    evaluation_loss: float | None
    rows: tuple[Mapping[str, float | None], ...] = ()

    @property
    def numbers(self) -> dict[str, float | None]:
        """The few numbers by name."""
        return {name: value for name, value in vars(self).items() if name != "rows"}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What differs between two runs; `str` is for people, `as_dict` for programs."""

    a: str
    b: str
    settings: Mapping[str, tuple[Any, Any]]  # those that differ
    same_weights: bool
    certified: tuple[bool, bool]
    curves: tuple[Curve | None, Curve | None]  # None without metrics
    prompts: int  # that both have
    only: tuple[int, int]  # prompts that only one of them has
    answers: tuple[Answer, ...]

    @property
    def same_answers(self) -> bool:
        """Whether both answer the same prompts, all of them alike."""
        return not self.answers and self.only == (0, 0)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "a": self.a,
            "b": self.b,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
            "same_weights": self.same_weights,
            "certified": list(self.certified),
            "curves": [None if curve is None else {**vars(curve), "rows": list(curve.rows)} for curve in self.curves],
            "prompts": self.prompts,
            "only": list(self.only),
            "answers": [vars(answer) for answer in self.answers],
        }

    def __str__(self) -> str:
        lines = [f"a: {self.a}{'' if self.certified[0] else ' (not certified)'}"]
        lines += [f"b: {self.b}{'' if self.certified[1] else ' (not certified)'}", ""]
        lines += _table("settings", [(name, *map(_text, pair)) for name, pair in self.settings.items()])
        lines += [*([] if self.settings else ["the same settings"]), ""]
        if self.curves[0] is not None and self.curves[1] is not None:
            pairs = zip(self.curves[0].numbers.items(), self.curves[1].numbers.values(), strict=True)
            lines += _table("training", [(name.replace("_", " "), _text(x), _text(y)) for (name, x), y in pairs])
            lines += [""]
        lines += ["the same weights"] if self.same_weights else []
        alike = self.prompts - len(self.answers)
        lines += [f"{alike:,} of {self.prompts:,} prompts answered alike"]
        if any(self.only):
            lines += [f"{self.only[0]:,} prompts only in a, {self.only[1]:,} only in b"]
        if self.answers:
            rows = [(each.prompt, *map(_text, (each.a, each.b, each.expected))) for each in self.answers[:SHOWN]]
            lines += ["", *_table("prompt", rows, "right for a" if "task" in self.settings else "right")]
        if len(self.answers) > SHOWN:
            lines += [f"… and {len(self.answers) - SHOWN:,} more"]
        return "\n".join(lines)


def diff(a: Given, b: Given, *, task: str | Task | type[Task] | None = None) -> Difference:
    """Compare two runs: shipped networks by name, run folders by path, or calculators.

    Networks for a task of your own need the `task` too, as for `alga.load`.

    >>> import alga
    >>> found = alga.diff("addition", "smallest")
    >>> found.settings["task"], found.prompts, len(found.answers), found.only
    (('addition', 'addition-padded'), 2100, 0, (200, 0))
    """
    if task is not None:
        tasks.adopt(task)
    first, second = (_network(given) for given in (a, b))
    left, right = first.table.outputs, second.table.outputs
    shared = [prompt for prompt in left if prompt in right]
    exact = first.trained.domain
    return Difference(
        a=first.run.name,
        b=second.run.name,
        settings=_settings(first.run, second.run),
        same_weights=first.run.sha256 == second.run.sha256,
        certified=(first.certified, second.certified),
        curves=(_curve(a), _curve(b)),
        prompts=len(shared),
        only=(len(left) - len(shared), len(right) - len(shared)),
        answers=tuple(
            Answer(prompt, exact[prompt].output if prompt in exact else None, left[prompt], right[prompt])
            for prompt in shared
            if left[prompt] != right[prompt]
        ),
    )


def _network(given: Given) -> Solver:
    return given.network if isinstance(given, Calculator) else Solver.load(given)


def _settings(a: Run, b: Run) -> dict[str, tuple[Any, Any]]:
    """Return the settings of task, network and training that differ; one that a run does not have is None."""
    x, y = (_flat(run) for run in (a, b))
    return {name: (x.get(name), y.get(name)) for name in x | y if x.get(name) != y.get(name)}


def _flat(run: Run) -> dict[str, Any]:
    """Return all settings by name, also those that older runs do not have in their files."""
    training, shape = dict(run.config.training), run.config.model
    stated = training.pop("recipe", None)
    recipe = {} if stated is None else dataclasses.asdict(Recipe(**stated))
    own = {f"recipe.{name}": value for name, value in recipe.items() if name not in ("task", "options", *vars(shape))}
    return {"task": run.config.task.name, "kind": shape.kind, **vars(shape), **training, **own}


def _curve(given: Given) -> Curve | None:
    """Return the curve of a run folder; a calculator's is not known."""
    rows = [] if isinstance(given, Calculator) else metrics.rows(Folder(runs.locate(given)))
    if not rows:
        return None
    right = next((row["step"] for row in rows if row["wrong"] == 0), None)
    last = rows[-1]
    return Curve(
        checks=len(rows),
        steps=int(last["step"] or 0),
        seconds=last["seconds"],
        all_right_at=None if right is None else int(right),
        least_margin=last["least_margin"],
        evaluation_loss=last["evaluation_loss"],
        rows=tuple(rows),
    )


def _text(value: object) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(title: str, rows: list[tuple[str, ...]], *more: str) -> list[str]:
    """Return rows under a title, in columns."""
    if not rows:
        return []
    head = (title, "a", "b", *more)
    wide = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, wide, strict=True)).rstrip() for row in (head, *rows)]
