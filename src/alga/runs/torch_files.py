"""Files of torch.save -> arrays. Nothing is unpickled: a pickle's operations are checked against a short list.

The reader knows names, numbers, lists, dictionaries, and how torch describes a tensor: a storage, an offset, a shape
and strides. Anything else in a pickle is refused before it is built. The numbers then come from the archive's own
uncompressed bytes, so nothing takes more memory than the file has bytes.
"""

from __future__ import annotations

import io
import math
import pickletools
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from alga.base.errors import AlgaError

LARGEST_PICKLE: Final = 2**20  # bytes of names, shapes and types; the paper's network has 4,000
MOST_OPERATIONS: Final = 200_000
MOST_MEMBERS: Final = 10_000
MOST_DIMENSIONS: Final = 8
DIRECTORY_ENTRY: Final = b"PK\x01\x02"
MAGIC: Final = 0x1950A86A20F9469CFC6C  # begins files of torch before version 1.6, which are not archives
PROTOCOL: Final = 1001
FLOAT32_BYTES: Final = 4  # bytes
NUMBER: Final = np.dtype("<f4")
NOTHING_ELSE: Final = "expected a PyTorch file with nothing but weights, got another or a damaged one"
ORDERED, MODULE = "collections OrderedDict", "__torch__ Module"
TENSOR, PARAMETER = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"
STORAGES = re.compile(r"torch [A-Z]\w{1,30}Storage")

Array = NDArray[np.float32]
Storage = Callable[[str], bytearray]


@dataclass(frozen=True)
class _Named:
    """A class or function that a pickle names; it is never looked up."""

    name: str


@dataclass(frozen=True)
class _Storage:
    key: str
    count: int


