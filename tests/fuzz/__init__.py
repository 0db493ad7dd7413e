"""Fuzzing of every reader of untrusted files: `make fuzz`, or `python -m tests.fuzz`.

A reader may return or raise AlgaError, nothing else, within bounded time and memory. `targets` says what is read and
from which seeds; `__main__` runs atheris, a coverage-guided fuzzer, on it.
"""
