"""WHAT is computed. A Domain is what a network learns; a Procedure walks problems of any length over a Layout."""

from alga.tasks.catalogue import families, find, known, names, variants
from alga.tasks.domain import Domain, Instance
from alga.tasks.layouts import DigitBelow, Digits, Layout, Text
from alga.tasks.lookahead import Lookahead
from alga.tasks.numbers import in_base
from alga.tasks.procedure import Procedure, Situation, Task

__all__ = [
    "DigitBelow",
    "Digits",
    "Domain",
    "Instance",
    "Layout",
    "Lookahead",
    "Procedure",
    "Situation",
    "Task",
    "Text",
    "families",
    "find",
    "in_base",
    "known",
    "names",
    "variants",
]