@dataclass(frozen=True)
class _Described:
    """A tensor as a pickle describes it."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Module(dict[object, object]):
    """What torch for R wraps a tensor in."""


def tensors(data: bytes, most: int) -> dict[str, Array]:
    """Return the tensors of a file that torch.save wrote, by name; refuse more than `most` bytes in all."""
    described, storage = _from_archive(data, most) if data[:2] == b"PK" else _from_pickles(data)
    if not isinstance(described, dict) or not all(isinstance(value, _Described) for value in described.values()):
        raise AlgaError("expected a state_dict: names, each with a tensor")
    if not all(isinstance(name, str) for name in described):
        raise AlgaError("expected a state_dict whose names are text")
    found: dict[str, Array] = {}
    left = most
    numbers: dict[str, bytearray] = {}
    for name, each in described.items():
        left -= FLOAT32_BYTES * math.prod(each.shape)
        if left < 0:
            raise AlgaError(f"the tensors together have more than {most:,} bytes")
        key = each.storage.key
        if key not in numbers:
            numbers[key] = storage(key)
        found[name] = _tensor(each, numbers[key])
    return found


def _tensor(described: _Described, numbers: bytearray) -> Array:
    """Take the numbers of a tensor from its storage."""
    shape, strides = described.shape, described.strides
    if len(numbers) != FLOAT32_BYTES * described.storage.count:
        raise AlgaError("a tensor does not have the bytes that it claims")
    if not math.prod(shape):
        return np.zeros(shape, np.float32)
    last = described.offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if last >= described.storage.count:
        raise AlgaError("a tensor reaches beyond its bytes")
    whole = np.frombuffer(numbers, NUMBER)[described.offset :]  # as_strided itself checks nothing: `last` did
    return as_strided(whole, shape, [FLOAT32_BYTES * stride for stride in strides]).astype(np.float32, order="C")


def _from_archive(data: bytes, most: int) -> tuple[object, Storage]:
    """Read the pickle of an archive; return what it describes, and a function that reads a storage."""
    if data.count(DIRECTORY_ENTRY) > MOST_MEMBERS:
        raise AlgaError(f"the archive has more than {MOST_MEMBERS:,} files")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {member.filename: member for member in archive.infolist()}
        (pickled,) = (name for name in members if name.endswith("/data.pkl"))
    except Exception:  # the archive may be any bytes, and zipfile raises many kinds of errors
        _refuse()
    root = pickled.removesuffix("data.pkl")
    left = most

    def read(name: str, largest: int) -> bytearray:
        nonlocal left
        member = members.get(name)
        if member is None or member.compress_type != zipfile.ZIP_STORED:
            raise AlgaError(f"expected an archive as PyTorch writes it, unpacked, got none or another {name[:60]!r}")
        if member.file_size > min(largest, left):
            raise AlgaError(f"the archive unpacks to more than {most:,} bytes")
        try:
            with archive.open(member) as file:
                content = bytearray(file.read(member.file_size))
        except Exception:  # likewise
            _refuse()
        left -= len(content)
        return content

    if f"{root}byteorder" in members and read(f"{root}byteorder", 16) != b"little":
        raise AlgaError("expected little-endian numbers, got the other order")
    return _described(io.BytesIO(read(pickled, LARGEST_PICKLE))), lambda key: read(f"{root}data/{key}", most)


def _from_pickles(data: bytes) -> tuple[object, Storage]:
    """Read a file of torch before version 1.6: five pickles, then each storage with its length."""
    stream = io.BytesIO(data)
    if (_described(stream), _described(stream)) != (MAGIC, PROTOCOL):
        _refuse()
    machine, described, keys = (_described(stream) for _ in range(3))
    if not isinstance(machine, dict) or machine.get("little_endian") is not True or not isinstance(keys, list):
        _refuse()
    values = described.values() if isinstance(described, dict) else ()
    sizes = {each.storage.key: each.storage.count for each in values if isinstance(each, _Described)}
    storages: dict[str, bytearray] = {}
    for key in keys:
        count = int.from_bytes(stream.read(8), "little")
        if not isinstance(key, str) or sizes.get(key) != count:
            _refuse()
        storages[key] = bytearray(stream.read(FLOAT32_BYTES * count))
    return described, lambda key: storages[key] if key in storages else _refuse()


def _refuse(what: str = "") -> NoReturn:
    raise AlgaError(f"{NOTHING_ELSE} ({what})" if what else NOTHING_ELSE) from None


# --- the pickle -------------------------------------------------------------------------------------------------------


def _described(stream: io.BytesIO) -> object:
    """Return what the next pickle describes: the pickle machine, with a stack and a memo, for a few operations."""
    stack: list[Any] = []
    memo: dict[int, object] = {}
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(stream)):
            if count >= MOST_OPERATIONS:
                raise AlgaError(f"the description of the tensors has more than {MOST_OPERATIONS:,} parts")
            _apply(operation.name, argument, stack, memo)
        (value,) = stack
    except AlgaError:
        raise
    except Exception:  # whatever pickletools raises; an empty stack or memo is an IndexError or KeyError
        _refuse()
    return value


_MARK: Final = object()  # where a list of items begins on the stack


def _apply(operation: str, argument: Any, stack: list[Any], memo: dict[int, object]) -> None:  # noqa: PLR0912
    """Apply one operation of a pickle to the stack; refuse those that weights do not need."""
    match operation:
        case "PROTO" | "FRAME" | "STOP":
            pass
        case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE" | "SHORT_BINUNICODE":
            stack.append(argument)
        case "NONE" | "NEWTRUE" | "NEWFALSE":
            stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[operation])
        case "EMPTY_DICT" | "EMPTY_LIST" | "EMPTY_TUPLE" | "MARK":
            stack.append({"EMPTY_DICT": {}, "EMPTY_LIST": [], "EMPTY_TUPLE": (), "MARK": _MARK}[operation])
        case "BINPUT" | "LONG_BINPUT" | "MEMOIZE":
            memo[len(memo) if argument is None else argument] = stack[-1]
        case "BINGET" | "LONG_BINGET":
            stack.append(memo[argument])
        case "TUPLE" | "TUPLE1" | "TUPLE2" | "TUPLE3":
            items = _above_mark(stack) if operation == "TUPLE" else _pop(stack, int(operation[-1]))
            stack.append(tuple(items))
        case "APPEND" | "APPENDS":
            items = _above_mark(stack) if operation == "APPENDS" else _pop(stack, 1)
            if type(stack[-1]) is not list:
                _refuse()
            stack[-1].extend(items)
        case "SETITEM" | "SETITEMS":
            items = _above_mark(stack) if operation == "SETITEMS" else _pop(stack, 2)
            if not isinstance(stack[-1], dict) or not all(isinstance(key, str | int) for key in items[::2]):
                _refuse()
            stack[-1].update(zip(items[::2], items[1::2], strict=True))
        case "GLOBAL":
            stack.append(_named(argument))
        case "STACK_GLOBAL":
            stack.append(_named(" ".join(part if isinstance(part, str) else "" for part in _pop(stack, 2))))
        case "BINPERSID":
            stack.append(_storage(*stack.pop()))
        case "REDUCE" | "NEWOBJ":
            called, arguments = _pop(stack, 2)
            if type(arguments) is not tuple or not isinstance(called, _Named):
                _refuse()
            stack.append(_built(operation, called.name, arguments))
        case "BUILD":  # fills a module; what a state_dict has beside its items (versions of modules) is ignored
            state = stack.pop()
            if isinstance(stack[-1], _Module) and isinstance(state, dict):
                stack[-1].update(state)
            elif type(stack[-1]) is not dict:
                _refuse()
        case _:
            _refuse(operation)


def _pop(stack: list[Any], count: int) -> list[Any]:
    return [stack.pop() for _ in range(count)][::-1]


def _above_mark(stack: list[Any]) -> list[Any]:
    """Take the items above the last mark, and the mark."""
    found = list(iter(stack.pop, _MARK))
    return found[::-1]


def _named(text: str) -> _Named:
    if text not in {ORDERED, MODULE, TENSOR, PARAMETER} and not STORAGES.fullmatch(text):
        if text.startswith("torch._utils _rebuild"):
            raise AlgaError(f"expected plain tensors, got another kind ({text[:60]!r})")
        _refuse(repr(text[:60]))
    return _Named(text)


def _storage(what: object, kind: object, key: object, _place: object, count: object, *views: object) -> _Storage:
    if what != "storage" or not isinstance(kind, _Named) or not STORAGES.fullmatch(kind.name):
        _refuse()
    if kind.name != "torch FloatStorage":
        raise AlgaError(f"a tensor holds {kind.name.replace(' ', '.')}, expected torch.float32")
    if not isinstance(key, str) or type(count) is not int or count < 0 or any(view is not None for view in views):
        _refuse()
    return _Storage(key, count)


def _built(operation: str, called: str, arguments: tuple[Any, ...]) -> object:
    """Return what a call of a known name gives."""
    if (operation, called, arguments) == ("NEWOBJ", MODULE, ()):
        return _Module()
    if (operation, called, arguments) == ("REDUCE", ORDERED, ()):
        return {}
    if (operation, called) == ("REDUCE", PARAMETER) and isinstance(arguments[0], _Described):
        return arguments[0]
    if (operation, called) != ("REDUCE", TENSOR):
        _refuse()
    storage, offset, shape, strides = arguments[:4]
    if not isinstance(storage, _Storage) or type(offset) is not int or offset < 0:
        _refuse()
    if not isinstance(shape, tuple) or not isinstance(strides, tuple) or len(shape) != len(strides):
        _refuse()
    if len(shape) > MOST_DIMENSIONS:
        raise AlgaError(f"a tensor has more than {MOST_DIMENSIONS} dimensions")
    if not all(type(each) is int and 0 <= each < 2**48 for each in (*shape, *strides)):
        _refuse()
    return _Described(storage, offset, shape, strides)
