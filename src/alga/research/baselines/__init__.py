"""Baselines: other published methods behind one small contract, each implemented from its paper."""

from alga.research.baselines.contract import METHODS, find

__all__ = ["METHODS", "find"]
