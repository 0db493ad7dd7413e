"""Rewrite the golden files: `python -m tests.golden`. Say in the CHANGELOG what changed."""

from tests.golden import FILES, write

if __name__ == "__main__":
    for name in FILES:
        write(name)
