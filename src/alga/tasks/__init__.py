"""WHAT is computed, exactly and in pure Python.

A Domain is what a network learns: every prompt with its output. A Procedure walks a problem of any length, one step per
column; a Layout turns operands into columns. There is one file per family of procedures; `find` knows all of them by
name, and reads a user's own.
"""

from alga.tasks.catalogue import COMPANIONS, adopt, families, find, for_step, known, names, stated, step_of, variants
from alga.tasks.domain import Domain, Instance
from alga.tasks.layouts import DigitBelow, Digits, Layout, Text
from alga.tasks.lookahead import Lookahead
from alga.tasks.numbers import in_base
from alga.tasks.procedure import Procedure, Situation, Task
from alga.tasks.whole import Whole

__all__ = [
    "COMPANIONS", "DigitBelow", "Digits", "Domain", "Instance", "Layout", "Lookahead", "Procedure", "Situation", "Task",
    "Text", "Whole", "adopt", "families", "find", "for_step", "in_base", "known", "names", "stated", "step_of",
    "variants",
]  # fmt: skip
