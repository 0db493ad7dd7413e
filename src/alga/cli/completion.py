"""Shell completion: the names each argument may take. Typer keeps those that fit; none of this needs torch or numpy."""

from __future__ import annotations

from contextlib import suppress


def models() -> list[str]:
    """Return the shipped networks; the shell itself completes run folders, as file names."""
    from alga import runs

    return list(runs.shipped())


def tasks(incomplete: str) -> list[str]:
    """Return the tasks. Each family comes in 35 bases: base 2 stands for them until a base is being typed."""
    from alga.base.errors import AlgaError
    from alga.tasks import families, find, in_base, names

    bases = range(2, 37) if "-base-" in incomplete else (2,)
    found = [*names()]
    for name in (in_base(family, base) for family in families() for base in bases if base != 10):
        with suppress(AlgaError):  # bitwise tasks need a power of two
            found.append(find(name).name)
    return found


def recipes() -> list[str]:
    """Return the recipes."""
    from alga.training.recipes import names

    return list(names())


def engines() -> list[str]:
    """Return the engines."""
    from alga.solve.engines.names import ENGINES

    return list(ENGINES)


def studies() -> list[str]:
    """Return the studies of `alga lab study`."""
    from alga.research.studies.lab import STUDIES

    return [study.name for study in STUDIES]


def methods() -> list[str]:
    """Return the methods of `alga lab compare`."""
    from alga.research.baselines import METHODS

    return list(METHODS)
