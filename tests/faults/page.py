"""Results -> docs/reliability.md."""

from __future__ import annotations

from typing import Any


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    injected = sum(row["injected"] for row in results["faults"])
    lost = sum(row["lost"] for row in results["faults"])
    rows = [
        f"| {row['fault']} | {row['during']} | {row['injected']:,} | {row['injected'] - row['lost']:,} "
        f"| {row['lost']:,} | {row['promise']} |"
        for row in results["faults"]
    ]
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    head = [HEAD, f"**{injected:,} faults injected, {injected - lost:,} survived, {lost:,} lost.** ({machine}.)"]
    if results["cut"]:
        head.append("\n*From a cut run, which shows that the harness works, and no more.*")
    if not results["mounts"]:
        head.append("\n*Full disks and read-only folders were not tried: no mount namespace could be had there.*")
    table = [
        "",
        "| fault | during | injected | survived | lost | survived means |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *table, *rows, "", TAIL])


HEAD = "# What survives\n"
TAIL = "\n"
