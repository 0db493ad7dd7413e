"""Changes of a recipe's settings: from Python, from `--set NAME=VALUE`, and from the plan of a sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_type_hints

from alga.base.edit_distance import edit_distance
from alga.base.errors import AlgaError
from alga.network.config import ModelConfig
from alga.network.reader_config import ReaderConfig
from alga.runs.config import FROM_TASK, Recipe

NEAR: Final = 3  # letters of a name that may be part of another; fewer edits than this may be a slip
WORDS: Final = {"true": True, "false": False}
KINDS: Final[dict[type, str]] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def settings() -> dict[str, type]:
    """Return the settings that can be changed, with their types: a recipe's own, and further ones of the network.

    >>> found = settings()
    >>> found["width"], found["learning_rate"], found["tied"]
    (<class 'int'>, <class 'float'>, <class 'bool'>)
    """
    of_recipe = {name: kind for name, kind in _types(Recipe).items() if name not in ("name", "task")}
    return of_recipe | {name: kind for name, kind in _options().items() if name not in of_recipe}


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return a recipe with some settings changed; refuse unknown ones, and shapes that no network can have.

    >>> from alga.training.recipes import fast
    >>> changed(fast(), {"width": 32, "tied": True}).network().parameters
    42848
    """
    own, options = _types(Recipe), dict(recipe.options)
    kept: dict[str, Any] = {}
    for name, value in changes.items():
        if name == "name" or (name not in own and name not in _options()):
            raise _unknown(name)
        if name in own:
            kept[name] = value
        else:
            options[name] = value
    found = dataclasses.replace(recipe, **({"options": options} | kept))
    found.network()
    return found


def parsed(given: Iterable[str]) -> dict[str, Any]:
    """Return the changes in texts like `width=32`, each as the type of its setting.

    >>> parsed(["width=32", "learning_rate=1e-3", "tied=true"])
    {'width': 32, 'learning_rate': 0.001, 'tied': True}
    """
    known, found = settings(), dict[str, Any]()
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise AlgaError(f"expected a setting as NAME=VALUE, got {text!r}")
        if name not in known or known[name] is dict:
            raise _unknown(name)
        if name in found:
            raise AlgaError(f"the setting {name} is given twice")
        found[name] = _value(name, value, known[name])
    return found


def _value(name: str, text: str, kind: type) -> Any:
    try:
        return WORDS[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        raise AlgaError(f"the setting {name} must be {KINDS[kind]}, got {text!r}") from None


def _unknown(name: str) -> AlgaError:
    """Return the error for a name that is not a setting; it says which one may be meant: `lr`, `batch`, `widht`."""
    known = [each for each, kind in settings().items() if kind is not dict]
    initials = [each for each in known if "".join(word[0] for word in each.split("_")) == name]
    parts = [each for each in known if len(name) >= NEAR and name in each]
    near = [each for each in known if edit_distance(name, each) <= min(NEAR, len(name)) - 1]
    meant = initials or parts or near
    hint = f"did you mean {' or '.join(meant)}? `alga recipes` shows all" if meant else f"there are {', '.join(known)}"
    return AlgaError(f"a recipe has no setting {name!r}; {hint}")


def _types(kind: type) -> dict[str, type]:
    """Return the type of each field of a dataclass; a mapping's is dict."""
    hints = get_type_hints(kind)
    return {each.name: getattr(hints[each.name], "__origin__", hints[each.name]) for each in dataclasses.fields(kind)}


def _options() -> dict[str, type]:
    """Return the settings of a network's shape that the task does not determine."""
    found = _types(ModelConfig) | _types(ReaderConfig)
    return {name: kind for name, kind in found.items() if name not in FROM_TASK}
