"""`python -m alga` is `alga`."""

from alga.cli import main

main()
