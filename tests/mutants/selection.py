"""Which tests to run for a function: those that call it, call anything in its file, or belong to its room.

They are found by running the unchanged tests once, with a trace function that only sees calls. A result that one test
computes and another reads from a cache is seen in the first alone, so the others of a file are taken too.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

import pytest

SECONDS = 15.0  # of tests for one mutant, with tracing; about half without


class Recording:
    """A plugin that notes the time of each test and the functions of the package that it calls."""

    def __init__(self, source: Path) -> None:
        self._source = f"{source}/"
        self._calls: set[CodeType] = set()
        self.seconds: dict[str, float] = {}
        self.callers: dict[str, set[str]] = defaultdict(set)  # `file: function` -> tests

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        self._calls.add(frame.f_code)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        self._calls = set()
        begun = time.process_time()
        sys.settrace(self._trace)
        yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - begun
        for code in self._calls:
            if code.co_filename.startswith(self._source):
                function = code.co_qualname.split(".<locals>")[0]
                self.callers[f"{code.co_filename.removeprefix(self._source)}: {function}"].add(item.nodeid)

    def save(self, path: Path) -> None:
        """Write what was found."""
        callers = {function: sorted(tests) for function, tests in sorted(self.callers.items())}
        path.write_text(json.dumps({"seconds": self.seconds, "callers": callers}))


class Selection:
    """What a recording found."""

    def __init__(self, path: Path) -> None:
        found = json.loads(path.read_text())
        self._seconds: dict[str, float] = found["seconds"]
        self._callers: dict[str, list[str]] = found["callers"]

    def tests_for(self, file: str, function: str) -> list[str]:
        """Return the tests that may detect a change of a function, within a budget.

        Those of its own room come first, in each group the callers, and then the fastest.
        """
        room = file.split("/", maxsplit=1)[0]
        callers = set(self._callers.get(f"{file}: {function}", ()))
        touching = {test for name, tests in self._callers.items() if name.startswith(f"{file}: ") for test in tests}
        near = {test for test in self._seconds if test.startswith((f"src/alga/{file}", f"tests/{room}/"))}
        ordered = sorted(
            callers | touching | near,  # a test of a constant calls nothing
            key=lambda test: (test not in near, test not in callers, self._seconds[test]),
        )
        chosen, spent = [], 0.0
        for test in ordered:
            spent += self._seconds[test]
            if chosen and spent > SECONDS:
                break
            chosen.append(test)
        return chosen

    def seconds_of(self, tests: list[str]) -> float:
        """Return how long tests took."""
        return sum(self._seconds[test] for test in tests)


class Selected:
    """A plugin that runs the given tests alone, in their order; tests that a mutant's parameters renamed are absent."""

    def __init__(self, tests: list[str]) -> None:
        self._places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._places), key=lambda item: self._places[item.nodeid]
        )
