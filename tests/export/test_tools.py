"""Slow: exported folders in the real transformers, TransformerLens and nnsight, in an environment of their own.

Its packages are those of tests/tools/requirements.txt; without them (no network) the tests are skipped, unless
ALGA_REQUIRE names `tools`. Logits are compared on every prompt, with those of the torch module here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from alga import export
from alga.base.folders import Folder
from alga.export import readers
from alga.solve.solver import Solver
from tests.conftest import ROOT, skip_or_fail
from tests.export.networks import STEP_SHAPES, random_steps

pytestmark = pytest.mark.slow
TOOLS = ROOT / "tests" / "tools"
PAGE = (ROOT / "docs" / "export.md").read_text()
SUMS = 300
SHAPES = {f"shape-{i}": options for i, options in enumerate(STEP_SHAPES.values())}
ROUNDING = 1e-5  # of the largest logit: more than another order of the same operations makes


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python of an environment with the tools, which takes 1.6 GB for as long as the tests run."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    wanted = ["install", "--quiet", "--requirement", TOOLS / "requirements.txt"]
    done = subprocess.run([*pip, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        skip_or_fail("tools", f"NOT TESTED: the tools cannot be installed: {done.stderr[-500:]}")
    yield python
    shutil.rmtree(folder)


def run(python: Path, folder: Path, *arguments: object) -> str:
    cache = {"HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        [python, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **cache},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, data in files.items():
        Folder(folder).write(name, data)


def write_steps(folder: Path, name: str, solver: Solver) -> None:
    """Write a network in both formats, and its logits along its own outputs."""
    for ending, make in {"hf": "hf", "lens": "transformer-lens"}.items():
        write(folder / f"{name}-{ending}", export.FOLDERS[make](solver))
    tokens, prompts = solver.run.config.step_tokens, list(solver.trained.domain)
    texts = [step.text for step in solver.decode(prompts)]
    written = [[*(tokens.ids[token] for token in text), *[0] * tokens.output_length] for text in texts]
    started = [[*row, tokens.ids["\n"]] for row in tokens.prompts(prompts)]
    rows = [a + b[: tokens.output_length - 1] for a, b in zip(started, written, strict=True)]
    ids = torch.tensor(rows)
    with torch.no_grad():
        save_file({"ids": ids, "logits": solver.run.model(ids)}, folder / f"{name}.safetensors")
    outputs = [text.removesuffix("S") for text in texts]
    (folder / f"{name}.json").write_text(json.dumps({"prompts": prompts, "outputs": outputs}))


def write_reader(folder: Path, name: str, solver: Solver) -> None:
    """Write a network that reads texts, its logits in every situation and along sums of 1 to 40 digits."""
    write(folder / f"{name}-hf", export.FOLDERS["hf"](solver))
    texts, rng, draw = solver.reader.tokens, Random(1), next(iter(solver.procedure.families().values()))
    size = len(texts.vocabulary)
    problems = [draw(rng, rng.randint(1, 40)) for _ in range(SUMS)]
    questions = [texts.task.question(*problem) for problem in problems]
    written = [solver.reader.continued(each, texts.task.longest_answer(each)).text for each in questions]
    seen = [question + answer[:-1] for question, answer in zip(questions, written, strict=True)]
    known = [readers.Reading(text, texts.kinds(text), texts.places(text), "") for text in seen]
    longest = max(map(len, seen))
    with torch.no_grad():
        situations = [*map(torch.from_numpy, readers.inputs_of(readers.all_situations(solver), size).values())]
        inputs = [*map(torch.from_numpy, readers.inputs_of(known, size).values())]
        save_file(
            {
                "ids": situations[0],
                "parts": situations[1],
                "places": situations[2],
                "logits": solver.run.model(*situations)[:, -1:].clone(),
                "text_logits": solver.run.model(*inputs).clone(),
                "answer": inputs[1],
            },
            folder / f"{name}.safetensors",
        )
    assert inputs[1].shape[1] == longest
    asked = {"texts": seen, "questions": questions, "numbers": [texts.task.read(each) for each in written]}
    (folder / f"{name}.json").write_text(json.dumps(asked))
    assert asked["numbers"] == [solver.procedure.oracle(*problem) for problem in problems]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exported networks: shipped ones, and one of every shape."""
    folder = tmp_path_factory.mktemp("exported")
    for name in ("addition", "smallest"):
        write_steps(folder, name, Solver.load(name))
    for name, options in SHAPES.items():
        write_steps(folder, name, random_steps(**options))
    write_reader(folder, "whole", Solver.load("whole"))
    plan = dict.fromkeys(("addition", "smallest", *SHAPES), "steps")
    (folder / "plan.json").write_text(json.dumps({**plan, "whole": "reader"}))
    return folder


@pytest.fixture(scope="module")
def found(tools: Path, folder: Path) -> dict[str, Any]:
    """What the tools made of the exported networks."""
    content: dict[str, Any] = json.loads(run(tools, folder, TOOLS / "__main__.py", folder).splitlines()[-1])
    return content


