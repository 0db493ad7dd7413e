"""Bit flips in every file of every shipped network, and in the checkpoint of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

from alga import runs
from alga.base.errors import AlgaError
from alga.training.trainer import Training
from tests.faults.bench import Bench, Fault, copied

REGIONS = 24  # of a file, one flip in each; also in the first and the last byte


def shipped(name: str, bench: Bench, rng: Random) -> int:
    """Flip bits in each file of one shipped network."""
    folder = copied(runs.SHIPPED / name, bench.fresh() / name)
    assert runs.load(folder).certified
    count = 0
    for path in sorted(folder.iterdir()):
        for flipped in flips(path, rng):
            assert refused(lambda: runs.load(folder)), f"{name}/{path.name}: a bit flipped at {flipped} goes unnoticed"
            count += 1
    assert runs.load(folder).certified
    return count


def checkpoint(bench: Bench, rng: Random) -> int:
    """Flip bits in the checkpoint of a training."""
    folder, count = copied(bench.unfinished, bench.fresh() / "run"), 0
    for flipped in flips(folder / runs.CHECKPOINT, rng):
        assert refused(lambda: Training.resume(folder)), f"checkpoint: a bit flipped at {flipped} goes unnoticed"
        count += 1
    bench.finish_training(folder)
    return count


def refused(load: Callable[[], object]) -> bool:
    """Tell whether something is refused, in one line."""
    try:
        load()
    except AlgaError as problem:
        return "\n" not in str(problem)
    return False


def flips(path: Path, rng: Random) -> Iterator[int]:
    """Flip one bit of a file at a time, yielding its place; undo it before the next."""
    whole = path.read_bytes()
    for place in sorted(_places(len(whole), rng)):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        yield place
    path.write_bytes(whole)


def _places(size: int, rng: Random) -> set[int]:
    regions = [(i * size // REGIONS, (i + 1) * size // REGIONS) for i in range(REGIONS)]
    return {0, size - 1} | {rng.randrange(start, stop) for start, stop in regions if start < stop}


LEAST = 7 * REGIONS  # flips in one network of seven files
FAULTS: tuple[Fault, ...] = (
    *(
        Fault("bit flip", "every file of every shipped network", "refused in one line", LEAST, cut, 0.05,
              partial(shipped, name), part=name)
        for name, cut in zip(runs.shipped(), [LEAST, LEAST, *[0] * len(runs.shipped())], strict=False)
    ),
    Fault("bit flip", "checkpoint of a training", "refused in one line", 100, 20, 0.2, checkpoint),
)  # fmt: skip
