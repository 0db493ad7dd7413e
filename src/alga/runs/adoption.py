"""Weights from elsewhere -> a run of a given task and shape; neither is guessed.

A file is a PyTorch state_dict, safetensors, or of torch for R. Its tensors have the names of the paper's author, or
ours as in `torch.save(model.state_dict())` and in a run folder. Files are not trusted: sizes are bounded, nothing is
unpickled (`torch_files.py`) or executed (`r_files.py`).
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import safetensors.numpy
from safetensors import SafetensorError

from alga import tasks
from alga.base import files
from alga.base.errors import MALFORMED, AlgaError, Blaming, Naming
from alga.network.kinds import AnyShape, shape_class, shape_of, tokens_of
from alga.runs import torch_files
from alga.runs.config import Config
from alga.runs.r_files import parse
from alga.runs.run import Run
from alga.runs.torch_files import Array
from alga.runs.weights import IDENTITY, Weights, checked, read_header
from alga.tasks import Task

THE_AUTHORS: Final = "addition-padded"  # the task of the author's published weights
MAX_IMPORT_BYTES: Final = 64 * 2**20  # bytes, packed or unpacked; the paper's network has 0.4 million

NONE_OF_THEM: Final = "it is neither a PyTorch state_dict, safetensors nor an R file, or is damaged"
OURS: Final = re.compile(r"(token_embedding|position_embedding|final_norm|head|layers\.\d+\.[a-z_]+)\.[a-z_0-9.]+")
TENSOR_NAMES: Final = (  # the author's, and ours
    (r"wte_out\.", "token_embedding."),
    (r"wpe_out\.", "position_embedding."),
    (r"MH_dec\.(\d+)\.in_proj_", r"layers.\1.attention.project_in."),
    (r"MH_dec\.(\d+)\.out_proj\.", r"layers.\1.attention.project_out."),
    (r"scale1_dec\.(\d+)\.", r"layers.\1.attention_norm."),
    (r"scale2_dec\.(\d+)\.", r"layers.\1.feed_forward_norm."),
    (r"FFN_dec\.(\d+)\.", r"layers.\1.feed_forward."),
    (r"scale3\.", "final_norm."),
    (r"ln_f\.", "head."),
)


def adopt(source: Path, task: Task | None = None, shape: AnyShape | None = None) -> Run:
    """Return a run of the weights in a file; it has no certificate.

    Our weight files state their task and shape. Weights under the names of the paper's author have the paper's shape
    unless another is given. Under ours the shape must be given: the number of heads does not show in weights.
    """
    found = read(source)
    if found.identity is not None:
        config = _identified(found.identity, source, task)
    elif found.ours and shape is None:
        raise AlgaError(
            f"{source} does not say the shape of its network: name it by --like or --recipe, or use its run folder"
        )
    else:
        config = _shaped(task, shape)
    if shape is not None and shape != config.model:
        raise AlgaError(f"{source} is for a network of another shape than the given one")
    weights = checked(found.weights, config.model, source)
    return Run(name=source.name, config=config, weights=Weights.holding(config, weights))


def _identified(identity: str, source: Path, task: Task | None) -> Config:
    """Return the configuration that one of our weight files states; it must match the current task."""
    with Naming(source), Blaming(f"{source} does not say what it is for"):
        content = json.loads(identity)
        name, model = content["task"], shape_of(content["model"])
    if task is not None and task.name != name:
        raise AlgaError(f"{source} says that it is for the task {name!r}, not {task.name!r}")
    config = Config(task=task or tasks.known(name), model=model)
    if config.identity != identity:
        raise AlgaError(f"{source} was written for another version of the task {config.task.name}")
    return config


def _shaped(task: Task | None, shape: AnyShape | None) -> Config:
    """Return the configuration of a task and a shape, by default the paper's."""
    task = task or tasks.find(THE_AUTHORS)
    sizes: dict[str, Any] = {**tokens_of(task).sizes}
    kind = shape_class(task)
    model = shape or kind(**sizes)
    if type(model) is not kind or any(getattr(model, name) != size for name, size in sizes.items()):
        raise AlgaError(f"the given shape is for other tokens than those of {task.name}")
    return Config(task=task, model=model)


