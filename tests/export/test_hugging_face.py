"""The Hugging Face folder without transformers: files, card, and the code that needs torch alone.

`test_tools.py` opens such folders with the real packages.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import yaml

from alga import export
from alga.base.errors import AlgaError
from alga.export import hugging_face
from alga.export.hub.reader import network_alga as reader_code
from alga.export.hub.steps import network_alga as step_code
from alga.network.hook_points import hooked
from alga.network.kinds import module_of
from alga.runs import SHIPPED
from alga.solve.solver import Solver
from tests.conftest import Alga
from tests.export.networks import READER_SHAPES, STEP_SHAPES, random_reader, random_steps
from tests.source_tree import HUB

REQUIRED = {"license", "library_name", "pipeline_tag", "tags", "metrics", "model-index"}
FILES = {
    "README.md", "config.json", "configuration_alga.py", "generation_config.json", "model.safetensors",
    "modeling_alga.py", "network_alga.py", "tokenization_alga.py", "tokenizer_config.json", "vocab.json",
}  # fmt: skip
JUDGEMENT = {"certificate.json", "table.json"}


def front_matter(files: dict[str, bytes]) -> dict[str, Any]:
    _, block, _ = files["README.md"].decode().split("---\n", 2)
    content = yaml.safe_load(block)
    assert isinstance(content, dict)
    return content


class TupleCache:
    """Keys and values per layer, as a cache of transformers keeps them."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def update(self, keys: torch.Tensor, values: torch.Tensor, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        before = self.kept.get(layer)
        new = (keys, values)
        self.kept[layer] = new if before is None else tuple(map(lambda *both: torch.cat(both, dim=2), before, new))
        return self.kept[layer]


# --- the files --------------------------------------------------------------------------------------------------------


def test_certified_network_has_its_own_weight_file_certificate_and_table() -> None:
    files = hugging_face.folder(Solver.load("parity"))
    assert files.keys() == FILES | JUDGEMENT
    for name in ("model.safetensors", *JUDGEMENT):
        assert files[name] == (SHIPPED / "parity" / name).read_bytes()
    config, certificate = json.loads(files["config.json"]), json.loads(files["certificate.json"])
    hashes = {config["weights_sha256"], certificate["sha256"], hashlib.sha256(files["model.safetensors"]).hexdigest()}
    assert len(hashes) == 1
    assert [*files][-1] == "config.json"  # written last, so that half a folder does not open


@pytest.mark.parametrize("make", [random_steps, random_reader])
def test_uncertified_network_has_neither(make: Any) -> None:
    files = hugging_face.folder(make())
    assert files.keys() == FILES
    assert "Nothing is certified: this network answers" in files["README.md"].decode()
    assert front_matter(files)["license"] == "unknown"


def test_exporting_twice_gives_equal_bytes() -> None:
    for name in ("parity", "smallest"):
        for make in export.FOLDERS.values():
            assert make(Solver.load(name)) == make(Solver.load(name))


def test_vocabulary_and_settings_are_the_networks() -> None:
    solver = Solver.load("smallest")
    files = hugging_face.folder(solver)
    config, tokens = json.loads(files["config.json"]), solver.run.config.step_tokens
    assert json.loads(files["vocab.json"]) == tokens.ids
    assert {name: config[name] for name in solver.run.config.model.settings()} == solver.run.config.model.settings()
    assert config["auto_map"]["AutoModel"] == config["auto_map"]["AutoModelForCausalLM"]
    assert json.loads(files["generation_config.json"])["max_new_tokens"] == tokens.output_length
    assert json.loads(files["tokenizer_config.json"])["input_length"] == tokens.input_length


# --- the card ---------------------------------------------------------------------------------------------------------


def test_card_has_the_front_matter_that_the_hub_expects() -> None:
    solver = Solver.load("smallest")
    content = front_matter(hugging_face.folder(solver))
    assert content.keys() == REQUIRED
    assert (content["license"], content["library_name"]) == ("mit", "transformers")
    assert content["pipeline_tag"] == "text-generation"
    (entry,) = content["model-index"]
    (result,) = entry["results"]
    assert result["dataset"]["name"] == "every one of the 2,100 prompts of addition-padded"
    metrics = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert solver.run.certificate is not None
    assert metrics == {"exact_match": 1.0, "margin": pytest.approx(solver.run.certificate.least_margin, abs=1e-4)}


