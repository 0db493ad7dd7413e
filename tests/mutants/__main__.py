"""Run mutants, one after another: `python -m tests.mutants --folder runs/mutants --results results/mutants.json`.

Can be stopped and resumed at any time: each outcome is stored at once. A killed mutant is not tried again
while its file is unchanged; a survivor is tried again once a test has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutations import Mutant, mutants_of
from tests.mutants.selection import Recording, Selection
from tests.mutants.trial import ROOT, SOURCE, forked, outcome_of, preload, run_tests

FILES = ("tasks/*.py", "network/decoder.py", "trust/table.py", "trust/certificate.py", "trust/proof/*.py",
         "solve/engines/*.py")  # fmt: skip
TESTS = ("tests/tasks", "tests/network", "tests/trust", "tests/solve", "tests/training/test_sampling.py",
         "src/alga/tasks", "src/alga/network", "src/alga/trust", "src/alga/solve")  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A mutant to be tried: its place in its file, and the key under which its outcome is stored."""

    mutant: Mutant
    index: int
    key: str


def hash_of(*paths: Path) -> str:
    """Return a hash of files."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def files() -> list[str]:
    """Return the files of the core, relative to the package."""
    return [str(path.relative_to(SOURCE)) for pattern in FILES for path in sorted(SOURCE.glob(pattern))]


def tests_hash() -> str:
    """Return a hash of all tests that may run against a mutant, without doctests."""
    return hash_of(*sorted(path for name in (*TESTS[:5], "tests/conftest.py") for path in _python(ROOT / name)))


def _python(path: Path) -> Iterator[Path]:
    yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def chosen(file: str, sample: int, seed: int) -> list[Trial]:
    """Return the mutants of a file, or a random sample, without those known to be equivalent."""
    source = (SOURCE / file).read_text()
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    trials = [Trial(mutant, i, f"{digest} {mutant.name}") for i, mutant in enumerate(mutants_of(source, file))]
    random.Random(f"{seed} {file}").shuffle(trials)
    return trials[: sample or None]  # so that a larger sample contains a smaller one


def record(folder: Path) -> Selection:
    """Return which tests call what; runs all tests once, unless none has changed since the last time."""
    every = sorted(path for path in SOURCE.rglob("*.py"))
    path = folder / f"tests-{hash_of(*every)}-{tests_hash()}.json"
    if not path.exists():
        print("running all tests once, to see which call what …", file=sys.stderr)

        def work() -> int:
            recording = Recording(SOURCE)
            code = run_tests(TESTS, recording)
            recording.save(path)
            modules = [
                name for name, module in sys.modules.items() if "site-packages" in str(getattr(module, "__file__", ""))
            ]
            (folder / "modules.json").write_text(json.dumps(modules))
            return code

        if forked(work, folder / "all.log", 1800, 3600) != 0:
            path.unlink(missing_ok=True)
            sys.exit(f"the tests fail as they are: see {folder / 'all.log'}")
    return Selection(path)


def main() -> None:
    """Try the remaining mutants and write the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/mutants"))
    parser.add_argument("--results", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="mutants of each file, drawn at random; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--worker", default="1/1", help="I/N: every Nth mutant from the Ith on, to share the work")
    parser.add_argument("--survivors", action="store_true", help="try only those again that have survived")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    path, now = options.folder / "outcomes.jsonl", tests_hash()

    def store(key: str, outcome: str) -> dict[str, str]:
        entry = {"key": key, "outcome": outcome, "tests": now}
        with path.open("a") as lines:
            lines.write(json.dumps(entry) + "\n")
        return entry

    trials = {file: chosen(file, options.sample, options.seed) for file in files()}
    selection = record(options.folder)
    preload(json.loads((options.folder / "modules.json").read_text()))
    outcomes = read(path)
    worker, workers = map(int, options.worker.split("/"))
    rounds = itertools.zip_longest(*(trials[file] for file in trials if options.only in file))
    queue = [trial for each in rounds for trial in each if trial is not None and trial.mutant not in EQUIVALENT]
    queue = [trial for trial in queue if not is_known(outcomes.get(trial.key), now)]
    if options.survivors:
        queue = [trial for trial in queue if trial.key in outcomes]
    queue = queue[worker - 1 :: workers]
    try:
        for done, trial in enumerate(queue, start=1):
            mutant = trial.mutant
            tests = selection.tests_for(mutant.file, mutant.function)
            limits = tests, selection.seconds_of(tests), options.folder / f"log-{worker}.txt"
            control = f"{trial.key.split()[0]} {mutant.file}: as it is"
            if outcomes.get(control, {}).get("tests") != now:
                outcomes[control] = store(control, outcome_of(mutant.file, None, *limits))
                if outcomes[control]["outcome"] != "survived":
                    sys.exit(f"the tests fail on {mutant.file} as it is: see {limits[-1]}")
            if store(trial.key, outcome_of(mutant.file, trial.index, *limits))["outcome"] == "survived":
                print(f"survived: {mutant.name}", flush=True)
            print(f"\r{done:,} of {len(queue):,}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped; the same command continues", file=sys.stderr)
        sys.exit(130)
    summary = summed(trials, read(path), options.sample, options.seed)
    if options.results:
        options.results.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(table(summary))


