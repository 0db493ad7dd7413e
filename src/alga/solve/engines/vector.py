"""A scan, 64 columns at a time, in compiled code: as fast as memory for long numbers.

Everything is done on bytes side by side. A function of a column's value is stored as steps: where it changes, and by
how much; right tables have one or three such steps. Nothing is looked up, so no byte can lead outside an array; digits
are checked as they are read. Importing this loads numba.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from alga.network.compiled import call, compiled
from alga.solve.engines.scan import AFTER, ZERO, Scan
from alga.solve.engines.text_memory import new_text, viewed

BLOCK: Final = 2**15  # columns at a time: what is between two passes over them stays in the CPU's cache
LANES: Final = 64
NEVER: Final = 255  # no value is as large
FILLED: Final = 2**16  # columns at a time in which one number has ended
OFF: Final = np.uint8(0)

Bytes = NDArray[np.uint8]
_REVERSED: Final = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [*range(LANES - 1, -1, -1)])
_VECTOR: Final = ir.VectorType(ir.IntType(8), LANES)


def _make_from(_: Any, array: Any, _at: Any, _least: Any) -> Any:
    """Return 64 bits: whether each of 64 bytes is at least a number, the last byte first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, signature, arguments))
        loaded.align = 1
        turned = builder.shuffle_vector(loaded, loaded, _REVERSED)
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), arguments[2], ir.Constant(ir.IntType(32), 0))
        least = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))
        return builder.bitcast(builder.icmp_unsigned(">=", turned, least), ir.IntType(LANES))

    return types.uint64(array, types.intp, types.uint8), generate


