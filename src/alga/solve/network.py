"""The network of a run: what it writes for prompts, its certificate and table, and its inside.

>>> import alga
>>> network = alga.load().network
>>> logits, cache = network.run_with_cache(["15C77", "55"])
>>> tuple(logits.shape), tuple(cache["blocks.1.attn.hook_pattern"].shape)
((2, 6, 14), (2, 2, 6, 6))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from alga import runs
from alga.base.cancellation import Cancellation
from alga.base.progress import Watch, unwatched
from alga.network.step import Step
from alga.runs import Run
from alga.trust.certificate import Certificate
from alga.trust.table import Table, extract

if TYPE_CHECKING:
    from torch import Tensor

    from alga.network.decoder import Decoder
    from alga.network.effects import Effects
    from alga.network.hook_points import Hooked, Hooks
    from alga.network.kinds import AnyDecoder
    from alga.network.reader_decoder import ReaderDecoder


class Network:
    """A trained network; `alga.network.hook_points` lists the names of its activations."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.trained = run.config.task
        self._extracted: tuple[str, Table] | None = None

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the network as a run folder, with its certificate if it has one; the folder must be new or empty."""
        with runs.claim(Path(folder)):
            runs.save(Path(folder), self.run)

    @cached_property
    def decoder(self) -> AnyDecoder:
        """The network itself, opened on first use."""
        from alga.network.kinds import decoder_of

        return decoder_of(self.run.weights, self.run.config.tokens)

    @property
    def reader(self) -> ReaderDecoder:
        """The decoder of a network that reads whole texts."""
        return cast("ReaderDecoder", self.decoder)

    @property
    def step_decoder(self) -> Decoder:
        """The decoder of a network that answers prompts; refuses any other."""
        _ = self.run.config.step_tokens
        return cast("Decoder", self.decoder)

    @property
    def certified(self) -> bool:
        """Whether the network has a certificate, and for its weights as they are now."""
        return self.run.certified

    def decode(self, prompts: Sequence[str]) -> list[Step]:
        """Run the network; while it claims its certificate, refuse an output that its table contradicts."""
        return self._decode(self.run.claimed, self.decoder, prompts)

    @property
    def table(self) -> Table:
        """The network's outputs on its whole domain: as certified, or extracted now if there is no certificate."""
        if self.run.current and self.run.table is not None:
            return self.run.table
        sha256, altered = self.run.sha256, self.run.weights.altered
        if altered or self._extracted is None or self._extracted[0] != sha256:
            self.decoder.refresh()
            table = extract(self.trained.domain, self.decoder)
            self._extracted = None if altered else (sha256, table)  # a hook may answer differently next time
            return table
        return self._extracted[1]

    def certify(self, watch: Watch = unwatched, cancel: Cancellation | None = None) -> Certificate:
        """Check the network as it is now on every prompt, whatever certificate it came with."""
        certificate = self.run.judged(watch, cancel).certificate
        assert certificate is not None
        return certificate

    def _decode(self, claimed: Table | None, decode: Callable[..., list[Step]], *asked: Any) -> list[Step]:
        steps = decode(*asked)
        if claimed is not None:
            claimed.refuse(self.run.name, ((step.prompt, step.output, step.text) for step in steps))
        return steps

    @property
    def _network_calls(self) -> int:
        return self.decoder.network_calls if "decoder" in vars(self) else 0

    # --- its inside -----------------------------------------------------------------------------------------------

    def run_with_cache(
        self, prompts: Sequence[str], names: Callable[[str], bool] = lambda _: True, gradients: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        r"""Run the network once; return the logits at every position (BLV), and the activations by name.

        `prompts` are what the network reads: `15C77`, or `15C77\n1` with the output so far; for a network that reads
        whole texts, `65785+8765=05`. All have the same number of tokens. `names` chooses what is kept. With
        `gradients`, what is returned can be differentiated.
        """
        cache: dict[str, Tensor] = {}

        def keep(activation: Tensor, where: Hooked) -> None:
            cache[where.name] = activation

        with self.hooked([(names, keep)]):
            return self.decoder.logits(prompts, gradients), cache

    def run_with_hooks(self, prompts: Sequence[str], hooks: Hooks, gradients: bool = False) -> Tensor:
        """Run the network once with hooks; return the logits at every position (BLV).

        A hook is a name, or a function that says which names are meant, with a function that is called with the
        activation and its place; what it returns goes on in place of the activation, unless it is None.
        """
        with self.hooked(hooks):
            return self.decoder.logits(prompts, gradients)

    def hooked(self, hooks: Hooks) -> AbstractContextManager[None]:
        """Return a context in which everything that the network does is done with hooks; it is not certified there."""
        from alga.network.hook_points import hooked

        return hooked(self.decoder.model, hooks)

    @property
    def effects(self) -> Effects:
        """What replacing activations does to the answers on the whole domain, from the network as it is now."""
        from alga.network.effects import Effects

        return Effects(self.decoder, list(self.trained.domain))
