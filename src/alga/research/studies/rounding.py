"""Which networks survive having their weights rounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from alga import runs
from alga.research import markdown, trials
from alga.research.figures import Panel, Series
from alga.research.statistics import median, share
from alga.research.studies.study import Record, Settings, Study, of, seeds
from alga.runs import config as configs
from alga.training import recipes

if TYPE_CHECKING:
    from torch import Tensor

STORED_FORMATS: Final = ("bfloat16", "float16", "int8", "int4")


class RoundingStudy(Study):
    """Weights rounded to fewer bits, then every prompt checked again."""

    name = "rounding"
    title = "Rounded weights"
    caption = "Rounded weights: shares and medians, 95 % intervals"
    measure = "alga.research.studies.rounding:measure"

    def plan(self, quick: bool) -> list[Settings]:
        models = ("addition", "parity") if quick else _that_take_steps()
        return [*trials.grid(recipes.fast_by_adamw(), {}, seeds(quick)), *({"model": model} for model in models)]

    def record(self, settings: Settings, result: Record) -> Record:
        return {"model": settings.get("model"), "seed": settings.get("seed"), **result}

    def findings(self, records: Sequence[Record]) -> Record:
        trained, shipped = _split(records)
        table = [["weights", "adders certified", "their least margin", "shipped networks certified"]]
        for name in ("float32", *STORED_FORMATS):
            right = _right(trained, name)
            margin = f"{median(_margins(right, name)):.2f}" if right else "-"
            table.append([name, of(right, trained), margin, of(_right(shipped, name), shipped)])
        fallen = [["shipped network that fails somewhere", *STORED_FORMATS]]
        lost = []
        for record in shipped:
            wrong = {name: record[name]["wrong"] for name in STORED_FORMATS if record[name]["wrong"]}
            if wrong:
                cells = [f"{wrong[n]:,} wrong" if n in wrong else f"{record[n]['margin']:.2f}" for n in STORED_FORMATS]
                fallen.append([record["model"], *cells])
            if early := [name for name in wrong if name != "int4"]:
                lost.append(f"{record['model']} ({', '.join(early)})")
        own, ours = ({name: len(_right(group, name)) for name in STORED_FORMATS} for group in (trained, shipped))
        return {
            "adders": len(trained),
            "networks": len(shipped),
            "own": own,
            "ours": ours,
            "lost": ", ".join(lost) or "none",
            "table": markdown.table(*table),
            "fallen": markdown.table(*fallen) if len(fallen) > 1 else "",
        }

    def panels(self, records: Sequence[Record]) -> list[Panel]:
        trained, shipped = _split(records)
        names = ("float32", *STORED_FORMATS)
        margins = [(i, median(_margins(r, name))) for i, name in enumerate(names) if (r := _right(trained, name))]
        shares = [
            Series(label, [(i, share(len(_right(group, name)), len(group))) for i, name in enumerate(names)])
            for label, group in (("adders by fast", trained), ("shipped networks", shipped))
        ]
        return [
            Panel("weights kept in", "share certified", shares, names=names),
            Panel("weights kept in", "least margin", [Series("", margins)], names=names),
        ]


def measure(settings: Settings) -> Record:
    """Train or load a network, round its weights to every format, and check each."""
    run = runs.load(settings["model"]) if "model" in settings else trials.trained(settings)[0].as_run()
    exact = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    results = {"float32": _checked(run)}
    for name, rounded in _rounders().items():
        run.model.load_state_dict({key: rounded(tensor) for key, tensor in exact.items()})
        results[name] = _checked(run)
    return results


def _checked(run: runs.Run) -> Record:
    certificate = run.judged().certificate
    assert certificate is not None
    margin = certificate.least_margin
    return {"wrong": len(certificate.failures), "margin": None if margin is None else round(margin, 3)}


def _rounders() -> dict[str, Callable[[Tensor], Tensor]]:
    import torch

    def to_grid(tensor: Tensor, largest: int) -> Tensor:
        rows = tensor.reshape(-1, tensor.shape[-1])
        scale = rows.abs().amax(dim=1, keepdim=True).clamp_min(1e-30) / largest
        return ((rows / scale).round() * scale).reshape(tensor.shape)

    return {
        "bfloat16": lambda tensor: tensor.to(torch.bfloat16).to(torch.float32),
        "float16": lambda tensor: tensor.to(torch.float16).to(torch.float32),
        "int8": lambda tensor: to_grid(tensor, 127),
        "int4": lambda tensor: to_grid(tensor, 7),
    }


def _that_take_steps() -> list[str]:
    """Return the shipped networks that answer prompts, whose answers need no bound beyond."""
    return [name for name in runs.shipped() if not configs.load(runs.SHIPPED / name).model.needs_bound]


def _split(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Return the records of trained adders, and those of shipped networks."""
    shipped = [record for record in records if record["model"] is not None]
    return [record for record in records if record["model"] is None], shipped


def _right(records: Sequence[Record], name: str) -> list[Record]:
    return [record for record in records if record[name]["wrong"] == 0]


def _margins(records: Sequence[Record], name: str) -> list[float]:
    return [record[name]["margin"] for record in records]
