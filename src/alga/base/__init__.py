"""The foundation of all other rooms: errors, files, folders, progress, signals.

One error type; atomic writes, bounded reads and locks, without following links in untrusted folders; progress
callbacks; clean shutdown on signals; edit distance and figures.
"""

from alga.base.errors import AlgaError

__all__ = ["AlgaError"]