def show(what: str, result: dict[str, Any]) -> None:
    """Print a comparison; `make tools` shows it."""
    equal = f"equal argmax on {result['equal']:,} of {result['rows']:,}"
    print(f"{what}: {equal}, largest logit difference {result['largest']:.2g}")  # noqa: T201


@pytest.mark.parametrize("tool", ["AutoModel", "AutoModelForCausalLM", "lens", "nnsight"])
@pytest.mark.parametrize("name", ["addition", "smallest", *SHAPES])
def test_tool_has_the_networks_logits_on_every_prompt(
    name: str, tool: str, found: dict[str, Any], folder: Path
) -> None:
    expected, result = load_file(folder / f"{name}.safetensors")["logits"], found[name][tool]
    show(f"{name}, {tool}", result)
    assert result["rows"] == result["equal"] == len(expected) == {"addition": 2300, "smallest": 2100}.get(name, 6)
    assert result["largest"] <= ROUNDING * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("name", ["addition", "smallest", *SHAPES])
def test_generate_writes_the_networks_outputs_with_and_without_a_cache(name: str, found: dict[str, Any]) -> None:
    rows = found[name]["AutoModel"]["rows"]
    assert found[name]["generate, cache True"] == found[name]["generate, cache False"] == rows
    assert found[name]["tokenizer"]
    assert found[name]["saved again"]


def test_model_reports_attention_hidden_states_and_loss(found: dict[str, Any], folder: Path) -> None:
    assert found["addition"]["attentions"] == [4, 2, 8, 8]
    assert found["addition"]["hidden states"] == 3
    expected = load_file(folder / "addition.safetensors")
    logits, written = expected["logits"][:, :-1], expected["ids"][:, -2:]
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), written.flatten())
    assert found["addition"]["loss"] == pytest.approx(float(loss), rel=1e-3)


def test_hub_reads_the_figures_of_the_card(found: dict[str, Any]) -> None:
    certificate = Solver.load("addition").run.certificate
    assert certificate is not None
    margin = pytest.approx(certificate.least_margin, abs=1e-4)
    assert found["addition"]["card"] == {"exact_match": 1.0, "margin": margin}


def test_hooks_of_transformer_lens_are_there_and_change_the_output(found: dict[str, Any]) -> None:
    lens = found["addition"]["lens"]
    names = {"hook_embed", "hook_pos_embed", "ln_final.hook_normalized", "unembed.hook_out"}
    for i in range(2):
        inside = ("hook_q", "hook_k", "hook_v", "hook_z", "hook_pattern", "hook_out")
        names |= {f"blocks.{i}.hook_{part}" for part in ("resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out")}
        names |= {f"blocks.{i}.attn.{part}" for part in inside} | {f"blocks.{i}.mlp.hook_{p}" for p in ("pre", "post")}
    assert names <= set(lens["hooks"])
    assert (lens["idle"], lens["tokens"]) == ([], True)
    assert lens["pattern"] < 1e-5


def test_nnsight_reads_and_changes_what_is_inside(found: dict[str, Any]) -> None:
    assert found["addition"]["nnsight"]["stream"] == [2300, 8, 64]
    assert found["addition"]["nnsight"]["changed"] > 1000
    assert found["whole"]["nnsight"][-1] == 64


def test_whole_sums_are_read_in_every_situation_and_generated(found: dict[str, Any]) -> None:
    result = found["whole"]
    for what, rows in {"situations": 24741, "texts": SUMS}.items():
        show(f"whole, {what}", result[what])
        assert result[what]["rows"] == result[what]["equal"] == rows
        assert result[what]["largest"] < 1e-3
    assert result["generate, cache True"] == result["generate, cache False"] == SUMS
    assert result["alone"] == ["65785+8765=05547S", "74550"]


def documented(word: str) -> tuple[str, list[str]]:
    """Return the program of docs/export.md that has a word, and what its comments say it prints."""
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if word in each]
    return code, re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)


@pytest.mark.parametrize("word", ["tokenizer.batch_decode", "tokenizer.number", "load_lens", "nnsight"])
def test_documented_program_prints_what_the_page_says(word: str, tools: Path, folder: Path) -> None:
    code, said = documented(word)
    for name, made in {"adder-hf": "addition-hf", "adder-lens": "addition-lens"}.items():
        if not (folder / name).exists():
            (folder / name).symlink_to(folder / made)
    assert said
    assert run(tools, folder, "-c", code).splitlines() == said


def test_program_of_the_card_runs_as_pasted(tools: Path, folder: Path) -> None:
    for name in ("addition-hf", "whole-hf"):
        (code,) = re.findall(r"```python\n(.*?)```", (folder / name / "README.md").read_text(), re.DOTALL)
        said = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
        assert run(tools, folder, "-c", code.replace("FOLDER", name)).splitlines() == said
