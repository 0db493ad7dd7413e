"""Exact effects: what replacing an activation does to the network's answer on every prompt of its domain.

The domain is finite, so nothing is sampled. Every prompt is decoded by torch to its end, with the activation replaced
at each generated token, and compared with what the network writes otherwise.

>>> import alga
>>> effects = alga.load("smallest").network.effects
>>> print(effects.ablate_unit(0, 2, by="zero"))
unit 2 of block 0 is set to zero: 1,890 of 2,100 answers change
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
from numpy.typing import NDArray
from torch import Tensor

from alga.base.errors import AlgaError
from alga.network.decoder import CHUNK, Reading
from alga.network.hook_points import Hooked, Hooks, hook_names, hooked
from alga.network.kinds import AnyDecoder
from alga.network.step import Step

BY_HEAD: Final = ("hook_q", "hook_k", "hook_v", "hook_z")  # heads on the third axis
BY_PAIR: Final = ("hook_attn_scores", "hook_pattern")  # heads on the second axis, positions on the third
MEANS: Final = ("mean", "zero")  # what an activation is set to


@dataclass(frozen=True)
class Change:
    """One prompt whose answer changes."""

    prompt: str
    before: str
    after: str


@dataclass(frozen=True)
class Effect:
    """Which of the prompts change their answer, and how."""

    what: str
    prompts: int
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return f"{self.what}: {len(self.changes):,} of {self.prompts:,} answers change"

    @property
    def share(self) -> float:
        """The share of the prompts that change their answer."""
        return len(self.changes) / self.prompts

    def as_dict(self) -> dict[str, Any]:
        """Return the effect as plain values."""
        return {"what": self.what, "prompts": self.prompts, "changes": [vars(change) for change in self.changes]}


class Effects:
    """Experiments with a network on prompts, compared with what it wrote for them when this was made."""

    def __init__(self, decoder: AnyDecoder, prompts: Sequence[str]) -> None:
        self.decoder = decoder
        self.steps = {step.prompt: step for step in decoder.by_torch(prompts)}
        self._means: dict[str, Tensor] = {}

    def of(self, hooks: Hooks, what: str = "with these hooks") -> Effect:
        """Return the effect of any hooks. They get all positions; at most 4,096 prompts at a time."""
        return self._compared(what, [*self.steps], lambda _: hooks)

    def ablate_head(self, layer: int, head: int, by: str = "mean") -> Effect:
        """Set what an attention head mixes to its mean over all prompts at each position, or to zero."""
        return self._ablated(f"head {head} of block {layer}", f"blocks.{layer}.attn.hook_z", head, by)

    def ablate_unit(self, layer: int, unit: int, by: str = "mean") -> Effect:
        """Set what a hidden unit gives to its mean over all prompts at each position, or to zero."""
        return self._ablated(f"unit {unit} of block {layer}", f"blocks.{layer}.mlp.hook_post", unit, by)

    def ablate_direction(
        self, name: str, direction: Tensor | NDArray[Any] | Sequence[float], by: str = "mean"
    ) -> Effect:
        """Set an activation's component along a direction to its mean over all prompts, or to zero."""
        vector = torch.as_tensor(direction, dtype=torch.float32)
        vector = vector / vector.norm()
        usual = self._usual(name, by)
        vector = vector.to(usual.device)
        if vector.shape != usual.shape[-1:]:
            raise AlgaError(f"{name} has {usual.shape[-1]} numbers, the direction has {vector.numel()}")

        def without(activation: Tensor, _: Hooked) -> Tensor:
            moved: Tensor = (usual[: activation.shape[1]] - activation) @ vector
            changed: Tensor = activation + moved.unsqueeze(-1) * vector
            return changed

        return self.of([(name, without)], f"a direction of {name} {_set_to(by)}")

    def patch(
        self,
        name: str,
        sources: Mapping[str, str],
        *,
        heads: Sequence[int] | None = None,
        positions: Sequence[int] | None = None,
    ) -> Effect:
        """Put one prompt's activation in place of another's: `sources` names for each prompt to be run the other one.

        Where the other one's step has no such position, a prompt keeps its own. `heads` and `positions` choose a part.
        """
        if heads is not None and not name.endswith((*BY_HEAD, *BY_PAIR)):
            raise AlgaError(f"{name} is not split into heads")
        for prompt in (each for pair in sources.items() for each in pair):
            if prompt not in self.steps:
                raise AlgaError(f"{prompt!r} is not one of the prompts of these effects")

        def hooks(prompts: Sequence[str]) -> Hooks:
            cache, reading = self._read([name], [self.steps[sources[prompt]] for prompt in prompts])
            there_BL = torch.from_numpy(reading.read_BL).to(cache[name].device)
            if positions is not None:
                chosen_L = torch.zeros_like(there_BL[0])
                chosen_L[list(positions)] = True
                there_BL = there_BL & chosen_L
            return [(name, partial(_patched, cache[name], there_BL, heads))]

        return self._compared(f"{name} is another prompt's", [*sources], hooks)

    def logit_lens(self) -> list[Effect]:
        """Read the answers off the residual stream by the last LayerNorm and the map to the vocabulary.

        The network's own tokens are given. An answer changes if any of its tokens would be another.
        """
        model, vocabulary = self.decoder.model, self.decoder.tokens.vocabulary
        names = [name for name in hook_names(len(model.layers)) if "hook_resid" in name]
        changes: dict[str, list[Change]] = {name: [] for name in names}
        for steps in _chunks([*self.steps.values()]):
            cache, reading = self._read(names, steps)
            written_BL = torch.from_numpy(reading.written_BL >= 0)
            for name, residual_BLD in cache.items():
                with torch.inference_mode():
                    ids_BL = (model.final_norm(residual_BLD) @ model.vocabulary_weight.T).argmax(dim=-1).cpu()
                for step, ids_L, written_L in zip(steps, ids_BL, written_BL, strict=True):
                    text = "".join(vocabulary[i] for i in ids_L[written_L].tolist())
                    changes[name] += [Change(step.prompt, step.text, text)] * (text != step.text)
        return [Effect(f"read off {name}", len(self.steps), tuple(found)) for name, found in changes.items()]

    def _ablated(self, label: str, name: str, index: int, by: str) -> Effect:
        usual = self._usual(name, by)
        if not 0 <= index < usual.shape[1]:
            raise AlgaError(f"{name} has numbers 0 to {usual.shape[1] - 1}, not {index}")

        def without(activation: Tensor, _: Hooked) -> Tensor:
            changed = activation.clone()
            changed[:, :, index] = usual[: activation.shape[1], index]
            return changed

        return self.of([(name, without)], f"{label} {_set_to(by)}")

    def _usual(self, name: str, by: str) -> Tensor:
        """Return what an activation is set to, by position: its mean over the steps that read there, or zero."""
        if by not in MEANS:
            raise AlgaError(f"an activation is set to its mean or to zero, got {by!r}")
        if name not in self._means:
            total = count_L = torch.zeros(())
            for steps in _chunks([*self.steps.values()]):
                cache, reading = self._read([name], steps)
                there_BL = torch.from_numpy(reading.read_BL).to(cache[name].device)
                total = _spread(there_BL, cache[name]).mul(cache[name]).sum(dim=0) + total
                count_L = there_BL.sum(dim=0) + count_L
            self._means[name] = total / _spread(count_L.clamp_min(1)[None], total[None])[0]
        return self._means[name] if by == "mean" else torch.zeros_like(self._means[name])

    def _read(self, names: Sequence[str], steps: Sequence[Step]) -> tuple[dict[str, Tensor], Reading]:
        """Run the network over whole steps; return the activations by name."""
        cache: dict[str, Tensor] = {}
        with hooked(self.decoder.model, [(name, lambda it, where: cache.update({where.name: it})) for name in names]):
            reading = self.decoder.read(steps)
        if missing := next((name for name in names if name not in cache), None):
            raise AlgaError(f"this network does not compute {missing}")
        return cache, reading

    def _compared(self, what: str, prompts: Sequence[str], hooks: Callable[[Sequence[str]], Hooks]) -> Effect:
        """Decode prompts with the hooks for each batch of them, and compare."""
        changes = []
        for batch in _chunks(prompts):
            with hooked(self.decoder.model, hooks(batch)):
                found = self.decoder.by_torch(batch)
            before = [self.steps[prompt].text for prompt in batch]
            changes += [
                Change(step.prompt, text, step.text)
                for step, text in zip(found, before, strict=True)
                if step.text != text
            ]
        return Effect(what, len(prompts), tuple(changes))


