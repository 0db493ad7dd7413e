"""A network that reads whole texts as files for other programs: as ONNX, or its answer in every situation as JSON.

The ONNX file is compared with the network in every situation and on a few whole texts before it is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from alga.base.errors import AlgaError
from alga.base.progress import Watch
from alga.export.onnx_file import check_installed, onnx_file, session_of
from alga.export.provenance import provenance
from alga.solve.solver import Solver
from alga.tasks.whole import END, EQUALS, PLUS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    Ids = NDArray[np.int64]
    Logits = NDArray[np.float32]
    Feed = dict[str, Ids]  # ids, parts and places, each batch x length
    Run = Callable[[Feed], tuple[Ids, Logits]]

TABLE_FORMAT: Final = "alga-table-whole-1"
CUT: Final = (
    "The situation in which token number p after `=` is written, p from 0: of each number, which has no leading zeros, "
    "its digit of place p + 1, then its digit of place p, nothing where it has none (units have place 1); a plus "
    "between the numbers; then `=`, and the token written just before, if there is one."
)
LENGTHS: Final = (1, 2, 3, 5, 20, 100)  # digits of the sums on which an ONNX file is compared
BATCH: Final = 4096  # situations compared at once: bounds memory
TOLERANCE: Final = 1e-4  # of logits, relative to the largest; rounding alone makes less than a tenth of it


def table(solver: Solver, watch: Watch) -> bytes:
    """Return the network's answer in every situation as JSON, with what is needed to add by it in another language."""
    texts, found = solver.reader.tokens, solver.table
    solver.decode(list(solver.trained.domain))  # raises if a token contradicts the certified table
    content = {
        "format": TABLE_FORMAT,
        "task": solver.trained.name,
        "summary": solver.trained.summary,
        **provenance(solver),
        "vocabulary": texts.vocabulary,
        "digits": list(texts.task.digits),
        "plus": PLUS,
        "equals": EQUALS,
        "stop": END,
        "cut": CUT,
        "sorted": texts.task.listed == "sorted",
        "next": dict(found.outputs),
        "uncertain": sorted(found.uncertain),
    }
    watch(1, 1)
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def onnx(solver: Solver, watch: Watch) -> bytes:
    """Return the network as an ONNX file: any number of texts of any length in, the next token at each position out.

    Situations and texts must get the same tokens from onnxruntime as here, and nearly the same logits.
    """
    check_installed()
    import torch  # noqa: PLC0415 - a table is exported without it

    situations = len(solver.trained.domain)
    example = {name: torch.zeros(2, 3, dtype=torch.long) for name in ("ids", "parts", "places")}
    data = onnx_file(solver, _tokens_and_logits(solver), example, ["tokens", "logits"], {0: "batch", 1: "length"})
    watch(situations, 2 * situations)
    session = session_of(data)
    _compare(solver, lambda feed: session.run(["tokens", "logits"], feed), watch)
    return data


def _tokens_and_logits(solver: Solver) -> nn.Module:
    """Return the network as a module that gives the likeliest next token at every position, and all logits."""
    from torch import Tensor, nn  # noqa: PLC0415 - a table is exported without it

    model = solver.run.model

    class Continued(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = model

        def forward(self, ids: Tensor, parts: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
            logits = self.network(ids, parts, places)
            return logits.argmax(dim=-1), logits

    return Continued()


# --- the comparison ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What the network reads, and the tokens that it writes at the last positions of that."""

    name: str
    kinds: Ids
    places: Ids
    written: str


def _compare(solver: Solver, run: Run, watch: Watch) -> None:
    """Refuse a file that continues something differently from the network here, in a batch or alone."""
    import torch  # noqa: PLC0415 - a table is exported without it

    vocabulary, situations = solver.reader.tokens.vocabulary, all_situations(solver)
    batches = [situations[start : start + BATCH] for start in range(0, len(situations), BATCH)]
    done, total = 0, len(situations)
    for batch in [*batches, some_sums(solver)]:
        feed = inputs_of(batch, len(vocabulary))
        together = run(feed)
        with torch.no_grad():
            expected = solver.run.model(*map(torch.from_numpy, feed.values())).numpy()
        for row, reading in enumerate(batch):
            alone, last = run(inputs_of([reading], len(vocabulary))), slice(-len(reading.written), None)
            for tokens, logits in ((together[0][row], together[1][row]), (alone[0][0], alone[1][0])):
                written = "".join(vocabulary[i] for i in tokens[last].tolist())
                if written != reading.written:
                    raise AlgaError(
                        f"the exported network continues {reading.name} with {written!r}, "
                        f"the network here with {reading.written!r}"
                    )
                _check_logits(reading, logits[last], expected[row, last])
            done = min(done + 1, total)
            watch(total + done, 2 * total)


def _check_logits(reading: Reading, found: Logits, expected: Logits) -> None:
    difference, allowed = float(abs(found - expected).max()), TOLERANCE * max(1.0, float(abs(expected).max()))
    if not difference <= allowed:  # nor if one of them is not a number
        raise AlgaError(
            f"the exported network's logits after {reading.name} differ from those here by {difference:.2g}, "
            f"which is more than {allowed:.2g}"
        )


def all_situations(solver: Solver) -> list[Reading]:
    """Return every situation as if nothing else were in the text, with the token that follows."""
    domain = list(solver.trained.domain)
    kinds, distances = solver.reader.tokens.situations(domain)
    rows = zip(solver.decode(domain), kinds, distances, strict=True)
    return [Reading(step.prompt, row[row >= 0], 1 + apart[row >= 0], step.text) for step, row, apart in rows]


def some_sums(solver: Solver) -> list[Reading]:
    """Return sums of several lengths with the network's own continuation: a file may be fixed to one length."""
    texts, rng, draw = solver.reader.tokens, Random(0), next(iter(solver.procedure.families().values()))
    found = []
    for digits in LENGTHS:
        question = texts.task.question(*draw(rng, digits))
        written = solver.reader.continued(question, texts.task.longest_answer(question)).text
        seen = question + written[:-1]
        found.append(Reading(question, texts.kinds(seen), texts.places(seen), written))
    return found


def inputs_of(readings: Sequence[Reading], vocabulary: int) -> Feed:
    """Return the inputs of the network, filled up in front with places of -1."""
    import numpy as np  # noqa: PLC0415 - so that this file is quick to import

    longest = max(len(reading.kinds) for reading in readings)
    kinds = np.zeros((len(readings), longest), dtype=np.int64)
    places = np.full_like(kinds, -1)
    for row, reading in enumerate(readings):
        kinds[row, longest - len(reading.kinds) :] = reading.kinds
        places[row, longest - len(reading.kinds) :] = reading.places
    return {"ids": kinds % vocabulary, "parts": kinds // vocabulary, "places": places}