def test_card_states_the_share_that_is_right() -> None:
    solver = random_steps()
    domain = solver.trained.domain
    right = sum(step.output == domain[step.prompt].output for step in solver.decode(list(domain)))
    files = hugging_face.folder(solver)
    (result,) = front_matter(files)["model-index"][0]["results"]
    assert [metric["value"] for metric in result["metrics"]] == [right / 6]
    assert f"this network answers {right} of its 6 prompts right" in files["README.md"].decode()


def test_card_says_what_is_not_certified() -> None:
    text = " ".join(hugging_face.folder(Solver.load("parity"))["README.md"].decode().split())
    assert "Not certified: the code in this folder, `transformers` and `generate`." in text
    assert "a test on one machine, in float32, not a proof" in text


def test_someones_own_run_is_not_given_our_licence(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "parity", tmp_path / "parity")
    assert front_matter(hugging_face.folder(Solver.load(tmp_path / "parity")))["license"] == "unknown"


# --- the code ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", STEP_SHAPES.values(), ids=STEP_SHAPES)
def test_step_code_matches_the_network_with_and_without_a_cache(options: dict[str, Any]) -> None:
    solver = random_steps(**options)
    assert hugging_face.folder(solver).keys() == FILES  # which compares every prompt
    shape = solver.run.config.model
    ours = module_of(solver.run.weights.arrays, shape)
    theirs = step_code.StepNetwork(**hugging_face.settings_of(shape)).eval()
    theirs.load_state_dict(ours.state_dict())
    ids = torch.tensor([[2, 5, 3, 4, 3], [3, 0, 0, 4, 1]])  # `0C1\n1` and `1PP\nS`
    with torch.no_grad():
        seen, expected, attention = step_code.Seen(), ours(ids), []
        with hooked(ours, [(lambda name: name.endswith("hook_pattern"), lambda it, _: attention.append(it))]):
            ours(ids, every_position=True)
        torch.testing.assert_close(theirs(ids, seen=seen)[:, 3:], expected)
        torch.testing.assert_close(seen.attention, attention)
        assert len(seen.states) == shape.layers + 1
        cache = TupleCache()
        pieces = [theirs(ids[:, :4], 0, cache), theirs(ids[:, 4:], 4, cache)]
        torch.testing.assert_close(torch.cat(pieces, dim=1)[:, 3:], expected)
    with pytest.raises(ValueError, match="reads up to 5 tokens, got 6"):
        theirs(torch.zeros(1, 6, dtype=torch.long))


@pytest.mark.parametrize("options", READER_SHAPES.values(), ids=READER_SHAPES)
def test_reader_code_matches_the_network_with_and_without_a_cache(options: dict[str, Any]) -> None:
    solver = random_reader(**options)
    assert hugging_face.folder(solver).keys() == FILES
    ours = module_of(solver.run.weights.arrays, solver.run.config.model)
    theirs = reader_code.ReaderNetwork(**vars(solver.run.config.model)).eval()
    theirs.load_state_dict(ours.state_dict())
    ids = torch.tensor([[solver.reader.tokens.ids[token] for token in "1011+110=1000"]])
    parts, places = reader_code.parts_and_places(ids, 2, 3)
    with torch.no_grad():
        expected = ours(ids, parts, places)
        torch.testing.assert_close(theirs(ids, parts, places), expected)
        cache = TupleCache()
        pieces = [
            theirs(ids[:, start:end], parts[:, :end], places[:, :end], cache)
            for start, end in ((0, 9), (9, 10), (10, 13))
        ]
        torch.testing.assert_close(torch.cat(pieces, dim=1), expected)


