"""Kernel-checked: theorems about tables and networks that Coq's kernel has checked.

`theories/` holds the Coq development, proven once; `statements.py` knows the theorem of each task; `kernel.py` runs
coqc on an exported file; `record.py` is what a certificate says about it. docs/kernel.md has the statements.
"""

from alga.trust.coq.record import KernelCheck, Theorem

__all__ = ["KernelCheck", "Theorem"]
