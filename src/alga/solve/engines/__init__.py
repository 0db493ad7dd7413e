"""Ways from operands to an answer by chained steps; all of them give the same one."""

from alga.solve.engines.registry import Engine, Network, find, names
from alga.solve.engines.solution import Solution, Step, as_table

__all__ = ["Engine", "Network", "Solution", "Step", "as_table", "find", "names"]
