"""Write the golden files again: `python -m tests.golden`. Only on purpose; the CHANGELOG then says what changed."""

from tests.golden import FILES, write

if __name__ == "__main__":
    for name in FILES:
        write(name)
