"""A run in memory: a network with its configuration, certificate and table. `folder.py` reads and writes it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError, installed
from alga.base.progress import Watch, unwatched
from alga.runs.config import Config
from alga.runs.weights import Weights
from alga.trust.certificate import Certificate, certify
from alga.trust.table import Table

if TYPE_CHECKING:
    from alga.network.model import Transformer


@dataclass(frozen=True, kw_only=True)
class Run:
    """A network with its configuration, and its certificate where it has one."""

    name: str
    config: Config
    weights: Weights
    certificate: Certificate | None = None
    table: Table | None = None

    @property
    def model(self) -> Transformer:
        """The network as a torch module, made on first use: for hooks and patching, not for answers."""
        return self.weights.model

    @property
    def sha256(self) -> str:
        """The hash of the weights as they are now."""
        return self.weights.sha256

    @property
    def current(self) -> bool:
        """Whether certificate and table, good or bad, belong to each other and to the network as it is now."""
        certificate, table = self.certificate, self.table
        return (
            certificate is not None
            and table is not None
            and certificate.task == table.task == self.config.task.name
            and certificate.table_sha256 == table.sha256
            and certificate.sha256 == self.sha256
            and not self.weights.altered
        )

    @property
    def certified(self) -> bool:
        """Whether there is a certificate, and for the network as it is now: its weights, and nothing beside them."""
        return self.certificate is not None and self.certificate.certified and self.current

    def judged(self, watch: Watch = unwatched, cancel: Cancellation | None = None) -> Run:
        """Return the run with a new certificate and table: every prompt checked now, whatever it came with.

        Each is checked by compiled code, and once more by torch where that is installed.
        """
        from alga.network.decoder import CHUNK, Decoder

        twice = installed("torch")
        if twice:
            _ = self.model  # opened first: whatever watches torch's modules is then seen as an alteration
        decoder, sha256, altered = Decoder(self.weights, self.config.tokens), self.sha256, self.weights.altered
        certificate, table = certify(
            self.config.task.domain,
            decoder,
            again=decoder.by_torch if twice else None,
            altered=altered,
            sha256=sha256,
            parameters=self.config.model.parameters,
            dtype="float32",  # a decoder refuses any other
            batch_sizes=(1, min(CHUNK, len(self.config.task.domain))) if twice else (1,),
            machine=decoder.machine,
            watch=watch,
            cancel=cancel,
        )
        self._refuse_unless(sha256, altered)
        return dataclasses.replace(self, certificate=certificate, table=table)

    def _refuse_unless(self, sha256: str, altered: str) -> None:
        if (self.sha256, self.weights.altered) != (sha256, altered):
            raise AlgaError(f"the network {self.name} was changed while it was checked: nothing can be said of it")

    def proven(self, watch: Watch = unwatched) -> Run:
        """Return the run with its certificate and a proof of it, as far as rigorous bounds of its weights reach."""
        assert self.certificate is not None
        from alga.trust.proof import prove

        weights = {name: array.astype(float) for name, array in self.weights.arrays.items()}
        proof = prove(self.config.task.domain, self.config.model, weights, watch)
        self._refuse_unless(self.certificate.sha256, self.certificate.altered)
        return dataclasses.replace(self, certificate=self.certificate.with_proof(proof))
