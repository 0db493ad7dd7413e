"""Results of fuzzing -> a section of docs/reliability.md."""

from __future__ import annotations

from textwrap import fill
from typing import Any, Final

WORDS: Final = {
    "certificate": "`certificate.json` by itself",
    "table": "`table.json` by itself",
    "safetensors": "a weight file: its header, its tensors, the network",
    "torch": "weights to import: PyTorch's two formats, safetensors",
    "pickle": "the pickle in a PyTorch archive",
    "r": "an R file",
    "rds": "an R file, unpacked",
    "checkpoint": "a checkpoint's counters and header; then one training step",
}


def section(results: dict[str, Any]) -> str:
    """Return the section."""
    targets = results["targets"]
    seconds, inputs, findings = (sum(row[key] for row in targets.values()) for key in ("seconds", "inputs", "findings"))
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    rows = [
        f"| {_words(name)} | {row['seconds'] / 60:.1f} | {row['inputs']:,} | {row['inputs'] / row['seconds']:,.0f} "
        f"| {row['findings']:,} |"
        for name, row in targets.items()
    ]
    told = f"**{seconds / 3600:.1f} hours, {inputs:,} inputs, {findings:,} findings.** ({machine}.)"
    return "\n".join(
        [
            HEAD,
            fill(told, 120),
            "\n| what is read | minutes | inputs | inputs per second | findings |",
            f"|{' --- |' * 5}",
            *rows,
            "\nWhat fuzzing has found so far, all of it fixed, each with a test:\n",
            *(fill(f"- {text}", 120, subsequent_indent="  ") for text in results["mended"]),  # written by hand
            TAIL,
        ]
    )


def _words(name: str) -> str:
    """Return what a target reads, in words."""
    return WORDS[name] if name in WORDS else f"`{name.removeprefix('run ')}` in a run folder"


HEAD: Final = """
## Fuzzing

Written by `make fuzz` from `results/fuzz.json`; the harness is in `tests/fuzz`, and the fast tests read some thousand
damaged copies of its seeds. [Atheris](https://github.com/google/atheris), a coverage-guided fuzzer, makes inputs
for every reader of untrusted files. A reader may return, or raise the one error that the command line prints as one
line. Anything else is a finding, and so are more than 20 seconds or 1.7 GB of memory for one input. If a checksum
protects the input (`SHA256SUMS`, the hashes in a certificate, a table or a checkpoint, those of zip and gzip), the
harness makes it match, as an attacker would.
"""

TAIL: Final = """
Not fuzzed here: requests to the server (tests use hypothesis and schemathesis), plans and results of sweeps (tests use
hypothesis), and the drawing of curves.
"""
