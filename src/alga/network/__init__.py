"""The Transformer: its tokens and shape, its forward pass, and the only greedy decoder.

The forward pass exists in torch, compiled and in numpy. These and the decoder are imported from their files, because
torch and numba load slowly.
"""

from alga.network.config import ModelConfig
from alga.network.tokens import Tokens

__all__ = ["ModelConfig", "Tokens"]
