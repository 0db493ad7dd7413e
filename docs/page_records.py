"""`make page-records`: what the page compares, as src/alga/serve/page/records.js.

From the committed records of `make compare`, and from the weights of the network `whole`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from alga.solve.solver import Solver

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "src" / "alga" / "serve" / "page" / "records.js"
METHODS = ("plain", "scratchpad", "reversed", "abacus", "coupling", "alga")
LENGTHS = ("1", "2", "3", "4", "5", "6", "7", "8", "10", "20", "100")
FAR = 6  # places


def records() -> dict[str, Any]:
    """Return the share of right sums by length for each method, and what the reader's heads add by distance."""
    found = json.loads((ROOT / "results" / "compare.json").read_text())
    by_name = {record["method"]: record for record in found["records"]}
    methods = [_method(by_name[name]) for name in METHODS]
    reader = Solver.load("whole").decoder.model
    distances = torch.arange(-FAR, FAR + 1).view(1, 1, -1)
    with torch.no_grad():
        scores_HL = reader.layers[0].attention.score(distances)[0, :, 0]
    return {
        "digits": found["scale"]["digits"],
        "lengths": LENGTHS,
        "methods": methods,
        "reader": {"from": -FAR, "scores": [[round(value, 3) for value in row] for row in scores_HL.tolist()]},
    }


def _method(record: dict[str, Any]) -> dict[str, Any]:
    """Return one method: right and asked sums of all its runs; None where none was asked."""
    shares = []
    for length in LENGTHS:
        asked = [run["lengths"][length] for run in record["runs"] if run["lengths"][length] is not None]
        shares.append([sum(right for right, _ in asked), sum(of for _, of in asked)] if asked else None)
    problem, wrote = record["runs"][0]["example"]
    return {
        "title": record["title"],
        "source": record["source"],
        "runs": len(record["runs"]),
        "shares": shares,
        "example": [problem, wrote[:60]],
    }


def script() -> str:
    """Return the file of the page."""
    lines = "".join(f"  {name}: {json.dumps(value, ensure_ascii=False)},\n" for name, value in records().items())
    return f'"use strict";\n// Written by docs/page_records.py; change that.\n\nconst RECORDS = {{\n{lines}}};\n'


if __name__ == "__main__":
    SCRIPT.write_text(script())