def _make_mark(_: Any, array: Any, _at: Any, _bits: Any) -> Any:
    """Set the highest bit of those of 64 bytes whose bit is set, the last byte first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        loaded = builder.load(pointer)
        loaded.align = 1
        bits = builder.bitcast(arguments[2], ir.VectorType(ir.IntType(1), LANES))
        marks = builder.and_(builder.sext(bits, _VECTOR), ir.Constant(_VECTOR, [AFTER] * LANES))
        marks = builder.shuffle_vector(marks, marks, _REVERSED)
        builder.store(builder.or_(loaded, marks), pointer).align = 1
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), _VECTOR.as_pointer())


def _make_fetch(_: Any, array: Any, _at: Any) -> Any:
    """Ask for the 64 bytes at a position to be brought nearer; nothing happens if they are not there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.bitcast(_pointer(context, builder, signature, arguments), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [ir.IntType(8).as_pointer()], kind)
        reading, near, data = (ir.Constant(ir.IntType(32), each) for each in (0, 3, 1))
        builder.call(fetch, [pointer, reading, near, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


_fetch: Any = intrinsic(_make_fetch)  # (array, at)
_from: Any = intrinsic(_make_from)  # (array, at, least) -> 64 bits
_mark: Any = intrinsic(_make_mark)  # (array, at, bits)


def plan_of(scan: Scan) -> Bytes:
    """Return a scan as numbers for `run`: the digits, how to make a value, and three functions of it as steps."""
    first, last = scan.digits[0], scan.digits[-1]
    flip, shift = (255, 1 + ZERO) if scan.minus else (0, 0)  # a - b is a + not b + 1
    values = range(first - last + ZERO, last - first + ZERO + 1) if scan.minus else range(2 * first, 2 * last + 1)
    later = [value + AFTER for value in values]
    digits = bytes((scan.written[value] - value) % 256 for value in range(256))
    functions = (
        _steps(scan.keeps, [*values], 2),
        _steps(scan.sets, [*values], 2),
        _steps(digits, [*values, *later], 4),
    )
    plan = np.full((4, 2, max(4, *map(len, functions))), NEVER, np.uint8)
    plan[0, 0, :4] = first, last - first, flip, shift
    for i, function in enumerate(functions, start=1):
        plan[0, 1, i] = len(function)
        plan[i, :, : len(function)] = np.array(function, np.uint8).T
    return plan


def _steps(function: bytes, values: list[int], least: int) -> list[tuple[int, int]]:
    """Return where a function changes, going up through values, and by how much; first its first value."""
    found, before = [(0, function[values[0]])], function[values[0]]
    for value in values[1:]:
        if function[value] != before:
            found.append((value, (function[value] - before) % 256))
            before = function[value]
    return found + [(NEVER, 0)] * (least - len(found))


@compiled
def run(plan: Bytes, upper: Bytes, lower: Bytes, out: Bytes, state: int, work: Bytes) -> int:
    """Write what every column writes, from the right; return the class after them, or -1 if a byte is not a digit.

    The three arrays are equally long, and `out` may be one of the others; `work` has room for a block.
    """
    stop = len(upper)
    while stop > BLOCK and state >= 0:
        start = stop - BLOCK
        state = run_block(
            plan, upper[start:stop], lower[start:stop], out[start:stop], state, work[:BLOCK],
            upper[max(0, start - BLOCK) : start], lower[max(0, start - BLOCK) : start],
        )  # fmt: skip
        stop = start
    nothing = upper[:0]
    if state >= 0:
        state = run_block(plan, upper[:stop], lower[:stop], out[:stop], state, work[:stop], nothing, lower[:0])
    return state


@compiled
def run_block(
    plan: Bytes, upper: Bytes, lower: Bytes, out: Bytes, state: int, values: Bytes, soon: Bytes, soon_too: Bytes
) -> int:
    """Do the same for columns that are few enough; `values` is as long as the others."""
    first, span, flip, shift = plan[0, 0, 0], plan[0, 0, 1], plan[0, 0, 2], plan[0, 0, 3]
    by_0, by_1, by_2, by_3 = plan[3, 1, 0], plan[3, 1, 1], plan[3, 1, 2], plan[3, 1, 3]
    from_1, from_2, from_3 = plan[3, 0, 1], plan[3, 0, 2], plan[3, 0, 3]
    size, farthest = len(values), OFF
    for i in range(size):
        farther = max(np.uint8(upper[i] - first), np.uint8(lower[i] - first))
        farthest = max(farthest, farther)
        values[i] = np.uint8(upper[i] + (lower[i] ^ flip) + shift)
    if farthest > span:
        return -1
    carry = _carried(plan, values, np.uint64(state), soon, soon_too)
    for i in range(size):
        value = values[i]
        digit = np.uint8(value + by_0 + (by_1 if value >= from_1 else OFF))
        out[i] = np.uint8(digit + (by_2 if value >= from_2 else OFF) + (by_3 if value >= from_3 else OFF))
    for k in range(4, plan[0, 1, 3]):  # right tables have no more steps
        by, least = plan[3, 1, k], plan[3, 0, k]
        for i in range(size):
            out[i] = np.uint8(out[i] + (by if values[i] >= least else OFF))
    return np.int64(carry)  # type: ignore[return-value]


@compiled
def _carried(plan: Bytes, values: Bytes, carry: np.uint64, soon: Bytes, soon_too: Bytes) -> np.uint64:
    """Mark the values of columns after class 1; return the class after all of them."""
    keep_from, set_from, at = plan[1, 0, 1], plan[2, 0, 1], len(values)
    turn_keeps, turn_sets = np.uint64(0) - np.uint64(plan[1, 1, 0] & 1), np.uint64(0) - np.uint64(plan[2, 1, 0] & 1)
    more = plan[0, 1, 1] > 2 or plan[0, 1, 2] > 2  # right tables have one step each
    while at >= LANES:
        at -= LANES
        if at < len(soon):
            _fetch(soon, at)
            _fetch(soon_too, at)
        keeps, sets = _from(values, at, keep_from) ^ turn_keeps, _from(values, at, set_from) ^ turn_sets
        if more:
            keeps, sets = keeps ^ _more(plan, 1, values, at), sets ^ _more(plan, 2, values, at)
        both = keeps + sets
        total = both + carry
        _mark(values, at, total ^ keeps ^ sets)
        carry = np.uint64(both < keeps) | np.uint64(total < both)
    while at > 0:
        at -= 1
        before, value = carry, values[at]
        carry = np.uint64(_bit(plan, 2, value) or (before and _bit(plan, 1, value)))
        values[at] = np.uint8(value | AFTER) if before else value
    return carry


@compiled
def _more(plan: Bytes, function: int, values: Bytes, at: int) -> np.uint64:
    """Return which of 64 values the further steps of a function turn over, as bits."""
    bits = np.uint64(0)
    for k in range(2, plan[0, 1, function]):
        bits ^= _from(values, at, plan[function, 0, k])
    return bits


@compiled
def _bit(plan: Bytes, function: int, value: np.uint8) -> bool:
    turned = int(plan[function, 1, 0] != 0)
    for k in range(1, plan[0, 1, function]):
        turned += value >= plan[function, 0, k]
    return turned % 2 == 1


def text_of(scan: Scan, upper: str, lower: str) -> str | None:
    """Return what all steps write, in reading order; None if a character is not a digit. The texts are ASCII."""
    width = len(upper)
    if width > BLOCK or len(lower) > BLOCK:
        return _long_text_of(scan, upper, lower)
    if width != len(lower):
        width = max(width, len(lower))
        upper, lower = upper.rjust(width, scan.fill), lower.rjust(width, scan.fill)
    room = np.empty(2 * width, np.uint8)
    after = call(_run_texts, scan.plan, upper.encode(), lower.encode(), room, scan.start)
    return None if after < 0 else scan.leads[after] + str(room.data[:width], "ascii")


@compiled
def _run_texts(plan: Bytes, upper: Any, lower: Any, room: Bytes, state: int) -> int:
    size = len(upper)
    return run_block(plan, upper, lower, room[:size], state, room[size:], upper[:0], lower[:0])


def _long_text_of(scan: Scan, upper: str, lower: str) -> str | None:
    """Write into the text itself, with room for what the leading columns say that the last step writes first."""
    sizes = len(upper), len(lower)
    width, both = max(sizes), min(sizes)
    heads = (text[: max(0, len(text) - width + LANES)] for text in (upper, lower))
    lead = (scan.text(*(head or scan.fill for head in heads)) or "")[:-LANES]
    text, out = new_text(len(lead) + width)
    above, below, written, work = viewed(upper), viewed(lower), out[len(lead) :], np.empty(BLOCK, np.uint8)
    after = call(
        run, scan.plan, above[sizes[0] - both :], below[sizes[1] - both :], written[width - both :], scan.start, work
    )
    if both < width:
        fill = np.full(min(FILLED, width - both), ord(scan.fill), np.uint8)
        fill.flags.writeable = False
        for stop in range(width - both, 0, -FILLED):
            rest = slice(max(0, stop - FILLED), stop)
            filled = fill[: stop - rest.start]
            rows = (above[rest], filled) if sizes[0] > sizes[1] else (filled, below[rest])
            after = call(run, scan.plan, *rows, written[rest], after, work) if after >= 0 else after
    if after < 0:
        return None
    out[: len(lead)] = np.frombuffer(lead.encode(), np.uint8)
    return text if scan.leads[after] == lead else scan.leads[after] + text[len(lead) :]
