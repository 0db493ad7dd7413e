"""What torch.save writes -> arrays, and nothing is unpickled: a pickle's operations are walked against a short list.

The walk knows names, numbers, lists and dictionaries, and how torch describes a tensor: a storage, an offset, a shape
and strides. What else a pickle asks for is refused before anything is built of it. Numbers then come from the archive's
own bytes, which are not packed, so nothing takes more memory than the file has bytes.
"""

from __future__ import annotations

import io
import math
import pickletools
import re
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from alga.base.errors import AlgaError

LARGEST_PICKLE: Final = 2**20  # bytes of names, shapes and types; the paper's network has 4,000
MOST_OPERATIONS: Final = 200_000
MOST_MEMBERS: Final = 10_000
MOST_DIMENSIONS: Final = 8
DIRECTORY_ENTRY: Final = b"PK\x01\x02"
MAGIC: Final = 0x1950A86A20F9469CFC6C  # of files that are no archive, as torch wrote them before version 1.6
PROTOCOL: Final = 1001
FLOAT32: Final = 4  # bytes
NUMBER: Final = np.dtype("<f4")
NOTHING_ELSE: Final = "expected a PyTorch file with nothing but weights, got another or a damaged one"


@dataclass(frozen=True)
class _Named:
    """Something that a pickle names; it is never looked up."""

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


Array = NDArray[np.float32]


class _Module(dict[object, object]):
    """What torch for R wraps a tensor in."""


ORDERED, MODULE = _Named("collections OrderedDict"), _Named("__torch__ Module")
TENSOR, PARAMETER = _Named("torch._utils _rebuild_tensor_v2"), _Named("torch._utils _rebuild_parameter")
STORAGES = re.compile(r"torch [A-Z]\w{1,30}Storage")


def tensors(data: bytes, most: int) -> dict[str, Array]:
    """Return the tensors of a file that torch.save wrote, by their names; they take at most so many bytes in all."""
    described, storage = _from_archive(data, most) if data[:2] == b"PK" else _from_pickles(data)
    if not isinstance(described, dict) or not all(isinstance(value, _Described) for value in described.values()):
        raise AlgaError("expected a state_dict: names, each with a tensor")
    if not all(isinstance(name, str) for name in described):
        raise AlgaError("expected a state_dict whose names are text")
    found: dict[str, Array] = {}
    left = most
    numbers: dict[str, bytearray] = {}
    for name, each in described.items():
        left -= FLOAT32 * math.prod(each.shape)
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
    if len(numbers) != FLOAT32 * described.storage.count:
        raise AlgaError("a tensor does not have the bytes that it claims")
    if not math.prod(shape):
        return np.zeros(shape, np.float32)
    last = described.offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if last >= described.storage.count:
        raise AlgaError("a tensor reaches beyond its bytes")
    whole = np.frombuffer(numbers, NUMBER)[described.offset :]  # as_strided itself checks nothing: `last` did
    return as_strided(whole, shape, [FLOAT32 * stride for stride in strides]).astype(np.float32, order="C")


Storage = Callable[[str], bytearray]


def _from_archive(data: bytes, most: int) -> tuple[object, Storage]:
    """Walk the pickle of an archive; return what it describes, and a function that reads a storage."""
    if data.count(DIRECTORY_ENTRY) > MOST_MEMBERS:
        raise AlgaError(f"the archive has more than {MOST_MEMBERS:,} files")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {member.filename: member for member in archive.infolist()}
        (pickled,) = (name for name in members if name.endswith("/data.pkl"))
    except Exception:  # the archive may be any bytes, and zipfile's errors are of many kinds
        raise AlgaError(NOTHING_ELSE) from None
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
            raise AlgaError(NOTHING_ELSE) from None
        left -= len(content)
        return content

    if f"{root}byteorder" in members and read(f"{root}byteorder", 16) != b"little":
        raise AlgaError("expected numbers whose lowest byte comes first, got the other order")
    return _walked(io.BytesIO(read(pickled, LARGEST_PICKLE))), lambda key: read(f"{root}data/{key}", most)