def _patched(
    source: Tensor, there_BL: Tensor, heads: Sequence[int] | None, activation: Tensor, where: Hooked
) -> Tensor:
    """Return an activation with another one's numbers at the positions `there` and in some heads."""
    pairs = where.name.endswith(BY_PAIR)
    L = activation.shape[2 if pairs else 1]
    source = source[:, :, :L, : activation.shape[3]] if pairs else source[:, :L]
    there = _spread(there_BL[:, None, :L] if pairs else there_BL[:, :L], activation)
    if heads is not None:
        axis = 1 if pairs else 2
        chosen = torch.zeros(activation.shape[axis], dtype=torch.bool, device=activation.device)
        chosen[list(heads)] = True
        there = there & chosen.view([-1 if i == axis else 1 for i in range(activation.dim())])
    return torch.where(there, source, activation)


def _spread(some: Tensor, like: Tensor) -> Tensor:
    """Return a tensor with as many axes as another, the missing ones last."""
    return some.view(*some.shape, *[1] * (like.dim() - some.dim()))


def _set_to(by: str) -> str:
    return "is set to zero" if by == "zero" else "is set to its mean"


def _chunks(items: Sequence[Any]) -> Iterator[Any]:
    return (items[start : start + CHUNK] for start in range(0, len(items), CHUNK))
