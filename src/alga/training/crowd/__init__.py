"""Many tiny networks trained at once, in compiled code, and the best of them evolved until every prompt is right."""

from alga.training.crowd.crowd import Crowd
from alga.training.crowd.kernel import LANES

__all__ = ["LANES", "Crowd"]
