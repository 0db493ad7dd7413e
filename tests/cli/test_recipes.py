"""`alga recipes`: what each recipe contains, and what differs from the paper's."""

from __future__ import annotations

import dataclasses
import json
import re

from alga.training import recipes
from alga.training.changes import changed, parsed
from tests.conftest import Alga


def test_every_recipe_is_shown_with_what_differs(alga: Alga) -> None:
    shown = alga("recipes").out
    for name in recipes.names():
        (text,) = re.findall(rf"^{name}, by default for (.*?)\n\n", shown + "\n\n", re.DOTALL | re.MULTILINE)
        assert text.startswith(f"{recipes.find(name).task}: ")
        given = re.findall(r"([a-z_0-9]+)=([^,]+)", " ".join(text.split()))  # a value may have spaces
        base = recipes.find("paper")
        again = changed(base, {"task": recipes.find(name).task, **parsed("=".join(each) for each in given)})
        assert dataclasses.replace(again, name=name) == dataclasses.replace(recipes.find(name), name=name)


def test_programs_read_the_same(alga: Alga) -> None:
    content = json.loads(alga("recipes", "--json").out)
    assert list(content["recipes"]) == list(recipes.names())
    assert content["recipes"]["paper"]["unlike_the_paper"] == {}
    assert content["recipes"]["smallest"]["unlike_the_paper"]["tied"] is True
    assert content["recipes"]["fast"]["settings"]["matrix_rate"] == 2.5
    assert content["settings"]["learning_rate"] == "float"