def _from_pickles(data: bytes) -> tuple[object, Storage]:
    """Walk a file of torch before version 1.6: five pickles, then each storage with its length."""
    stream = io.BytesIO(data)
    magic, protocol = _walked(stream), _walked(stream)
    if (magic, protocol) != (MAGIC, PROTOCOL):
        raise AlgaError(NOTHING_ELSE)
    machine, described, keys = (_walked(stream) for _ in range(3))
    if not isinstance(machine, dict) or machine.get("little_endian") is not True or not isinstance(keys, list):
        raise AlgaError(NOTHING_ELSE)
    sizes = {each.storage.key: each.storage.count for each in _described(described)}
    storages: dict[str, bytearray] = {}
    for key in keys:
        count = int.from_bytes(stream.read(8), "little")
        if not isinstance(key, str) or sizes.get(key) != count:
            raise AlgaError(NOTHING_ELSE)
        storages[key] = bytearray(stream.read(FLOAT32 * count))

    def storage(key: str) -> bytearray:
        if key not in storages:
            raise AlgaError(NOTHING_ELSE)
        return storages[key]

    return described, storage


def _described(value: object) -> Iterable[_Described]:
    values = value.values() if isinstance(value, dict) else ()
    return [each for each in values if isinstance(each, _Described)]


# --- the pickle -------------------------------------------------------------------------------------------------------


def _walked(stream: io.BytesIO) -> object:
    """Return what the next pickle describes."""
    try:
        return _Walk().through(stream)
    except AlgaError:
        raise
    except Exception:  # pickletools raises what it meets; an empty stack or memo is an IndexError or KeyError
        raise AlgaError(NOTHING_ELSE) from None


class _Mark:
    """Where a list of items begins on the stack."""


class _Walk:
    """A stack and a memo, as a pickle has them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, object] = {}

    def through(self, stream: io.BytesIO) -> object:
        for count, (operation, argument, _) in enumerate(pickletools.genops(stream)):
            if count >= MOST_OPERATIONS:
                raise AlgaError(f"the description of the tensors has more than {MOST_OPERATIONS:,} parts")
            if operation.name in _VALUES:
                self.stack.append(argument)
            elif operation.name in _CONSTANTS:
                self.stack.append(_CONSTANTS[operation.name]())
            elif operation.name in _OPERATIONS:
                _OPERATIONS[operation.name](self, argument)
            elif operation.name not in _IGNORED:
                raise AlgaError(f"{NOTHING_ELSE} ({operation.name})")
        (value,) = self.stack
        return value

    def put(self, place: int | None) -> None:
        self.memo[len(self.memo) if place is None else place] = self.stack[-1]

    def get(self, place: int) -> None:
        self.stack.append(self.memo[place])

    def items(self) -> list[Any]:
        """Take what lies above the last mark, and the mark."""
        found = []
        while not isinstance(item := self.stack.pop(), _Mark):
            found.append(item)
        return found[::-1]

    def gather(self, count: int | None) -> None:
        items = self.items() if count is None else [self.stack.pop() for _ in range(count)][::-1]
        self.stack.append(tuple(items))

    def append(self, items: list[Any]) -> None:
        onto = self.stack[-1]
        if type(onto) is not list:
            raise AlgaError(NOTHING_ELSE)
        onto.extend(items)

    def set(self, items: list[Any]) -> None:
        into = self.stack[-1]
        if not isinstance(into, dict) or not all(isinstance(key, str | int) for key in items[::2]):
            raise AlgaError(NOTHING_ELSE)
        into.update(zip(items[::2], items[1::2], strict=True))

    def name(self, text: str) -> None:
        found = _Named(text)
        if found not in {ORDERED, MODULE, TENSOR, PARAMETER} and not STORAGES.fullmatch(text):
            if text.startswith("torch._utils _rebuild"):
                raise AlgaError(f"expected plain tensors, got another kind ({text[:60]!r})")
            raise AlgaError(f"{NOTHING_ELSE} ({text[:60]!r})")
        self.stack.append(found)

    def name_from_stack(self, _: object) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.name(f"{module if isinstance(module, str) else ''} {name if isinstance(name, str) else ''}")

    def storage(self, _: object) -> None:
        what, kind, key, _place, count, *views = self.stack.pop()
        if what != "storage" or not isinstance(kind, _Named) or not STORAGES.fullmatch(kind.name):
            raise AlgaError(NOTHING_ELSE)
        if kind.name != "torch FloatStorage":
            raise AlgaError(f"a tensor holds {kind.name.replace(' ', '.')}, expected torch.float32")
        if not isinstance(key, str) or type(count) is not int or count < 0 or any(view is not None for view in views):
            raise AlgaError(NOTHING_ELSE)
        self.stack.append(_Storage(key, count))

    def call(self, _: object) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if type(arguments) is not tuple:
            raise AlgaError(NOTHING_ELSE)
        if called == ORDERED and not arguments:
            self.stack.append({})
        elif called == TENSOR:
            self.stack.append(_rebuilt(*arguments[:4]))
        elif called == PARAMETER and isinstance(arguments[0], _Described):
            self.stack.append(arguments[0])
        else:
            raise AlgaError(NOTHING_ELSE)

    def new(self, _: object) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if called != MODULE or arguments != ():
            raise AlgaError(NOTHING_ELSE)
        self.stack.append(_Module())

    def build(self, _: object) -> None:
        """Fill a module; what a state_dict has beside its items (versions of its modules) says nothing here."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], _Module) and isinstance(state, dict):
            self.stack[-1].update(state)
        elif type(self.stack[-1]) is not dict:
            raise AlgaError(NOTHING_ELSE)


