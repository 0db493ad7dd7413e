"""The fault harness, `make faults`: what happens to people's machines, done to ALGA on purpose, and what was left.

commands.py   the command `alga`, started and struck at a moment
bench.py      the folder that the harness works in, and what undisturbed commands leave
kills.py, disk.py, signals.py, flips.py, strangers.py   the faults; each brings the work to its end and compares
page.py       results -> docs/reliability.md
"""
