"""Changed settings: typed by the setting, one line on a mistake."""

from __future__ import annotations

import pytest

from alga.base.errors import AlgaError
from alga.training import recipes
from alga.training.changes import changed, parsed, settings


def test_text_is_read_as_the_type_of_its_setting() -> None:
    given = ["width=32", "learning_rate=1e-3", "margin = 2", "tied=True", "out=false", "norms=none"]
    found = parsed(given)
    assert found == {
        "width": 32, "learning_rate": 1e-3, "margin": 2.0, "tied": True, "out": False, "norms": "none",
    }  # fmt: skip
    assert type(found["margin"]) is float
    recipe = changed(recipes.small(), found)
    assert (recipe.width, recipe.margin, recipe.options) == (32, 2.0, {"tied": True, "out": False, "norms": "none"})
    assert recipe.network().tied  # type: ignore[union-attr]


def test_every_setting_is_listed_with_a_type() -> None:
    kinds = settings()
    assert {kinds["steps"], kinds["dropout"], kinds["contexts"], kinds["shared_keys"]} == {int, float, str, bool}
    assert not {"name", "task", "vocabulary", "input_length"} & set(kinds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("widht=3", "a recipe has no setting 'widht'; did you mean width?"),
        ("lr=3", "did you mean learning_rate?"),
        ("batch=3", "did you mean batch_size?"),
        ("speed=3", "a recipe has no setting 'speed'; there are batch_size, "),
        ("name=x", "a recipe has no setting 'name'"),
        ("vocabulary=3", "a recipe has no setting 'vocabulary'"),
        ("options=3", "a recipe has no setting 'options'"),
        ("width", "expected a setting as NAME=VALUE, got 'width'"),
        ("width=wide", "the setting width must be a whole number, got 'wide'"),
        ("width=3.5", "the setting width must be a whole number, got '3.5'"),
        ("margin=", "the setting margin must be a number, got ''"),
        ("tied=1", "the setting tied must be true or false, got '1'"),
    ],
)
def test_mistake_is_one_line(text: str, message: str) -> None:
    with pytest.raises(AlgaError) as refused:
        parsed([text])
    assert message in str(refused.value)


def test_setting_given_twice_is_refused() -> None:
    with pytest.raises(AlgaError, match="the setting width is given twice"):
        parsed(["width=3", "width=4"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 3}, "model width 3 cannot be shared among 2 heads"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"reach": 3}, "options holds 'reach', which this kind of network does not have"),
        ({"name": "mine"}, "a recipe has no setting 'name'"),
    ],
)
def test_impossible_change_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(AlgaError, match=message):
        changed(recipes.fast(), changes)


def test_options_of_the_recipe_are_kept() -> None:
    recipe = changed(recipes.smallest(), {"tied": False})
    assert recipe.options == {**recipes.smallest().options, "tied": False}
    assert recipes.smallest().options["tied"] is True
