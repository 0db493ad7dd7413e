"""The one error type of the package: bad input, said in one line.

It is a `ValueError`, so Python users catch what they expect; the command line prints its text and exits with 2.
A bug of ours raises something else and keeps its traceback.
"""


class AlgaError(ValueError):
    """What was expected, and what came."""
