"""Many tiny networks trained at once, to find out which shapes can be certified at all."""

from alga.research.crowd.crowd import Crowd
from alga.research.crowd.kernel import LANES

__all__ = ["LANES", "Crowd"]