# --- the file ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Brought:
    """Weights under our names, and their purpose if the file states it, as ours do."""

    weights: dict[str, Array]
    ours: bool  # whether the file had our names
    identity: str | None = None


def read(path: Path) -> Brought:
    """Return the weights in a file of any of the three kinds."""
    data, identity = files.read(path, MAX_IMPORT_BYTES), None
    try:
        with Naming(path):
            if data[:2] == b"\x1f\x8b":
                weights = _from_r(data)
            elif data[:4] == b"PK\x03\x04" or data[:1] == b"\x80":
                weights = torch_files.tensors(data, MAX_IMPORT_BYTES)
            else:
                identity, weights = _from_safetensors(data, path)
    except AlgaError:
        raise
    except (*MALFORMED, RuntimeError) as problem:  # whose text may be as long as the file
        raise AlgaError(f"{path} is damaged ({type(problem).__name__})") from None
    ours = {name for name in weights if OURS.fullmatch(name)}
    if ours and ours != weights.keys():
        odd = min(weights.keys() - ours)
        raise AlgaError(f"{path} holds {odd!r} beside this package's own parameters")
    renamed = weights if ours else {_renamed(name, path): tensor for name, tensor in weights.items()}
    return Brought(renamed, bool(ours), identity)


def _from_safetensors(data: bytes, path: Path) -> tuple[str | None, dict[str, Array]]:
    try:
        header = read_header(data, path)
    except AlgaError:
        raise AlgaError(NONE_OF_THEM) from None
    header.check_float32()
    try:
        return header.metadata.get(IDENTITY), safetensors.numpy.load(data)
    except SafetensorError:
        raise AlgaError(NONE_OF_THEM) from None


def _renamed(name: str, path: Path) -> str:
    for theirs, ours in TENSOR_NAMES:
        new, found = re.subn(f"^{theirs}", ours, name)
        if found:
            return new
    whose = "no parameter of this package's networks, nor of the paper's in its author's names"
    raise AlgaError(f"{path} holds {name!r}, which is {whose}")


def _from_r(data: bytes) -> dict[str, Array]:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(MAX_IMPORT_BYTES + 1)
            if len(content) > MAX_IMPORT_BYTES:
                raise AlgaError(f"the file unpacks to more than {MAX_IMPORT_BYTES:,} bytes")
    except (OSError, EOFError, zlib.error):
        raise AlgaError("expected a gzip file, got a damaged one") from None
    values = _values(parse(content), "list")
    if not isinstance(values, dict):
        raise AlgaError("expected an R list of named tensors")
    weights: dict[str, Array] = {}
    left = MAX_IMPORT_BYTES
    for name, parsed in values.items():
        weights[name] = _tensor(parsed, left)
        left -= torch_files.FLOAT32_BYTES * weights[name].size
    return weights


def _values(parsed: object, kind: str) -> object:
    """Unwrap an object of R's torch package: a list of values, type and version."""
    if not isinstance(parsed, dict) or parsed.get("type") != [kind] or "values" not in parsed:
        raise AlgaError(f"expected what torch for R writes for a {kind}, got something else")
    return parsed["values"]


def _tensor(raw: object, most: int) -> Array:
    """Read one tensor of at most `most` bytes from the archive that R's torch package wraps it in."""
    packed = _values(parse(raw), "tensor") if isinstance(raw, bytes) else None
    if not isinstance(packed, bytes):
        raise AlgaError("expected a serialised tensor, got something else")
    found = list(torch_files.tensors(packed, most).values())
    if len(found) != 1:
        raise AlgaError(f"expected one serialised tensor, got {len(found)}")
    return found[0]
