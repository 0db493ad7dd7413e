"""A network as a folder that Hugging Face transformers opens: weights, configuration, code, tokenizer, model card.

The weight file is the run's, to the byte, so its hash is the certificate's. The code in the folder is compared with the
network on every prompt before anything is written; docs/export.md says what that shows and what it does not.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from alga.base.errors import AlgaError, installed, missing_extra
from alga.base.progress import Watch, unwatched
from alga.export import readers
from alga.export.hub_card import card
from alga.network.kinds import AnyShape, module_of
from alga.network.sharing import SHARING
from alga.network.tokens import PAD, PAD_ID, START, STOP, STOP_ID
from alga.runs.weights import WEIGHTS
from alga.solve.solver import Solver
from alga.tasks.whole import END, EQUALS, PLUS

if TYPE_CHECKING:
    from torch import Tensor, nn

HUB: Final = Path(__file__).parent / "hub"
CODE: Final = ("configuration_alga.py", "modeling_alga.py", "network_alga.py", "tokenization_alga.py")
TOLERANCE: Final = 1e-4  # of logits, relative to the largest; rounding alone makes less than a tenth of it


def folder(solver: Solver, watch: Watch = unwatched) -> dict[str, bytes]:
    """Return the files of a folder that `AutoModelForCausalLM.from_pretrained(…, trust_remote_code=True)` opens."""
    if not installed("torch"):
        raise missing_extra("Hugging Face export", "torch", "train")
    reads = solver.own_engine == "whole"
    right = _compare_reader(solver, watch) if reads else _compare_steps(solver, watch)
    kind, name = ("reader", "AlgaReader") if reads else ("steps", "AlgaStep")
    run, tokens = solver.run, solver.run.config.tokens
    model, generation = _config(solver, name)
    files = {
        "README.md": card(solver, right).encode(),
        WEIGHTS: run.weights.data,
        "generation_config.json": _json(generation),
        "tokenizer_config.json": _json(_tokenizer(solver, name)),
        "vocab.json": _json(tokens.ids),
        **{file: (HUB / kind / file).read_bytes() for file in CODE},
    }
    if solver.certified and run.certificate is not None and run.table is not None:
        files["certificate.json"] = run.certificate.to_json().encode()
        files["table.json"] = run.table.to_json().encode()
    return {**files, "config.json": _json(model)}  # last: a folder that was half written does not open


def _json(content: object) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def _config(solver: Solver, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `config.json` and `generation_config.json`."""
    config, tokens = solver.run.config, solver.run.config.tokens
    code = f"modeling_alga.{name}ForCausalLM"
    if solver.own_engine == "whole":
        signs = {"plus_token_id": tokens.ids[PLUS], "equals_token_id": tokens.ids[EQUALS]}
        stopping = {"eos_token_id": tokens.ids[END], "pad_token_id": tokens.ids[END]}
    else:
        signs = {}
        stopping = {"eos_token_id": STOP_ID, "pad_token_id": PAD_ID}
    model = {
        "architectures": [f"{name}ForCausalLM"],
        "auto_map": {
            "AutoConfig": f"configuration_alga.{name}Config",
            "AutoModel": code,
            "AutoModelForCausalLM": code,
        },
        "model_type": f"alga-{'reader' if solver.own_engine == 'whole' else 'steps'}",
        "dtype": "float32",
        "tie_word_embeddings": False,  # a tied network reads its embedding twice; there is nothing to tie
        **settings_of(config.model),
        **signs,
        **stopping,
        "task": solver.trained.name,
        "weights_sha256": solver.run.sha256,
    }
    limit = {} if solver.own_engine == "whole" else {"max_new_tokens": config.step_tokens.output_length}
    return model, {**stopping, **limit, "do_sample": False}


def _tokenizer(solver: Solver, name: str) -> dict[str, Any]:
    reads = solver.own_engine == "whole"
    return {
        "auto_map": {"AutoTokenizer": [f"tokenization_alga.{name}Tokenizer", None]},
        "tokenizer_class": f"{name}Tokenizer",
        "clean_up_tokenization_spaces": False,
        "eos_token": END if reads else STOP,
        "pad_token": END if reads else PAD,
        **({"padding_side": "left"} if reads else {"input_length": solver.run.config.step_tokens.input_length}),
    }


