"""The Transformers: tokens and shape, forward pass, and one greedy decoder for each of the two kinds.

The forward pass exists in torch, compiled and in numpy. These and the decoder are imported from their files, because
torch and numba load slowly.
"""

from alga.network.config import ModelConfig
from alga.network.tokens import Tokens

__all__ = ["ModelConfig", "Tokens"]
