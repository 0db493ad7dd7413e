"""A second, independent proof by ball arithmetic; it shares no code with `alga.trust.proof`."""

from alga.trust.verify.verdict import Verdict, derive, objections, verify

__all__ = ["Verdict", "derive", "objections", "verify"]
