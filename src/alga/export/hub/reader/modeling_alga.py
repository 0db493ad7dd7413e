"""An ALGA network that reads whole texts, as a model of transformers: `65785+8765=` is continued with `05547S`."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import Cache, DynamicCache, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from .configuration_alga import AlgaReaderConfig
from .network_alga import ReaderNetwork, Seen, parts_and_places


class AlgaReaderForCausalLM(PreTrainedModel, GenerationMixin):
    """The network with logits at every position; those before `=` have no meaning."""

    config_class = AlgaReaderConfig
    base_model_prefix = "network"

    def __init__(self, config: AlgaReaderConfig) -> None:
        super().__init__(config)
        self.network = ReaderNetwork(**config.shape())
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the token embedding."""
        return self.network.token_embedding

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        text_ids: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **ignored: Any,  # noqa: ARG002 - what `generate` passes to every model
    ) -> CausalLMOutputWithPast:
        """Return the logits of the next token at every position of `input_ids`.

        `attention_mask` is 0 where a row is padded. With a cache that is not empty, `text_ids` is the whole text, of
        which `input_ids` are the last tokens: places depend on all of it.
        """
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        past = 0 if past_key_values is None else past_key_values.get_seq_length()
        text_ids = input_ids if text_ids is None else text_ids
        if text_ids.shape[1] != past + input_ids.shape[1]:
            raise ValueError(f"expected the whole text of {past + input_ids.shape[1]} tokens as text_ids")
        parts, places = parts_and_places(
            text_ids, self.config.plus_token_id, self.config.equals_token_id, attention_mask
        )
        seen = Seen() if output_attentions or output_hidden_states else None
        logits_BQV = self.network(input_ids, parts, places, past_key_values, seen)
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

    def prepare_inputs_for_generation(self, input_ids: Tensor, *more: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the inputs of one step of generation, with the whole text beside the tokens that are new."""
        # The name `kwargs` matters: by it, transformers knows that the arguments of `forward` may be passed.
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(input_ids, *more, **kwargs)
        return {**inputs, "text_ids": input_ids}

    def generate(self, inputs: Tensor | None = None, generation_config: Any = None, **options: Any) -> Any:
        """Continue texts; unless told otherwise, by up to as many tokens as they have, which any sum fits into."""
        given = inputs if inputs is not None else options.get("input_ids")
        limited = generation_config is not None or {"max_length", "max_new_tokens"} & options.keys()
        if given is not None and not limited:
            options["max_new_tokens"] = given.shape[1]
        return super().generate(inputs, generation_config, **options)
