"""Engines: ways from operands to an answer by chained steps. All of them give the same answer.

`sequential` is the paper's procedure, `table` looks the same steps up, `lookahead` finds all carries at once.
"""

from alga.solve.engines import sequential, table

__all__ = ["sequential", "table"]  # lookahead needs numpy: import it when it runs
