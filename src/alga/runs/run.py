"""A run in memory: a network with its configuration, certificate and table. `folder.py` reads and writes it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from alga.base.cancellation import Cancellation
from alga.base.errors import AlgaError, installed
from alga.base.progress import Watch, unwatched
from alga.network.reader_config import ReaderConfig
from alga.network.texts import Texts
from alga.runs.config import Config
from alga.runs.weights import Weights
from alga.trust.certificate import Certificate, certify
from alga.trust.table import Table

if TYPE_CHECKING:
    from alga.network.model import Transformer
    from alga.network.reader import Reader


@dataclass(frozen=True, kw_only=True)
class Run:
    """A network with its configuration, and its certificate if it has one."""

    name: str
    config: Config
    weights: Weights
    certificate: Certificate | None = None
    table: Table | None = None

    @property
    def model(self) -> Transformer | Reader:
        """The network as a torch module, built on first use: for hooks and patching, not for answers."""
        return self.weights.model

    @property
    def sha256(self) -> str:
        """The hash of the current weights."""
        return self.weights.sha256

    @property
    def current(self) -> bool:
        """Whether certificate and table, good or bad, belong to each other and to the current network."""
        certificate, table = self.certificate, self.table
        return (
            certificate is not None
            and table is not None
            and certificate.task == table.task == self.config.task.name
            and certificate.table_sha256 == table.sha256
            and self.weights.match(certificate.sha256)
        )

    @property
    def certified(self) -> bool:
        """Whether there is a certificate for the current network: its weights, without hooks or other changes."""
        return self._certified_as_stored if self.weights.opened is None else self._certified_now()

    @property
    def claimed(self) -> Table | None:
        """The certified table, if the network is certified as it is now."""
        return self.table if self.certified else None

    @cached_property
    def _certified_as_stored(self) -> bool:
        """The same while nobody has asked for the torch module: nothing can have changed."""
        return self._certified_now()

    def _certified_now(self) -> bool:
        certificate = self.certificate
        bounded = certificate is not None and (not self.config.model.needs_bound or certificate.bounded)
        return certificate is not None and certificate.certified and bounded and self.current

    def judged(self, watch: Watch = unwatched, cancel: Cancellation | None = None) -> Run:
        """Check every prompt, and return the run with a new certificate and table.

        Each prompt is decoded by compiled code, and again by torch if it is installed. For a network that sees more
        than its prompts, they are a sample, and what is outside is bounded too.
        """
        from alga.network.decoder import CHUNK
        from alga.network.kinds import decoder_of

        twice = installed("torch")
        if twice:
            _ = self.model  # build it first, so that global hooks are noticed as alterations
        decoder, sha256, altered = decoder_of(self.weights, self.config.tokens), self.sha256, self.weights.altered
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
        if not self.config.model.needs_bound:
            return dataclasses.replace(self, certificate=certificate, table=table)
        sampled = dataclasses.replace(self, certificate=certificate.as_sample(), table=table)
        bounded = self.config.model.can_be_bounded and not certificate.failures and not altered
        return sampled.proven(watch) if bounded else sampled

    def _refuse_unless(self, sha256: str, altered: str) -> None:
        if (self.sha256, self.weights.altered) != (sha256, altered):
            raise AlgaError(f"the network {self.name} changed while it was checked; check it again")

    def proven(self, watch: Watch = unwatched) -> Run:
        """Return the run with a proof in its certificate, as far as rigorous bounds of its weights reach."""
        assert self.certificate is not None
        from alga.trust.proof import prove, prove_reader

        weights = {name: array.astype(float) for name, array in self.weights.arrays.items()}
        model, tokens = self.config.model, self.config.tokens
        if isinstance(model, ReaderConfig) and isinstance(tokens, Texts):
            proof = prove_reader(tokens, model, weights, watch)
        else:
            proof = prove(self.config.task.domain, model, weights, watch, tighter=True)  # type: ignore[arg-type]
        self._refuse_unless(self.certificate.sha256, self.certificate.altered)
        return dataclasses.replace(self, certificate=self.certificate.with_proof(proof))
