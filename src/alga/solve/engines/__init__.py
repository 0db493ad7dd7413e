"""Engines: ways from operands to an answer by chained steps. All of them give the same answer."""

from alga.solve.engines.registry import Engine, Work, find, names

__all__ = ["Engine", "Work", "find", "names"]
