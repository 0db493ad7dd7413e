"""A torch module as an ONNX file that describes itself; what every ONNX export shares."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from alga.base import signals
from alga.base.errors import installed, missing_extra
from alga.export.provenance import provenance
from alga.solve.solver import Solver

if TYPE_CHECKING:
    from torch import Tensor, nn

PROVIDERS: Final = ["CPUExecutionProvider"]


def check_installed() -> None:
    """Refuse to begin if a package is missing that the export needs."""
    for package in ("onnx", "onnxruntime", "onnxscript", "torch"):
        if not installed(package):
            raise missing_extra("ONNX export", package, "export")


def onnx_file(
    solver: Solver,
    module: nn.Module,
    example: Mapping[str, Tensor],
    outputs: Sequence[str],
    dynamic: Mapping[int, str],
) -> bytes:
    """Return a module of a solver's network as an ONNX file.

    `example` has the inputs by name; `dynamic` names the axes, the same for all inputs, that may have any size.
    """
    import onnx  # noqa: PLC0415 - optional

    proto = _traced(module, example, outputs, dynamic)
    described = {
        "task": solver.trained.name,
        "vocabulary": json.dumps(solver.run.config.tokens.vocabulary),
        **{key: json.dumps(value) for key, value in provenance(solver).items()},
    }
    onnx.helper.set_model_props(proto, described)
    onnx.checker.check_model(proto)
    data: bytes = proto.SerializeToString()
    return data


def session_of(data: bytes) -> Any:
    """Return an ONNX file ready to run in onnxruntime."""
    import onnxruntime  # noqa: PLC0415 - optional

    return onnxruntime.InferenceSession(data, providers=PROVIDERS)


def _traced(
    module: nn.Module, example: Mapping[str, Tensor], outputs: Sequence[str], dynamic: Mapping[int, str]
) -> Any:
    """Return a module as an ONNX model."""
    import torch  # noqa: PLC0415 - a table is exported without it

    sizes = {axis: torch.export.Dim(name) for axis, name in dynamic.items()}
    chatty = logging.getLogger("torch.onnx")
    level = chatty.level
    chatty.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad(), signals.delay_signals():
            warnings.simplefilter("ignore")  # about the exporter's own inner workings
            program = torch.onnx.export(
                module.eval(),
                tuple(example.values()),
                input_names=list(example),
                output_names=list(outputs),
                dynamic_shapes=dict.fromkeys(example, sizes),
                dynamo=True,
                verbose=False,
            )
    finally:
        chatty.setLevel(level)
    assert program is not None
    return program.model_proto
