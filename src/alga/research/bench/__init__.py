"""The benchmark: every method of adding, timed side by side."""

from alga.research.bench.timing import Bench, run

__all__ = ["Bench", "run"]
