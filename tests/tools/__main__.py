"""python tests/tools/__main__.py FOLDER: compare exported networks with the logits beside them; print JSON."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import ModelCard
from nnsight import NNsight
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

TRUSTED = {"trust_remote_code": True}


def difference(found: torch.Tensor, expected: torch.Tensor) -> dict[str, Any]:
    """Return on how many rows every likeliest token is equal, and the largest difference of logits."""
    equal = (found.argmax(dim=-1) == expected.argmax(dim=-1)).flatten(1).all(dim=1)
    return {"rows": len(equal), "equal": int(equal.sum()), "largest": float((found - expected).abs().max())}


def steps(folder: Path, name: str) -> dict[str, Any]:
    """Compare a network that answers prompts."""
    expected, asked = load_file(folder / f"{name}.safetensors"), json.loads((folder / f"{name}.json").read_text())
    ids, logits = expected["ids"], expected["logits"]
    begin = ids.shape[1] - logits.shape[1]  # the position of `\n`
    found: dict[str, Any] = {}
    for kind in (AutoModel, AutoModelForCausalLM):
        model = kind.from_pretrained(folder / f"{name}-hf", **TRUSTED)
        found[kind.__name__] = difference(model(ids).logits[:, begin:], logits)
    tokenizer = AutoTokenizer.from_pretrained(folder / f"{name}-hf", **TRUSTED)
    inputs = tokenizer(asked["prompts"], return_tensors="pt")
    found["tokenizer"] = torch.equal(inputs["input_ids"], ids[:, : begin + 1])
    for cached in (True, False):
        written = model.generate(**inputs, use_cache=cached)[:, begin + 1 :]
        texts = [text.partition("S")[0] for text in tokenizer.batch_decode(written)]
        found[f"generate, cache {cached}"] = sum(map(str.__eq__, texts, asked["outputs"]))
    seen = model(ids[:4], output_attentions=True, output_hidden_states=True)
    found["attentions"] = [*seen.attentions[0].shape]
    found["hidden states"] = len(seen.hidden_states)
    labels = ids.masked_fill(torch.arange(ids.shape[1]) <= begin, -100)
    found["loss"] = float(model(ids, labels=labels).loss)
    model.save_pretrained(folder / f"{name}-again")
    again = AutoModelForCausalLM.from_pretrained(folder / f"{name}-again", **TRUSTED)
    found["saved again"] = torch.equal(again(ids).logits, model(ids).logits)
    card = ModelCard.load(folder / f"{name}-hf" / "README.md").data
    found["card"] = {each.metric_type: each.metric_value for each in card.eval_results}
    found["nnsight"] = nnsight_of(model, ids, logits, begin)
    lens = runpy.run_path(str(folder / f"{name}-lens" / "load_lens.py"))
    bridge = lens["load"](folder / f"{name}-lens")
    same = torch.equal(lens["tokens"](folder / f"{name}-lens", asked["prompts"]), ids[:, : begin + 1])
    found["lens"] = {**difference(bridge(ids)[:, begin:], logits), "tokens": same, **hooks_of(bridge, model, ids)}
    return found


def nnsight_of(model: Any, ids: torch.Tensor, logits: torch.Tensor, begin: int) -> dict[str, Any]:
    """Trace the model: read the residual stream after its first layer, then ablate that layer's feed-forward part."""
    traced = NNsight(model)
    with traced.trace(ids):
        stream = traced.network.layers[0].output[0].save()
        found = traced.output.logits.save()
    with traced.trace(ids):
        traced.network.layers[0].feed_forward.output[:] = 0
        ablated = traced.output.logits.save()
    changed = (ablated.argmax(dim=-1) != found.argmax(dim=-1))[:, begin:].any(dim=1)
    return {**difference(found[:, begin:], logits), "stream": [*stream.shape], "changed": int(changed.sum())}


def hooks_of(bridge: Any, model: Any, ids: torch.Tensor) -> dict[str, Any]:
    """Return which hooks are in the cache, which change nothing when all that they see becomes zero, and patterns."""
    base, cache = bridge.run_with_cache(ids[:50])
    idle = []
    for name, seen in cache.items():
        if seen.is_floating_point() and not name.endswith("hook_attn_scores"):
            zeroed = bridge.run_with_hooks(ids[:50], fwd_hooks=[(name, lambda x, hook: torch.zeros_like(x))])
            if torch.equal(zeroed, base):
                idle.append(name)
    attention = model(ids[:50], output_attentions=True).attentions
    patterns = [cache[f"blocks.{i}.attn.hook_pattern"] - each for i, each in enumerate(attention)]
    return {"hooks": [*cache], "idle": idle, "pattern": max(float(each.abs().max()) for each in patterns)}


def reader(folder: Path, name: str) -> dict[str, Any]:
    """Compare a network that reads whole texts: in every situation, and on sums with its own continuation."""
    expected, asked = load_file(folder / f"{name}.safetensors"), json.loads((folder / f"{name}.json").read_text())
    model = AutoModelForCausalLM.from_pretrained(folder / f"{name}-hf", **TRUSTED)
    tokenizer = AutoTokenizer.from_pretrained(folder / f"{name}-hf", **TRUSTED)
    read = model.network(expected["ids"], expected["parts"], expected["places"])[:, -1:]
    found: dict[str, Any] = {"situations": difference(read, expected["logits"])}
    texts = tokenizer(asked["texts"], return_tensors="pt", padding=True)
    logits = model(**texts).logits
    rows = expected["text_logits"].shape[1]  # the last positions, of which some are padding or belong to the question
    answer = expected["answer"].unsqueeze(-1)
    found["texts"] = difference(logits[:, -rows:] * answer, expected["text_logits"] * answer)
    inputs = tokenizer(asked["questions"], return_tensors="pt", padding=True)
    for cached in (True, False):
        numbers = [tokenizer.number(row) for row in model.generate(**inputs, use_cache=cached)]
        found[f"generate, cache {cached}"] = sum(map(str.__eq__, numbers, asked["numbers"]))
    (alone,) = model.generate(**tokenizer("65785+8765=", return_tensors="pt"))
    found["alone"] = [tokenizer.decode(alone), tokenizer.number(alone)]
    with (traced := NNsight(model)).trace(inputs["input_ids"][:1]):
        stream = traced.network.layers[0].output[0].save()
    found["nnsight"] = [*stream.shape]
    return found


def main() -> None:
    """Compare everything in a folder."""
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text())
    torch.set_num_threads(1)
    with torch.no_grad():
        found = {name: (steps if kind == "steps" else reader)(folder, name) for name, kind in plan.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
