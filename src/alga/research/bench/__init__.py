"""The benchmark: every method of adding, timed side by side."""

from alga.research.bench.timing import Bench, Timed, run, time_others

__all__ = ["Bench", "Timed", "run", "time_others"]
