"""The package's one error type, for bad input: a one-line message.

It is a `ValueError`, so Python users catch what they expect; the command line prints the message and exits with 2.
Bugs raise other exceptions and keep their traceback.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes milliseconds to load
if TYPE_CHECKING:
    from pathlib import Path

# Optional packages, and the extra of pyproject.toml that installs each.
EXTRAS = {
    "torch": "train", "matplotlib": "train", "onnx": "export", "onnxruntime": "export", "onnxscript": "export",
    "gmpy2": "bench", "flint": "proof", "loky": "lab", "distributed": "cluster", "fastapi": "serve", "uvicorn": "serve",
}  # fmt: skip


class AlgaError(ValueError):
    """Bad input; the message says what was expected and what was found."""

    __module__ = "alga"  # shown in tracebacks as people import it


# What reading malformed content raises.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class Blaming:
    """Context manager that turns an exception into one line: what it means, and the exception.

    An AlgaError already says it. A class, because contextlib takes milliseconds to import.

    >>> with Blaming("numbers.json is damaged"):
    ...     int("x")
    Traceback (most recent call last):
    alga.AlgaError: numbers.json is damaged (ValueError: invalid literal for int() with base 10: 'x')
    """

    def __init__(self, what: str, kinds: tuple[type[BaseException], ...] = MALFORMED) -> None:
        self._what, self._kinds = what, kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, self._kinds) and not isinstance(problem, AlgaError):
            raise AlgaError(f"{self._what} ({type(problem).__name__}: {problem})") from None


class Naming(Blaming):
    """Context manager that prefixes an AlgaError with the file that it is about, unless it names the file already."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, AlgaError) and self._what not in str(problem):
            raise AlgaError(f"{self._what}: {problem}") from None


def one_line(problem: OSError) -> AlgaError:
    """Return the error of the operating system as one line that names the file."""
    return AlgaError(f"{problem.filename or 'input/output'}: {(problem.strerror or str(problem)).lower()}")


def missing_extra(what: str, package: str | None, extra: str) -> AlgaError:
    """Return the error for an optional package that is not installed.

    The command needs no release on PyPI: pip sees that `alga-adder` is installed, and adds what the extra asks for.

    >>> str(missing_extra("alga serve", "uvicorn", "serve"))
    "alga serve needs uvicorn: pip install 'alga-adder[serve]'"
    """
    return AlgaError(f"{what} needs {package}: pip install 'alga-adder[{extra}]'")


def unloaded(problem: ImportError) -> AlgaError:
    """Return the error for an optional package whose import failed.

    >>> str(unloaded(ModuleNotFoundError("No module named 'torch'", name="torch")))
    "this needs torch: pip install 'alga-adder[train]'"
    """
    package = (problem.name or "").partition(".")[0]
    if isinstance(problem, ModuleNotFoundError) and package in EXTRAS:
        return missing_extra("this", package, EXTRAS[package])
    return AlgaError(f"{package} cannot be loaded: {problem}")


def installed(package: str) -> bool:
    """Return whether an optional package is installed, without importing it."""
    from importlib.util import find_spec  # noqa: PLC0415 - help and error messages do not wait for it

    return find_spec(package) is not None
