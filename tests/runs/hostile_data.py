"""Hostile bytes for file readers, and what a reader may do with them."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import safetensors.torch
from hypothesis import strategies as st

from alga import runs
from alga.base.errors import AlgaError
from tests.runs.foreign_files import raw, theirs, vector, wrapped

PARITY = runs.SHIPPED / "parity"
DEEP = "[" * 100_000


@contextlib.contextmanager
def only_refused() -> Iterator[None]:
    """Accept AlgaError; any other exception is a defect."""
    with contextlib.suppress(AlgaError):
        yield


@contextlib.contextmanager
def file_of(data: bytes, name: str = "file") -> Iterator[Path]:
    """Yield a file with these bytes (hypothesis does not work with tmp_path)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        yield Path(folder) / name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def altered(draw: st.DrawFn, text: str) -> str:
    """A JSON document with one value replaced or removed."""
    content: Any = json.loads(text)
    at: Any = content
    while True:
        key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if isinstance(at[key], dict | list) and at[key] and draw(st.booleans()):
            at = at[key]
            continue
        if isinstance(at, dict) and draw(st.integers(0, 5)) == 0:
            del at[key]
        else:
            at[key] = draw(JSON)
        return json.dumps(content)


def archive(pickled: bytes, **more: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickled)
        for name, data in {"version": b"3\n", **more}.items():
            file.writestr(f"archive/{name}", data)
    return buffer.getvalue()


def tensor(count: int, shape: tuple[int, ...] = (1,), strides: tuple[int, ...] = (1,), offset: int = 0) -> bytes:
    """Return the pickle of a state_dict with one tensor that claims these sizes."""

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", value) for value in values) + b"t"

    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    storage += numbers((count,))[1:-1] + b"tQ"
    called = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + numbers((offset,))[1:-1] + numbers(shape)
    called += numbers(strides) + b"\x89ccollections\nOrderedDict\n)RtR"
    return b"\x80\x02}X\x0e\x00\x00\x00wte_out.weight" + called + b"s."


def two_directories(numbers: int) -> bytes:
    """An archive whose old directory lists a storage of one number, and whose zip64 directory a large packed one."""

    def member(name: str, data: bytes, packed: bool) -> tuple[bytes, Callable[[int], bytes]]:
        raw, how, path = zlib.compress(data, 9, -15) if packed else data, 8 if packed else 0, name.encode()
        sizes = struct.pack("<3I", zlib.crc32(data), len(raw), len(data))
        local = struct.pack("<4s5H", b"PK\x03\x04", 20, 0, how, 0, 0) + sizes + struct.pack("<2H", len(path), 0)
        entry = (
            struct.pack("<4s6H", b"PK\x01\x02", 20, 20, 0, how, 0, 0) + sizes + struct.pack("<5HI", len(path), *[0] * 5)
        )
        return local + path + raw, lambda place: entry + struct.pack("<I", place) + path

    out, entries = b"", []
    for name, data, packed in (
        ("data.pkl", tensor(numbers, (numbers,)), False),
        ("version", b"3\n", False),
        ("data/0", bytes(4), False),
        ("data/0", bytes(4 * numbers), True),
    ):
        whole, entry = member(f"archive/{name}", data, packed)
        entries.append(entry(len(out)))
        out += whole
    new, old = b"".join([*entries[:2], entries[3]]), b"".join(entries[:3])
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 3, 3, len(new), len(out))
    place = len(out) + len(new)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, place + len(old), 1)
    return out + new + old + record + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 3, 3, len(old), place, 0)


ALLOCATES = b"\x80\x02}X\x01\x00\x00\x00ac__builtin__\nbytearray\n(J" + struct.pack("<i", 2**30) + b"tRs."
NARROW = {theirs(name): tensor for name, tensor in safetensors.torch.load_file(PARITY / "model.safetensors").items()}


def packed(archive: bytes) -> bytes:
    return raw(wrapped(raw(archive), "tensor"))


def r_list(tensors: dict[str, bytes]) -> bytes:

    return gzip.compress(wrapped(vector(19, list(tensors.values()), list(tensors)), "list"))


def deflated(numbers: bytes, description: bytes) -> bytes:
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", numbers)
        archive.writestr("archive/data.pkl", description)
    return buffer.getvalue()
