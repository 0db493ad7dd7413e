"""From operands to an answer: engines chain a network's steps, the schoolbook composes signed arithmetic of them.

`Solver` is one network with its procedure, `Calculator` the class for people, `Result` what both return.
"""

from alga.network.step import Step
from alga.solve.calculator import Calculator
from alga.solve.loading import load
from alga.solve.result import Result
from alga.solve.solver import Solver

__all__ = ["Calculator", "Result", "Solver", "Step", "load"]
