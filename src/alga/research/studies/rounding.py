"""Which networks survive having their weights rounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from alga import runs
from alga.research import figures, trials
from alga.research.statistics import median, share
from alga.research.studies.study import Findings, Record, Study
from alga.training import recipes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from alga.research.sweeps import Settings
    from alga.runs import Run

FORMATS: Final = ("bfloat16", "float16", "int8", "int4")


class Rounding(Study):
    """Weights rounded to fewer bits, then every prompt checked again."""

    name = "rounding"
    title = "Rounded weights"
    question = "Are the networks still right everywhere when their weights are kept in 16, 8 or 4 bits?"
    method = (
        "Every weight is rounded and the rounded network judged in float32 on every prompt. bfloat16 and float16: each "
        "weight to the nearest; int8 and int4: each row of a matrix scaled so that its largest weight is 127 or 7, "
        "then rounded to whole numbers; biases and norms are rounded likewise, each as one row. Ten adders by `fast` "
        "(margin 5 at least), and every shipped network."
    )
    measure = "alga.research.studies.rounding:measure"

    def plan(self, quick: bool) -> list[Settings]:
        seeds = range(2 if quick else 10)
        models = ("addition", "parity") if quick else runs.shipped()
        trained = [trials.settings(recipes.fast(), seed) for seed in seeds]
        return [*trained, *({"model": model} for model in models)]

    def record(self, settings: Settings, result: dict[str, Any]) -> Record:
        return {"model": settings.get("model"), "seed": settings.get("seed"), **result}

    def findings(self, records: Sequence[Record]) -> Findings:
        trained = [record for record in records if record["model"] is None]
        shipped = [record for record in records if record["model"] is not None]
        table = [["weights", "adders certified", "their least margin", "shipped networks certified"]]
        for name in ("float32", *FORMATS):
            right = [record[name]["margin"] for record in trained if record[name]["wrong"] == 0]
            table.append(
                [
                    name,
                    f"{len(right)} of {len(trained)}",
                    f"{median(right):.2f}" if right else "-",
                    f"{_right(shipped, name)} of {len(shipped)}",
                ]
            )
        fallen = [["shipped network that fails somewhere", *FORMATS]]
        for record in shipped:
            if any(record[name]["wrong"] for name in FORMATS):
                verdicts = [
                    f"{record[name]['wrong']:,} wrong" if record[name]["wrong"] else f"{record[name]['margin']:.2f}"
                    for name in FORMATS
                ]
                fallen.append([record["model"], *verdicts])
        counts = {name: _right(trained, name) for name in FORMATS}
        answer = (
            f"Of {len(trained)} adders {counts['float16']} are certified in float16, {counts['bfloat16']} in bfloat16, "
            f"{counts['int8']} in int8 and {counts['int4']} in int4. Of the {len(shipped)} shipped networks "
            f"{_right(shipped, 'float16')}, {_right(shipped, 'bfloat16')}, {_right(shipped, 'int8')} and "
            f"{_right(shipped, 'int4')} are."
        )
        lost = ", ".join(
            f"{record['model']} ({', '.join(name for name in FORMATS[:3] if record[name]['wrong'])})"
            for record in shipped
            if any(record[name]["wrong"] for name in FORMATS[:3])
        )
        failed = f"With 8 bits or more these shipped networks are no longer right everywhere: {lost or 'none'}."
        return Findings(answer, failed, [table, fallen] if len(fallen) > 1 else [table])

    def figure(self, records: Sequence[Record]) -> Figure:
        trained = [record for record in records if record["model"] is None]
        shipped = [record for record in records if record["model"] is not None]
        names = ("float32", *FORMATS)
        margins = []
        for i, name in enumerate(names):
            if right := [record[name]["margin"] for record in trained if record[name]["wrong"] == 0]:
                margins.append((i, median(right)))
        certified = [
            figures.Series(label, [(i, share(_right(group, name), len(group))) for i, name in enumerate(names)])
            for label, group in (("adders by fast", trained), ("shipped networks", shipped))
        ]
        panels = [
            figures.Panel("weights kept in", "share certified", certified, names=names),
            figures.Panel("weights kept in", "least margin", [figures.Series("adders", margins)], names=names),
        ]
        return figures.study(panels, "Rounded weights: shares and medians, 95 % intervals")


def measure(settings: Settings) -> dict[str, Any]:
    """Train or load a network, round its weights in every format, and judge each."""
    run = runs.load(settings["model"]) if "model" in settings else trials.trained(settings)[0].as_run()
    exact = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    results = {"float32": _judged(run)}
    for name, rounded in _rounders().items():
        run.model.load_state_dict({key: rounded(tensor) for key, tensor in exact.items()})
        results[name] = _judged(run)
    return results


def _judged(run: Run) -> dict[str, Any]:
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


def _right(records: Sequence[Record], name: str) -> int:
    return sum(record[name]["wrong"] == 0 for record in records)