def settings_of(model: AnyShape) -> dict[str, Any]:
    """Return the settings of a network without those that say which entries share a trained number."""
    return {name: value for name, value in dataclasses.asdict(model).items() if name not in SHARING}


# --- the comparison ---------------------------------------------------------------------------------------------------


def _compare_steps(solver: Solver, watch: Watch) -> int:
    """Return how many prompts are right; refuse code that answers one differently, or with other logits."""
    import torch  # noqa: PLC0415 - other formats are exported without it

    from alga.export.hub.steps.network_alga import StepNetwork  # noqa: PLC0415

    tokens, domain = solver.run.config.step_tokens, list(solver.trained.domain)
    ours, theirs = _both(solver, StepNetwork(**settings_of(solver.run.config.model)))
    steps = solver.decode(domain)
    for start in range(0, len(domain), readers.BATCH):
        batch = steps[start : start + readers.BATCH]
        ids = torch.tensor([[*row, tokens.ids[START]] for row in tokens.prompts([step.prompt for step in batch])])
        found = torch.empty(len(batch), 0, dtype=torch.long)
        for _ in range(tokens.output_length):
            logits = theirs(ids)[:, tokens.input_length :]
            _check_logits(batch[0].prompt, logits, ours(ids))
            found = torch.cat([found, logits[:, -1:].argmax(dim=-1)], dim=1)
            ids = torch.cat([ids, found[:, -1:]], dim=1)
        texts = [tokens.text([*row, STOP_ID][: tokens.output_length]) for row in found.tolist()]
        _check_texts([step.prompt for step in batch], texts, [step.text for step in batch])
        watch(start + len(batch), len(domain))
    return sum(step.output == solver.trained.domain[step.prompt].output for step in steps)


def _compare_reader(solver: Solver, watch: Watch) -> int:
    """Return in how many situations the next token is right; refuse code that continues anything differently."""
    import torch  # noqa: PLC0415

    from alga.export.hub.reader.network_alga import ReaderNetwork, parts_and_places  # noqa: PLC0415

    texts, situations, sums = solver.reader.tokens, readers.all_situations(solver), readers.some_sums(solver)
    ours, theirs = _both(solver, ReaderNetwork(**dataclasses.asdict(solver.run.config.model)))
    batches = [situations[start : start + readers.BATCH] for start in range(0, len(situations), readers.BATCH)]
    for done, batch in enumerate([*batches, *([each] for each in sums)], start=1):
        ids, parts, places = map(torch.from_numpy, readers.inputs_of(batch, len(texts.vocabulary)).values())
        logits = theirs(ids, parts, places)
        _check_logits(batch[0].name, logits, ours(ids, parts, places))
        last = max(len(each.written) for each in batch)
        found = ["".join(texts.vocabulary[i] for i in row) for row in logits[:, -last:].argmax(dim=-1).tolist()]
        _check_texts([each.name for each in batch], found, [each.written for each in batch])
        if done > len(batches):  # a whole text, of which the code derives parts and places itself
            derived = parts_and_places(ids, texts.ids[PLUS], texts.ids[EQUALS])
            if not (derived[0].equal(parts) and derived[1].equal(places)):
                raise AlgaError(f"the exported network gives the tokens of {batch[0].name} other places")
        watch(min(done * readers.BATCH, len(situations)), len(situations))
    return sum(solver.trained.domain[each.name].output == each.written for each in situations)


def _both(solver: Solver, theirs: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Return the network as it is here and as the exported code computes it, with the same weights."""
    import torch  # noqa: PLC0415

    ours = module_of(solver.run.weights.arrays, solver.run.config.model)
    theirs.load_state_dict(ours.state_dict())
    return ours.requires_grad_(False), theirs.to(torch.float32).eval().requires_grad_(False)


def _check_texts(prompts: Sequence[str], found: Sequence[str], expected: Sequence[str]) -> None:
    for prompt, text, right in zip(prompts, found, expected, strict=True):
        if text != right:
            raise AlgaError(f"the exported network continues {prompt} with {text!r}, the network here with {right!r}")


def _check_logits(prompt: str, found: Tensor, expected: Tensor) -> None:
    difference, allowed = float((found - expected).abs().max()), TOLERANCE * max(1.0, float(expected.abs().max()))
    if not difference <= allowed:  # nor if one of them is not a number
        raise AlgaError(
            f"the exported network's logits from {prompt} on differ from those here by {difference:.2g}, "
            f"which is more than {allowed:.2g}"
        )
