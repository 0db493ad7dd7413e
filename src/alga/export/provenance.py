"""Where an exported file comes from: the hash of the weights, and the certificate if the network has one."""

from __future__ import annotations

from typing import Any

from alga.solve.solver import Solver


def provenance(solver: Solver) -> dict[str, Any]:
    """Return the entries that every exported file has."""
    certificate = solver.run.certificate if solver.certified else None
    return {
        "weights_sha256": solver.run.sha256,
        "certified": certificate is not None,
        "certificate": certificate.statement if certificate else None,
    }
