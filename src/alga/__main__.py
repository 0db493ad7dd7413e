"""Where the command `alga` begins, and `python -m alga`.

Importing the command line takes a tenth of a second, in which Ctrl-C should not print where the import was.
"""

from __future__ import annotations

from alga import stopping


def main() -> None:
    """Run the command line."""
    stopping.at_once()
    from alga.cli import main as run  # noqa: PLC0415 - this is what takes the time

    run()


if __name__ == "__main__":
    main()
