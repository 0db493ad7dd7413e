"""Evidence that a network is right.

The table has its outputs on the whole domain; the certificate compares the table with the task. `proof` bounds rounding
errors rigorously; `verify` proves the same again by ball arithmetic.
"""

from alga.trust.certificate import Certificate, certify
from alga.trust.table import Table

__all__ = ["Certificate", "Table", "certify"]
