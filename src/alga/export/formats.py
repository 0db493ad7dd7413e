"""A network as files for other programs: its step as ONNX, its whole table as JSON, its theorems as a Coq file.

The ONNX file is compared with the network on every prompt before it is written. The table is the certified one, or is
extracted now. `readers.py` has both for a network that reads whole texts. docs/export.md describes the formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.export import coq, hugging_face, readers, transformer_lens
from alga.export.onnx_file import check_installed, onnx_file, session_of
from alga.export.provenance import provenance
from alga.network.tokens import START, STOP_ID
from alga.solve.solver import Solver
from alga.tasks import Procedure
from alga.tasks.numbers import without_zeros

if TYPE_CHECKING:
    from torch import nn

    from alga.network.step import Step

TABLE_FORMAT: Final = "alga-table-1"
PROBLEMS_COMPARED: Final = 10  # problems of each length to compare rows and operands on


def table(solver: Solver, watch: Watch = unwatched) -> bytes:
    """Return the network's table as JSON, with everything needed to run it in another language."""
    if solver.own_engine == "whole":
        return readers.table(solver, watch)
    procedure, found = solver.procedure, solver.table
    solver.decode(list(solver.trained.domain))  # raises if an output contradicts the certified table
    if solver.own_engine != "sequential" or not _runs_elsewhere(procedure):
        name = solver.trained.name
        raise AlgaError(f"{name} has columns other than plain digits of numbers: its table would not run elsewhere")
    steps = procedure.explore(lambda batch: [found.outputs[procedure.prompt(*situation)] for situation in batch])
    start = {column: output for (context, column), output in steps.items() if context is None}
    states: dict[str, dict[str, str | None]] = {}
    for (context, column), output in steps.items():
        if context is not None:
            states.setdefault(context, {})[column] = output
    outputs = sorted({output for output in steps.values() if output is not None})
    after = {output: states[state] for output in outputs if (state := procedure.carried(output)) in states}
    content = {
        "format": TABLE_FORMAT,
        "task": procedure.name,
        "summary": procedure.summary,
        **provenance(solver),
        "from_right": procedure.layout.from_right,
        "fill": procedure.layout.fill,
        "repeats": procedure.layout.repeats,
        "start": start,
        "after": after,
        "written": {output: procedure.written(output) for output in outputs},
        "ending": {output: procedure.ending(output) if procedure.ends(output) else None for output in outputs},
        "uncertain": sorted(found.uncertain),
    }
    watch(1, 1)
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def _runs_elsewhere(procedure: Procedure) -> bool:
    """Return whether the program in docs/export.md makes the same columns and answers as the task."""
    if not (procedure.layout.by_rows and procedure.numeric):
        return False
    rng, draw = Random(0), next(iter(procedure.families().values()))
    for digits in (1, 2, 3, 5, 8) * PROBLEMS_COMPARED:
        operands = draw(rng, digits)
        rows = [without_zeros(operand) for operand in operands]
        if procedure.layout.repeats:
            rows[1] *= max(map(len, rows))
        if procedure.layout.rows(*operands) != tuple(rows):
            return False
    return True


def onnx(solver: Solver, watch: Watch = unwatched) -> bytes:
    """Return the network's step as an ONNX file: any number of prompts in, generated tokens and their logits out.

    Each prompt of the domain must get the same tokens from onnxruntime as here, all together and alone.
    """
    if solver.own_engine == "whole":
        return readers.onnx(solver, watch)
    check_installed()
    import torch  # noqa: PLC0415 - a table is exported without it

    tokens, domain = solver.run.config.step_tokens, list(solver.trained.domain)
    example = {"prompts": torch.tensor(tokens.prompts(domain[:2]))}
    data = onnx_file(solver, _step(solver), example, ["tokens", "logits"], {0: "batch"})
    watch(len(domain), 2 * len(domain))
    session = session_of(data)
    _compare(solver, lambda prompts: session.run(["tokens"], {"prompts": prompts})[0], watch)
    return data


def _step(solver: Solver) -> nn.Module:
    """Return the whole greedy step, unrolled to the output length."""
    import torch  # noqa: PLC0415 - a table is exported without it
    from torch import Tensor, nn  # noqa: PLC0415

    tokens, model = solver.run.config.step_tokens, solver.run.model

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = model

        def forward(self, prompts: Tensor) -> tuple[Tensor, Tensor]:
            ids = torch.cat([prompts, torch.full_like(prompts[:, :1], tokens.ids[START])], dim=1)
            logits = []
            for _ in range(tokens.output_length):
                logits.append(self.network(ids)[:, -1])
                ids = torch.cat([ids, logits[-1].argmax(dim=-1, keepdim=True)], dim=1)
            return ids[:, tokens.input_length + 1 :], torch.stack(logits, dim=1)

    return Step()


def _compare(solver: Solver, run: Callable[[Any], Any], watch: Watch) -> None:
    """Refuse a file that answers a prompt differently from the network here, in a full batch or alone."""
    import numpy as np  # noqa: PLC0415

    tokens, domain = solver.run.config.step_tokens, list(solver.trained.domain)
    expected: list[Step] = solver.decode(domain)
    ids = np.array(tokens.prompts(domain), np.int64)
    together = run(ids)
    for i, step in enumerate(expected):
        for written in (together[i], run(ids[i : i + 1])[0]):
            row = written.tolist()
            text = tokens.text([*row, STOP_ID][: tokens.output_length])
            if text != step.text:
                raise AlgaError(
                    f"the exported network answers {domain[i]} with {text!r}, the network here with {step.text!r}"
                )
        watch(len(domain) + i + 1, 2 * len(domain))


FORMATS: Final[dict[str, Callable[[Solver, Watch], bytes]]] = {
    "onnx": onnx,
    "table": table,
    "proof": coq.proof,
    "table-proof": coq.table_proof,
}
FOLDERS: Final[dict[str, Callable[[Solver, Watch], dict[str, bytes]]]] = {
    "hf": hugging_face.folder,
    "transformer-lens": transformer_lens.folder,
}
FORMAT_OF_SUFFIX: Final = {".onnx": "onnx", ".json": "table", ".v": "proof"}
