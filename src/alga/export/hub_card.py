"""The model card of a Hugging Face folder: front matter as the Hub expects it, then how to open it and what holds."""

from __future__ import annotations

import json
from typing import Any, Final

import alga
from alga import runs
from alga.runs.card import about, plain
from alga.solve.solver import Solver
from alga.trust.certificate import Certificate

TAGS: Final = ("alga", "math", "length-generalization", "verification", "interpretability", "custom_code")
OPEN_STEPS: Final = """\
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("FOLDER", trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained("FOLDER", trust_remote_code=True)
inputs = tokenizer({prompts}, return_tensors="pt")
outputs = model.generate(**inputs)[:, inputs["input_ids"].shape[1] :]
print(tokenizer.batch_decode(outputs, skip_special_tokens=True))  # {outputs}
"""
OPEN_READER: Final = """\
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("FOLDER", trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained("FOLDER", trust_remote_code=True)
outputs = model.generate(**tokenizer("{question}", return_tensors="pt"))
print(tokenizer.decode(outputs[0]))  # {text}
print(tokenizer.number(outputs[0]))  # {number}
"""
READ_STEPS: Final = (
    "One token is one character. The tokenizer pads a prompt with `P` to {} tokens and appends a newline; the",
    "network writes its output and `S`. `P` is part of the prompt: it is attended to, and the attention mask is not",
    "used. Logits have a meaning from the newline on. Problems of several columns need the loop over the columns,",
    "which is in the package `alga`, not in this folder.",
)
READ_READER: Final = (
    "One token is one character. The network writes the sum with its units first, then `S`; `tokenizer.number` reads",
    "it as people write numbers. Rows of a batch are padded on the left and masked (`padding=True`). Write numbers",
    "without leading zeros. Logits have a meaning from `=` on.",
)


def card(solver: Solver, right: int) -> str:
    """Return the card; `right` is the number of prompts, or situations, that were answered right just now."""
    reads, task, certificate = solver.own_engine == "whole", solver.trained, solver.run.certificate
    held = certificate if solver.certified else None
    read = READ_READER if reads else READ_STEPS
    lengths = 0 if reads else solver.run.config.step_tokens.input_length
    return "\n".join(
        [
            "---",
            *_front_matter(solver, right, held),
            "---",
            "",
            f"# {task.name}: a Transformer of {solver.run.config.model.parameters:,} parameters",
            "",
            *about(task),
            "",
            "```python",
            _opening(solver) + "```",
            "",
            *(line.format(lengths) for line in read),
            "",
            "## What is certified, and what is not",
            "",
            *_claims(solver, right, held),
            "",
            f"Written by `alga export --format hf`, version {alga.__version__}.",
            "",
        ]
    )


def _front_matter(solver: Solver, right: int, certificate: Certificate | None) -> list[str]:
    """Return the YAML block's lines; texts are quoted as in JSON, which is YAML."""
    run, prompts = solver.run, len(solver.trained.domain)
    name = f"alga-{solver.trained.name}"
    asked = "situations" if solver.own_engine == "whole" else "prompts"
    metrics: list[tuple[str, str, Any]] = [("exact_match", f"exact match on all {prompts:,} {asked}", right / prompts)]
    if certificate is not None and certificate.least_margin is not None:
        metrics.append(("margin", "least margin of a logit", round(certificate.least_margin, 4)))
    return [
        f"license: {'mit' if run.name in runs.shipped() else 'unknown'}",
        "library_name: transformers",
        "pipeline_tag: text-generation",
        "tags:",
        *(f"- {tag}" for tag in TAGS),
        "metrics:",
        "- exact_match",
        "model-index:",
        f"- name: {json.dumps(name)}",
        "  results:",
        "  - task:",
        "      type: text-generation",
        f"      name: {json.dumps(solver.trained.summary)}",
        "    dataset:",
        "      type: alga",
        f"      name: {json.dumps(f'every one of the {prompts:,} {asked} of {solver.trained.name}')}",
        "    metrics:",
        *(
            line
            for kind, words, value in metrics
            for line in (f"    - type: {kind}", f"      name: {json.dumps(words)}", f"      value: {json.dumps(value)}")
        ),
    ]


def _opening(solver: Solver) -> str:
    """Return the program of the card, with what this network writes."""
    if solver.own_engine == "whole":
        task = solver.reader.tokens.task
        operands = ("65785", "8765", "1") if "8" in task.digits else ("10110", "1101", "1")
        question = task.question(*operands[: solver.procedure.layout.arity])
        written = solver.reader.continued(question, task.longest_answer(question)).text
        number = task.read(written) or "no number"
        return OPEN_READER.format(question=question, text=question + written, number=number)
    prompts = [*solver.trained.domain][:1] + [*solver.trained.domain][-1:]
    outputs = [step.text.removesuffix("S") for step in solver.decode(prompts)]
    return OPEN_STEPS.format(prompts=json.dumps(prompts), outputs=outputs)


def _claims(solver: Solver, right: int, certificate: Certificate | None) -> list[str]:
    prompts, reads = len(solver.trained.domain), solver.own_engine == "whole"
    asked = "situations" if reads else "prompts"
    if certificate is None:
        said = [f"Nothing is certified: this network answers {right:,} of its {prompts:,} {asked} right."]
    else:
        said = [
            f"These weights are {plain(certificate.statement)}.",
            "The certificate (`certificate.json`) and the table of all answers (`table.json`) are about the decoder of",
            "the package `alga` with the weight file of this folder, whose SHA-256 is the certificate's:",
            f"`{certificate.sha256}`",
            "",
            "Not certified: the code in this folder, `transformers` and `generate`.",
        ]
    return [
        *said,
        f"When this folder was written, `network_alga.py` was run on all {prompts:,} {asked}"
        + (" and on sums of up to 100 digits." if reads else "."),
        "It wrote the same tokens as the package. That is a test on one machine, in float32, not a proof.",
    ]