def test_places_are_the_tasks_and_ignore_padding() -> None:
    solver, rng = random_reader(), Random(0)
    texts = solver.reader.tokens
    cases = ["=", "1+1=", "1+10=11S", "0+0=0SSS"]
    cases += ["".join(rng.choices("01", k=rng.randint(1, 9))) + "+1011=" + "01"[: rng.randint(0, 2)] for _ in range(30)]
    for text in cases:
        ids = torch.tensor([[texts.ids[token] for token in text]])
        padded = torch.cat([torch.tensor([[texts.stop, 3, 2]]), ids], dim=1)  # `S=+`, all of it padding
        real = torch.tensor([[0, 0, 0, *[1] * len(text)]])
        plain, with_padding = reader_code.parts_and_places(ids, 2, 3), reader_code.parts_and_places(padded, 2, 3, real)
        assert plain[0][0].tolist() == (texts.kinds(text) // 5).tolist() == with_padding[0][0, 3:].tolist()
        assert plain[1][0].tolist() == texts.places(text)[: len(text)].tolist() == with_padding[1][0, 3:].tolist()
        assert with_padding[1][0, :3].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(("make", "code"), [(random_steps, step_code), (random_reader, reader_code)])
def test_code_that_computes_something_else_is_refused(make: Any, code: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = code.StepNetwork if code is step_code else code.ReaderNetwork
    right = kind.forward
    monkeypatch.setattr(kind, "forward", lambda *given: right(*given) * 1.001)
    with pytest.raises(AlgaError, match=r"logits from .* on differ from those here by"):
        hugging_face.folder(make())
    monkeypatch.setattr(hugging_face, "_check_logits", lambda *_: None)
    hugging_face.folder(make())
    monkeypatch.setattr(kind, "forward", lambda *given: -right(*given))
    with pytest.raises(AlgaError, match=r"the exported network continues .* with"):
        hugging_face.folder(make())


def test_code_that_places_tokens_differently_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = reader_code.parts_and_places
    monkeypatch.setattr(reader_code, "parts_and_places", lambda *given: (right(*given)[0], right(*given)[1] + 1))
    with pytest.raises(AlgaError, match=r"gives the tokens of .* other places"):
        hugging_face.folder(random_reader())


def test_written_code_imports_torch_its_tool_and_the_standard_library_only() -> None:
    allowed = {"__future__", "collections", "json", "math", "os", "pathlib", "typing", "torch"}
    tools = {"load_lens.py": {"safetensors", "transformer_lens"}, "network_alga.py": set(), "__init__.py": set()}
    for path in sorted(HUB.rglob("*.py")):
        tree = ast.parse(path.read_text())
        found = {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (
                [a.name for a in node.names] if isinstance(node, ast.Import) else [f"{'.' * node.level}{node.module}"]
            )
        }
        beside = {f".{other.stem}" for other in path.parent.glob("*_alga.py")}
        assert {name.split(".")[0] or name for name in found} <= (
            allowed | beside | tools.get(path.name, {"transformers"})
        ), path
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not calls & {"eval", "exec", "compile", "torch.load"}, path


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", ["hf", "transformer-lens"])
def test_command_line_writes_a_new_folder_once(chosen: str, tmp_path: Path, alga: Alga) -> None:
    out = tmp_path / "there" / "parity"
    written = alga("export", "parity", out, "--format", chosen)
    assert written.code == 0, written.err
    expected = export.FOLDERS[chosen](Solver.load("parity"))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == expected
    size = sum(map(len, expected.values()))
    assert written.out == (
        f"{out}: {chosen}, {len(expected)} files, {size:,} bytes, the network's answers to all 6 prompts\n"
    )
    again = alga("export", "smallest", out, "--format", chosen)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "nothing was overwritten" in again.err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing", "out", "--format", "hf"], "no model 'nothing'"),
        (["parity", "file", "--format", "hf"], "expected a folder to write to, got the file file"),
        (["whole-base-16", "out", "--format", "transformer-lens"], "reads whole texts: TransformerLens has no scores"),
        (
            ["parity", "out", "--format", "huggingface"],
            "expected a format of .*, hf, transformer-lens, got huggingface",
        ),
    ],
)
def test_impossible_folder_is_a_one_line_error(
    arguments: list[str], message: str, tmp_path: Path, alga: Alga, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    refused = alga("export", *arguments)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert re.search(message, refused.err)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_missing_torch_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "installed", lambda package: False)
    with pytest.raises(AlgaError, match=r"Hugging Face export needs torch: pip install 'alga-adder\[train\]'"):
        hugging_face.folder(Solver.load("parity"))
