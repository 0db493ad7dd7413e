"""The one error type of the package: bad input, said in one line.

It is a `ValueError`, so Python users catch what they expect; the command line prints its text and exits with 2.
A bug of ours raises something else and keeps its traceback.
"""


class AlgaError(ValueError):
    """What was expected, and what came."""


def lacking(what: str, package: str | None, extra: str) -> AlgaError:
    """Return the error for an optional package that is not there.

    It names the checkout: PyPI's package `alga` is another project.

    >>> str(lacking("alga serve", "uvicorn", "serve"))
    "alga serve needs uvicorn: in ALGA's checkout, pip install -e '.[serve]'"
    """
    return AlgaError(f"{what} needs {package}: in ALGA's checkout, pip install -e '.[{extra}]'")
