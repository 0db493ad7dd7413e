"""The Transformer: the paper's size and mask, and the same result however it is computed."""

from __future__ import annotations

import pytest
import torch

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.generation import unfolded
from alga.network.hook_points import hooked
from alga.network.model import Transformer
from alga.network.tokens import Tokens

CONFIG = ModelConfig(vocabulary=14, input_length=5, output_length=3)


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


def ids(*rows: str) -> torch.Tensor:
    tokens = Tokens.of(tasks.find("addition").domain)
    return torch.tensor([[tokens.ids[token] for token in row] for row in rows])


def patterns(model: Transformer, ids_BL: torch.Tensor) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    with hooked(model, [(lambda name: name.endswith("hook_pattern"), lambda pattern, _: found.append(pattern))]):
        model(ids_BL, every_position=True)
    return found


def test_papers_network_has_102464_parameters(model: Transformer) -> None:
    assert model.parameter_count == 102_464


def test_padding_is_embedded_as_zero(model: Transformer) -> None:
    assert not model.token_embedding.weight[0].any()


def test_output_tokens_see_no_later_token(model: Transformer) -> None:
    one, other = model(ids("15C77\n15")), model(ids("15C77\n19"))
    assert torch.equal(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2], other[:, 2])


def test_every_position_sees_the_prompt_and_the_start_token(model: Transformer) -> None:
    for weights_BHLL in patterns(model, ids("15C77\n15")):
        assert bool((weights_BHLL[..., :6] > 0).all())
        assert not weights_BHLL[:, :, :7, 7].any()
        assert not weights_BHLL[:, :, :6, 6].any()


def test_attention_weights_sum_to_one(model: Transformer) -> None:
    prompts = ids("15C77\n15", "55PPP\n10")
    weights = patterns(model, prompts)
    assert [tuple(layer.shape) for layer in weights] == [(2, 2, 8, 8)] * 2
    assert all(torch.allclose(layer.sum(-1), torch.ones(2, 2, 8)) for layer in weights)


def test_attention_matches_torchs_own(model: Transformer) -> None:
    attention = model.layers[0].attention
    theirs = torch.nn.MultiheadAttention(64, 2, batch_first=True).eval()
    theirs.load_state_dict({
        "in_proj_weight": attention.project_in.weight, "in_proj_bias": attention.project_in.bias,
        "out_proj.weight": attention.project_out.weight, "out_proj.bias": attention.project_out.bias,
    })  # fmt: skip
    x_BLD = torch.randn(3, 8, 64)
    mask = model.mask[:8, :8]
    expected, weights = theirs(x_BLD, x_BLD, x_BLD, attn_mask=mask, average_attn_weights=False)
    kept: list[torch.Tensor] = []
    attention.pattern.register_forward_hook(lambda module, inputs, output: kept.append(output))
    result, _ = attention(x_BLD, mask, 0, None)
    assert torch.allclose(result, expected, atol=1e-5)
    assert torch.allclose(kept[0], weights, atol=1e-6)


def test_positions_that_are_not_read_change_nothing(model: Transformer) -> None:
    prompts = ids("15C77\n15", "55PPP\n10")
    assert torch.allclose(model(prompts, every_position=True)[:, 5:], model(prompts), atol=1e-5)


def test_cached_forward_matches_the_full_forward(model: Transformer) -> None:
    whole = model(ids("15C77\n15"))
    cache: list[tuple[torch.Tensor, torch.Tensor]] = []
    parts = [model(ids("15C77\n"), cache), model(ids("1"), cache), model(ids("5"), cache)]
    assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 3}, "width 64 cannot be shared among 3 heads"),
        ({"layers": 0}, "layers must be a whole number from 1 to 64, got 0"),
        ({"width": 6.5}, "width must be a whole number from 1 to 65,536, got 6.5"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"dropout": "much"}, "dropout must be at least 0 and below 1"),
    ],
)
def test_impossible_shape_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        ModelConfig(**{**vars(CONFIG), **change})  # type: ignore[arg-type]


OPTIONS = {
    "tied": ({"tied": True}, 14 * 64),
    "no norms": ({"norms": "none"}, 5 * 128),
    "one plain norm": ({"norms": "feed-forward"}, 5 * 128),
    "few biases": ({"biases": "hidden"}, 2 * (192 + 64 + 64)),
    "narrow queries": ({"query_width": 8}, 2 * 2 * (64 + 1) * (64 - 16)),
    "shared keys": ({"shared_keys": True}, 2 * (64 + 1) * 64),
    "no output map": ({"out": False}, 2 * (64 + 1) * 64),
    "shared positions": ({"positions": "..011123"}, 5 * 64),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_option_removes_its_parameters(name: str) -> None:
    options, saved = OPTIONS[name]
    model = Transformer(ModelConfig(vocabulary=14, input_length=5, output_length=3, **options))
    assert model.parameter_count == 102_464 - saved
    assert len({id(parameter) for parameter in model.parameters()}) == len(model.state_dict())


@pytest.mark.parametrize("name", [name for name, (options, _) in OPTIONS.items() if "norms" not in options])
def test_canonical_network_computes_the_same(name: str) -> None:
    """Whatever is tied or omitted, the paper's full form with the unfolded weights gives the same logits."""
    torch.manual_seed(0)
    shape = {"vocabulary": 14, "input_length": 5, "output_length": 3, "width": 16, "hidden": 20}
    options = {**OPTIONS[name][0], **({"query_width": 3} if name == "narrow queries" else {})}
    model = Transformer(ModelConfig(**shape, **options)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    full = Transformer(ModelConfig(**shape)).eval()
    stored = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    weights = unfolded(stored, model.config)
    full.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
    ids_BL = torch.randint(14, (50, 8))
    torch.testing.assert_close(full(ids_BL), model(ids_BL), atol=1e-4, rtol=1e-4)


def test_settings_list_only_used_options() -> None:
    shape = {"vocabulary": 14, "input_length": 5, "output_length": 3}
    assert ModelConfig(**shape).settings() == {
        **shape, "width": 64, "heads": 2, "layers": 2, "hidden": 256, "dropout": 0.2
    }  # fmt: skip
    assert ModelConfig(**shape, tied=True).settings()["tied"] is True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tied": 1}, "tied must be true or false, got 1"),
        ({"norms": "some"}, "norms must be one of .*, got 'some'"),
        ({"biases": None}, "biases must be one of .*, got None"),
        ({"query_width": 33}, "query_width must be 0 to 32, got 33"),
        ({"positions": "0123"}, "positions must be 8 digits or points, got '0123'"),
        ({"positions": "........"}, "positions must .*, got '........'"),
        ({"positions": 7}, "positions must .*, got 7"),
    ],
)
def test_impossible_option_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        ModelConfig(vocabulary=14, input_length=5, output_length=3, **change)  # type: ignore[arg-type]
