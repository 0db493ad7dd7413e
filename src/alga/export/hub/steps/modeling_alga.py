r"""An ALGA network that answers prompts, as a model of transformers: `15C77\n` is continued with `15S`."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import Cache, DynamicCache, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from .configuration_alga import AlgaStepConfig
from .network_alga import Seen, StepNetwork


class AlgaStepForCausalLM(PreTrainedModel, GenerationMixin):
    r"""The network with logits at every position; those before `\n` have no meaning."""

    config_class = AlgaStepConfig
    base_model_prefix = "network"

    def __init__(self, config: AlgaStepConfig) -> None:
        super().__init__(config)
        self.network = StepNetwork(**config.shape())
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the token embedding."""
        return self.network.token_embedding

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,  # noqa: ARG002 - padding is part of the prompt, and is attended to
        past_key_values: Cache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **ignored: Any,  # noqa: ARG002 - what `generate` passes to every model
    ) -> CausalLMOutputWithPast:
        """Return the logits of the next token at every position of `input_ids`."""
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        past = 0 if past_key_values is None else past_key_values.get_seq_length()
        seen = Seen() if output_attentions or output_hidden_states else None
        logits_BQV = self.network(input_ids, past, past_key_values, seen)
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits_BQV, labels=labels, vocab_size=self.config.vocab_size)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits_BQV,
            past_key_values=past_key_values,
            hidden_states=tuple(seen.states) if seen is not None and output_hidden_states else None,
            attentions=tuple(seen.attention) if seen is not None and output_attentions else None,
        )
