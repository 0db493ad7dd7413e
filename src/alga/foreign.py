"""Weights from elsewhere, in the parameter names of the paper's author: a PyTorch state_dict, safetensors, an R file.

Read defensively: sizes are bounded, a pickle is loaded with `weights_only`, and of an R file nothing is executed: its
lists are walked byte by byte, and each tensor is taken from its archive as plain numbers.
"""

from __future__ import annotations

import gzip
import io
import math
import pickletools
import re
import zipfile
import zlib
from pathlib import Path
from typing import Final

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from alga import files
from alga.errors import AlgaError
from alga.rds import parse

LARGEST: Final = 64 * 2**20  # bytes, packed or unpacked; the paper's network has 0.4 million

LARGEST_DESCRIPTION: Final = 2**16  # bytes of a tensor's shape and type; R's have some hundred
DIMENSIONS: Final = 8

NAMES: Final = (  # the author's, and ours
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


def read(path: Path) -> dict[str, Tensor]:
    """Return the weights in a file of any of the three kinds, under this package's names."""
    data = files.read(path, LARGEST)
    try:
        if data[:2] == b"\x1f\x8b":
            weights = _from_r(data)
        elif data[:4] == b"PK\x03\x04" or data[:1] == b"\x80":
            weights = _from_torch(data)
        else:
            weights = safetensors.torch.load(data)
    except AlgaError as problem:
        raise AlgaError(f"{path}: {problem}") from None
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, RecursionError):
        raise AlgaError(f"{path} is neither a PyTorch state_dict, safetensors nor an R file, or is damaged") from None
    return {_renamed(name, path): tensor for name, tensor in weights.items()}


def _renamed(name: str, path: Path) -> str:
    for theirs, ours in NAMES:
        new, found = re.subn(f"^{theirs}", ours, name)
        if found:
            return new
    raise AlgaError(f"{path} holds {name!r}, which is no parameter of the paper's network in its author's names")


def _from_torch(data: bytes) -> dict[str, Tensor]:
    try:
        if data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if sum(member.file_size for member in archive.infolist()) > LARGEST:
                    raise AlgaError(f"the archive unpacks to more than {LARGEST:,} bytes")
        weights = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except AlgaError:
        raise
    except Exception:  # the unpickler meets whatever bytes there are, and its errors are of any kind
        raise AlgaError("expected a PyTorch file with nothing but weights, got another or a damaged one") from None
    if not isinstance(weights, dict) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise AlgaError("expected a state_dict: names, each with a tensor")
    if not all(isinstance(name, str) for name in weights):
        raise AlgaError("expected a state_dict whose names are text")
    # A few bytes may claim to be a tensor of any size, by strides of zero; others hold no numbers at all.
    for tensor in weights.values():
        if type(tensor) not in {Tensor, torch.nn.Parameter} or tensor.layout != torch.strided or tensor.is_meta:
            raise AlgaError("expected plain tensors, got another kind")
    if sum(tensor.numel() * tensor.element_size() for tensor in weights.values()) > LARGEST:
        raise AlgaError(f"the tensors together have more than {LARGEST:,} bytes")
    return {name: tensor.detach().contiguous() for name, tensor in weights.items()}


def _from_r(data: bytes) -> dict[str, Tensor]:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise AlgaError(f"the file unpacks to more than {LARGEST:,} bytes")
    except (OSError, EOFError, zlib.error):
        raise AlgaError("expected a gzip file, got a damaged one") from None
    values = _values(parse(content), "list")
    if not isinstance(values, dict):
        raise AlgaError("expected an R list of named tensors")
    weights: dict[str, Tensor] = {}
    left = LARGEST
    for name, parsed in values.items():
        weights[name] = _tensor(parsed, left)
        left -= 4 * weights[name].numel()
    return weights


def _values(parsed: object, kind: str) -> object:
    """Return what R's torch package wrapped: a list of values, type and version."""
    if not isinstance(parsed, dict) or parsed.get("type") != [kind] or "values" not in parsed:
        raise AlgaError(f"expected what torch for R writes for a {kind}, got something else")
    return parsed["values"]


def _tensor(raw: object, most: int) -> Tensor:
    """Take the numbers of one tensor, of at most so many bytes, from the archive that R's torch package wraps it in."""
    if not isinstance(raw, bytes):
        raise AlgaError("expected a serialised tensor, got something else")
    packed = _values(parse(raw), "tensor")
    if not isinstance(packed, bytes):
        raise AlgaError("expected a serialised tensor, got something else")
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            if sizes["archive/data/0"] > most:
                raise AlgaError(f"the tensors together unpack to more than {LARGEST:,} bytes")
            if sizes["archive/data.pkl"] > LARGEST_DESCRIPTION:
                raise AlgaError(f"a tensor's description has more than {LARGEST_DESCRIPTION:,} bytes")
            numbers, description = archive.read("archive/data/0"), archive.read("archive/data.pkl")
    except AlgaError:
        raise
    except Exception:  # the archive may be any bytes, and zipfile's errors are of many kinds
        raise AlgaError("a serialised tensor is damaged") from None
    shape = _shape(description, len(numbers))
    return torch.frombuffer(bytearray(numbers), dtype=torch.float32).reshape(shape) if numbers else torch.zeros(shape)


def _shape(description: bytes, size: int) -> tuple[int, ...]:
    """Read a tensor's shape off its pickle without running it; only whole, contiguous float32 tensors are taken."""
    try:
        operations = [(operation.name, argument) for operation, argument, _ in pickletools.genops(description)]
    except Exception:  # pickletools raises what it meets
        raise AlgaError("a serialised tensor is damaged") from None
    called = [argument for name, argument in operations if name == "GLOBAL"]
    whole = [argument for name, argument in operations if name.startswith("BININT") and isinstance(argument, int)]
    known = "torch FloatStorage" in called and "torch._utils _rebuild_tensor_v2" in called
    if not known or len(whole) < 2 or len(whole) % 2 or len(whole) > 2 + 2 * DIMENSIONS:
        raise AlgaError("expected a tensor of float32, got another kind")
    count, offset, *rest = whole
    shape, strides = tuple(rest[: len(rest) // 2]), rest[len(rest) // 2 :]
    contiguous = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    if offset != 0 or strides != contiguous or math.prod(shape) != count or size != 4 * count:
        raise AlgaError("expected a whole, contiguous tensor, got another layout")
    return shape