def _rebuilt(storage: object, offset: object, shape: object, strides: object) -> _Described:
    if not isinstance(storage, _Storage) or type(offset) is not int or offset < 0:
        raise AlgaError(NOTHING_ELSE)
    if not isinstance(shape, tuple) or not isinstance(strides, tuple) or len(shape) != len(strides):
        raise AlgaError(NOTHING_ELSE)
    if len(shape) > MOST_DIMENSIONS:
        raise AlgaError(f"a tensor has more than {MOST_DIMENSIONS} dimensions")
    if not all(type(each) is int and 0 <= each < 2**48 for each in (*shape, *strides)):
        raise AlgaError(NOTHING_ELSE)
    return _Described(storage, offset, shape, strides)


_VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"}
_CONSTANTS: dict[str, Callable[[], object]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "MARK": _Mark,
}  # fmt: skip
_IGNORED = {"PROTO", "FRAME", "STOP"}
_OPERATIONS: dict[str, Callable[[_Walk, Any], None]] = {
    "BINPUT": _Walk.put, "LONG_BINPUT": _Walk.put, "MEMOIZE": _Walk.put,
    "BINGET": _Walk.get, "LONG_BINGET": _Walk.get,
    "TUPLE": _Walk.gather,
    "TUPLE1": lambda walk, _: walk.gather(1),
    "TUPLE2": lambda walk, _: walk.gather(2),
    "TUPLE3": lambda walk, _: walk.gather(3),
    "APPEND": lambda walk, _: walk.append([walk.stack.pop()]),
    "APPENDS": lambda walk, _: walk.append(walk.items()),
    "SETITEM": lambda walk, _: walk.set([walk.stack.pop(), walk.stack.pop()][::-1]),
    "SETITEMS": lambda walk, _: walk.set(walk.items()),
    "GLOBAL": _Walk.name, "STACK_GLOBAL": _Walk.name_from_stack,
    "BINPERSID": _Walk.storage, "REDUCE": _Walk.call, "NEWOBJ": _Walk.new, "BUILD": _Walk.build,
}  # fmt: skip
