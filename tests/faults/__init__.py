"""The fault harness, `make faults`: injects kills, full disks, signals and damage, and checks what is left.

commands.py   starts the command `alga` and sends it a signal at a chosen moment
bench.py      the harness's folder, and reference results of undisturbed commands
kills.py, disk.py, signals.py, flips.py, strangers.py   the faults; each finishes the work and compares
page.py       results -> docs/reliability.md
"""
