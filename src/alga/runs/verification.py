"""Independent verification of a run folder: its certificate against the bytes of its weight file."""

from __future__ import annotations

from pathlib import Path

from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.runs import config as configs
from alga.runs import weights
from alga.runs.checksums import Snapshot, steady
from alga.runs.config import Config
from alga.trust import verify as verification
from alga.trust.certificate import MAX_CERTIFICATE_BYTES, Certificate
from alga.trust.verify import Verdict


def verify(folder: Path, watch: Watch = unwatched, only: int | None = None) -> Verdict:
    """Derive every prompt's margins from a run's weights, and compare its certificate with them.

    `only` limits the check to the first prompts, for tests.
    """
    config, data, certificate = steady(folder, _stated)
    return verification.verify(config.task, config.model, data, certificate, watch, only)


def _stated(snapshot: Snapshot) -> tuple[Config, bytes, Certificate]:
    """Return a run's configuration, weights and certificate."""
    folder, config = snapshot.folder.path, configs.read(snapshot)
    try:
        data = weights.read(snapshot, config)
        stated = snapshot.read("certificate.json", MAX_CERTIFICATE_BYTES)
    except FileNotFoundError as missing:
        raise AlgaError(f"{folder} has no {Path(missing.filename).name}: nothing to verify") from None
    certificate = Certificate.from_json(stated.decode(errors="replace"))
    return config, data, certificate
