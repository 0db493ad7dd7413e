"""Numbers as text: validated digits of a base, without leading zeros; and exact arithmetic for the oracles."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Final

from alga.base.errors import AlgaError

ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
DIGITS: Final = ALPHABET[:10]
AT_ONCE: Final = 1000  # digits that int reads and writes directly; it refuses more than 4,300


Signed = tuple[bool, str]  # whether negative, and the digits


def digits_of(base: int) -> str:
    """Return the digits of a base.

    >>> digits_of(16)
    '0123456789abcdef'
    """
    if not isinstance(base, int) or not 2 <= base <= len(ALPHABET):
        raise AlgaError(f"base must be 2 to {len(ALPHABET)}, got {base}")
    return ALPHABET[:base]


def in_base(family: str, base: int) -> str:
    """Return the name of a family's task in a base.

    >>> in_base("addition", 16), in_base("addition", 10)
    ('addition-base-16', 'addition')
    """
    return family if base == 10 else f"{family}-base-{base}"


def number(text: str, digits: str = DIGITS, offset: int = 0) -> str:
    """Return the number that `text` writes, without leading zeros.

    Only the listed digits count: no sign, no space, no full-width or other Unicode digit. `offset` is the number of
    characters before `text` that an error should count too.

    >>> number("00907")
    '907'
    >>> number("000")
    '0'
    >>> number("9O7")
    Traceback (most recent call last):
    alga.AlgaError: a number has only the digits 0-9, got 'O' at position 2
    """
    if not isinstance(text, str):
        raise AlgaError(f"expected a number as text of digits, got {type(text).__name__}")
    if not text:
        raise AlgaError("a number needs at least one digit, got the empty text")
    # Searching bytes is twenty times as fast as searching text.
    if not text.isascii() or text.encode().translate(None, digits.encode()):
        place = next(i for i, char in enumerate(text) if char not in digits)
        raise stranger(text[place], offset + place, digits)
    return without_zeros(text)


def stranger(char: str, place: int, digits: str = DIGITS) -> AlgaError:
    """Return the error for a character that is not a digit, at a position counted from 0."""
    return AlgaError(f"a number has only the digits {_span(digits)}, got {char!r} at position {place + 1}")


def without_zeros(text: str) -> str:
    """Drop leading zeros, whatever follows: a network's wrong answer is data and is not validated here.

    >>> without_zeros("0050"), without_zeros("00"), without_zeros("00 r5")
    ('50', '0', '0 r5')
    """
    stripped = text.lstrip("0")
    return stripped if stripped and stripped[0] != " " else f"0{stripped}"


def split_sign(text: str, base: int) -> Signed:
    """Split a number into its sign and its digits, which are checked here only if it is negative.

    >>> split_sign("-007", 10), split_sign("FF", 16)
    ((True, '7'), (False, 'ff'))
    """
    if not isinstance(text, str):
        number(text)  # raises
    text = text.lower() if base > 10 else text
    if not text.startswith("-"):
        return False, text
    digits = number(text[1:], digits_of(base), offset=1)
    return digits != "0", digits


def single_digit(text: str, digits: str = DIGITS) -> str:
    """Return the one-digit number that `text` writes.

    >>> single_digit("07")
    '7'
    """
    value = number(text, digits)
    if len(value) != 1:
        raise AlgaError(f"expected a single digit {_span(digits)}, got a number of {len(value):,} digits")
    return value


# --- exact arithmetic, for oracles ------------------------------------------------------------------------------------


def exact(*operands: str) -> decimal.Context:
    """Return a decimal context in which one operation on `operands` is exact, and which refuses to round.

    `decimal` reads and writes text in linear time; `int` is quadratic and refuses more than 4,300 digits.
    """
    digits = sum(map(len, operands)) + 2
    return decimal.Context(
        prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact, decimal.InvalidOperation]
    )


def value_of(text: str, base: int) -> int:
    """Return the number that a text of any length writes in a base.

    >>> value_of("ff", 16)
    255
    """
    if len(text) <= AT_ONCE:
        return int(text, base)
    half = len(text) // 2
    high, low = value_of(text[:-half], base), value_of(text[-half:], base)
    return high * int(base**half) + low


def text_of(value: int, base: int) -> str:
    """Return a non-negative number of any size as text in a base.

    >>> text_of(255, 16), text_of(0, 7)
    ('ff', '0')
    """
    size = 1
    while base**size <= value:
        size *= 2
    return without_zeros(_padded(value, base, size))


def signed_answer(verb: str, operands: Sequence[str], base: int) -> str:
    """Return the answer for signed numbers by Python's integers.

    >>> signed_answer("divmod", ("-7", "2"), 10), signed_answer("add", ("ff", "1"), 16)
    ('-4 1', '100')
    """
    a, *others = (signed_value(operand, base) for operand in operands)
    if verb != "add" and len(others) != 1:
        raise AlgaError(f"{verb} takes two numbers, got {len(operands)}")
    if verb == "divmod" and not others[0]:
        raise AlgaError("a number cannot be divided by zero")
    if verb == "cmp":
        return "<" if a < others[0] else "=" if a == others[0] else ">"
    if verb == "divmod":
        return " ".join(signed_text(part, base) for part in divmod(a, others[0]))
    value = sum(others, a) if verb == "add" else a - others[0] if verb == "sub" else a * others[0]
    return signed_text(value, base)


def signed_value(text: str, base: int) -> int:
    """Return the number that a text with or without a minus sign writes in a base."""
    return -value_of(text[1:], base) if text.startswith("-") else value_of(text, base)


def signed_text(value: int, base: int) -> str:
    """Return a number of any size as text in a base, with a minus sign if it is negative."""
    return f"-{text_of(-value, base)}" if value < 0 else text_of(value, base)


def _padded(value: int, base: int, size: int) -> str:
    if size == 1:
        return ALPHABET[value]
    high, low = divmod(value, base ** (size // 2))
    return _padded(high, base, size // 2) + _padded(low, base, size // 2)


def _span(digits: str) -> str:
    if len(digits) <= 2:
        return " and ".join(digits)
    return f"0-{digits[-1]}" if len(digits) <= 10 else f"0-9 and {digits[10]}{f'-{digits[-1]}' * (len(digits) > 11)}"
