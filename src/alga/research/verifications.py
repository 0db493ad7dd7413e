"""Every shipped network under `alga verify`, the second program: a sweep with one run for each, and its page."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from alga import runs
from alga.research import markdown, sweeps
from alga.research.sweeps import Settings
from alga.runs.verification import verify
from alga.trust.assumptions import at_least
from alga.trust.certificate import Certificate

MEASURE: Final = "alga.research.verifications:measure"
WHAT: Final = "verifications"
Record = dict[str, Any]


def plan(networks: Sequence[str]) -> list[Settings]:
    """Return a run for each network, known by its weights and certificate, those with the most prompts first."""
    return sorted(map(_settings, networks), key=lambda settings: -settings["prompts"])


def _settings(network: str) -> Settings:
    folder = runs.SHIPPED / network
    stated = (folder / "certificate.json").read_bytes()
    return {
        "network": network,
        "prompts": Certificate.from_json(stated.decode()).prompts,
        "weights": hashlib.sha256((folder / runs.WEIGHTS).read_bytes()).hexdigest(),
        "certificate": hashlib.sha256(stated).hexdigest(),
    }


def measure(settings: Settings) -> Record:
    """Verify one network; `seconds` is CPU time."""
    began = time.process_time()
    found = verify(runs.SHIPPED / settings["network"])
    return {"agrees": found.agrees, **found.as_dict(), "seconds": round(time.process_time() - began, 1)}


def run(networks: Sequence[str], folder: Path, **options: Unpack[sweeps.Options]) -> list[Record]:
    """Verify networks; return a record for each, by name. Runs already in `folder` are reused."""
    done = sweeps.completed(sweeps.run(MEASURE, plan(networks), folder / "verify.jsonl", **options))
    return sorted(({**settings, **result} for settings, result in done), key=lambda record: record["network"])


def page(records: Sequence[Record]) -> str:
    """Return the page about all networks."""
    rows = [
        [
            f"`{record['network']}`", f"{record['prompts']:,}", *map(_margin, record["margins"].values()),
            f"{record['outside']:.1e}" if "outside" in record else "", f"{record['seconds']:,.0f} s",
            "yes" if record["agrees"] else "**no**: " + "; ".join(record["objections"]),
        ]
        for record in records
    ]  # fmt: skip
    heads = ["network", "prompts", *records[0]["margins"], "attention outside", "CPU", "agrees"]
    return markdown.page(
        "verified",
        agreeing=sum(record["agrees"] for record in records),
        count=len(records),
        prompts=f"{sum(record['prompts'] for record in records):,}",
        hours=f"{sum(record['seconds'] for record in records) / 3600:.1f}",
        table=markdown.table(heads, *rows),
    )


def _margin(margin: float | None) -> str:
    return "not bounded" if margin is None else at_least(margin)