def read(path: Path) -> dict[str, dict[str, str]]:
    """Return the outcomes so far, the latest of each mutant."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def is_known(entry: dict[str, str] | None, tests: str) -> bool:
    """Tell whether an outcome is still valid."""
    return entry is not None and (entry["outcome"] != "survived" or entry["tests"] == tests)


def summed(
    trials: dict[str, Sequence[Trial]], outcomes: dict[str, dict[str, str]], sample: int, seed: int
) -> dict[str, object]:
    """Return the summary: killed mutants and survivors, by file."""
    counts: dict[str, dict[str, int]] = {}
    survivors: list[dict[str, object]] = []
    for file, each in trials.items():
        found = Counter(
            "equivalent" if trial.mutant in EQUIVALENT else outcomes.get(trial.key, {}).get("outcome", "not tried")
            for trial in each
        )
        whole = len(mutants_of((SOURCE / file).read_text()))
        counts[file] = {"mutants": whole, "drawn": len(each), **{kind: found[kind] for kind in (
            "killed", "timeout", "survived", "equivalent", "not tried")}}  # fmt: skip
        survivors += [
            asdict(trial.mutant)
            for trial in each
            if trial.mutant not in EQUIVALENT and outcomes.get(trial.key, {}).get("outcome") == "survived"
        ]
    total = {key: sum(count[key] for count in counts.values()) for key in next(iter(counts.values()))}
    for count in (*counts.values(), total):
        noticed = count["killed"] + count["timeout"]
        count["score"] = round(100 * noticed / max(1, noticed + count["survived"]), 1)  # type: ignore[assignment]
    listed = {mutant for file in trials for mutant in mutants_of((SOURCE / file).read_text(), file)}
    return {
        "drawn": f"{sample} of each file at random, seed {seed}" if sample else "all",
        "total": total,
        "files": counts,
        "survivors": survivors,
        "explained but gone": [mutant.name for mutant in EQUIVALENT if mutant not in listed],
    }


def table(summary: dict[str, object]) -> str:
    """Return the summary as text."""
    rows = [*summary["files"].items(), ("total", summary["total"])]  # type: ignore[attr-defined]
    heads = list(rows[0][1])
    lines = [f"{'':32}" + "".join(f"{head:>12}" for head in heads)]
    lines += [f"{name:32}" + "".join(f"{count[head]:>12}" for head in heads) for name, count in rows]
    gone = summary["explained but gone"]
    return "\n".join([*lines, *(f"explained but gone: {name}" for name in gone)])  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
