"""Rigorous bounds on every logit of every prompt under any rounding order; docs/rounding.md has the lemmas."""

from alga.trust.proof.margins import margins, prove
from alga.trust.proof.readers import prove_reader

__all__ = ["margins", "prove", "prove_reader"]
