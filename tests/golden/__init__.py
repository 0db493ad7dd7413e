"""Golden files: outputs that refactoring must not change, and how they are made.

networks.json  hashes of every shipped network's files, its domain and its table
commands.json  exit code and output of commands that people and programs rely on
training.json  the weights of one training, stopped and resumed, to the bit on one kind of processor
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from alga import runs, tasks
from alga.base.errors import AlgaError
from alga.cli.app import main
from alga.tasks import Task
from alga.training.trainer import Training
from tests.conftest import tiny

FOLDER = Path(__file__).parent
BYTES = ("model.safetensors", "table.json", "config.json", "certificate.json")  # files whose bytes are compared
COMMANDS = (
    "add 65785 8765",
    "add 65785 8765 --trace",
    "add 65785 8765 --json",
    "add 65785 8765 --engine sequential --json",
    "add 65785 8765 --engine lookahead --json",
    "add 1 22 333 --json",
    "add -- -5 3 --json",
    "sub 1000 1 --trace",
    "mul -37 48 --json",
    "divmod 1000 37",
    "divmod -7 2 --json",
    "cmp ff 100 --base 16",
    "solve parity 10110111",
    "solve parity 10110111 --json",
    "solve xor-base-16 ff0f 1234",
    "certify --json",
    "certify parity",
    "certify smallest --json",
    "evaluate --count 20 --max-digits 30 --json",
    "evaluate --digits 50 --show --seed 10",
    "tasks --json",
    "tasks --names",
    "add 1.5 2",
    "add 12 x3",
    "solve nothing 1",
    "add 1 2 --engine abacus",
)
LARGE = "addition-blocks-of-2-whole"  # two million prompts
NOT_PINNED = ("machine", "seconds", "network_calls")  # differ between machines, or describe the method


def networks(*, large: bool = True) -> dict[str, Any]:
    """Return the hashes of every shipped network, and of the domain of every task."""
    found: dict[str, Any] = {}
    for name in runs.shipped():
        folder, run = runs.SHIPPED / name, runs.load(name)
        assert run.table is not None
        hashes = {file: _sha256((folder / file).read_bytes()) for file in BYTES}
        found[name] = {**hashes, **_domain(run.config.task), "table": run.table.sha256}
    for name in (*tasks.names(), *tasks.variants()):
        if "blocks-of-3" not in name and (large or name != LARGE):  # three million prompts
            found[f"task {name}"] = _domain(tasks.find(name))
    return found


def _domain(task: Task) -> dict[str, Any]:
    try:
        pairs = [f"{prompt}\t{instance.output}" for prompt, instance in sorted(task.domain.items())]
    except AlgaError as refused:  # an ambiguous variant of the lab's
        return {"refused": str(refused)}
    return {"prompts": len(pairs), "domain": _sha256("\n".join(pairs).encode())}


def commands() -> dict[str, Any]:
    """Return the output of each command, JSON without fields that differ between machines."""
    return {command: _run(command.split()) for command in COMMANDS}


def training() -> dict[str, Any]:
    """Return the hash of a training that was stopped twice, and its processor."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        training = Training.start(run, tiny(steps=60, margin=99.0), seed=5, threads=1, device="cpu")
        for stop in (17, 44, 60):
            list(training.run(should_stop=_at(training, stop)))
            training = Training.resume(run) if stop < 60 else training
        data = (run / "model.safetensors").read_bytes()
    return {_processor(): _sha256(data)}


FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "networks": networks,
    "commands": commands,
    "training": training,
}


def golden(name: str) -> dict[str, Any]:
    """Return the content of a golden file."""
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return content


def write(name: str) -> None:
    """Rewrite a golden file; keep trainings on other processors."""
    kept = golden(name) if name == "training" and (FOLDER / f"{name}.json").exists() else {}
    text = json.dumps(kept | FILES[name](), indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(text + "\n")


def _at(training: Training, stop: int) -> Callable[[], bool]:
    return lambda: training.step >= stop


def _processor() -> str:
    return f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"


def _run(arguments: list[str]) -> dict[str, Any]:
    out = io.StringIO()
    argv = mock.patch.object(sys, "argv", ["alga", *arguments])
    with argv, contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    shown: Any = out.getvalue().splitlines()
    if "--json" in arguments:
        shown = [_plain(json.loads(line)) for line in shown]
    return {"code": code, "out": shown}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if key not in NOT_PINNED}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return round(value, 2) if isinstance(value, float) else value


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
