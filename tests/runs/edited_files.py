"""Edit a file of a run folder without updating its checksums."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    data = path.read_bytes()
    weights = safetensors.torch.load(data)
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    change(weights)
    path.write_bytes(safetensors.torch.save(weights, metadata))
