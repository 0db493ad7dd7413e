"""Numbers as text: bases, leading zeros, messages, and exact arithmetic at its limits."""

from __future__ import annotations

import decimal

import pytest

from alga.base.errors import AlgaError
from alga.tasks import numbers


@pytest.mark.parametrize(
    ("base", "span"),
    [(2, "0 and 1"), (3, "0-2"), (10, "0-9"), (11, "0-9 and a"), (12, "0-9 and a-b"), (36, "0-9 and a-z")],
)
def test_base_has_its_digits(base: int, span: str) -> None:
    assert len(numbers.digits_of(base)) == base
    assert str(numbers.stranger("?", 4, numbers.digits_of(base))) == (
        f"a number has only the digits {span}, got '?' at position 5"
    )


@pytest.mark.parametrize("base", [1, 37, -2, 2.0, "10"])
def test_base_outside_2_to_36_is_refused(base: object) -> None:
    with pytest.raises(AlgaError, match="2 to 36"):
        numbers.digits_of(base)  # type: ignore[arg-type]


def test_offset_counts_what_came_before() -> None:
    with pytest.raises(AlgaError, match=r"got 'x' at position 13$"):
        numbers.number("12x", offset=10)
    with pytest.raises(AlgaError, match=r"got '2' at position 2$"):
        numbers.number("12", "01")


@pytest.mark.parametrize(
    ("text", "tidied"),
    [("0050", "50"), ("50", "50"), ("00", "0"), ("", "0"), ("00 r5", "0 r5"), ("0x", "x"), ("07 r0", "7 r0")],
)
def test_leading_zeros_are_dropped(text: str, tidied: str) -> None:
    assert numbers.without_zeros(text) == tidied


def test_single_digit_must_be_one_digit() -> None:
    assert numbers.single_digit("007") == "7"
    assert numbers.single_digit("0") == "0"
    with pytest.raises(AlgaError, match=r"^expected a single digit 0-9, got a number of 1,001 digits$"):
        numbers.single_digit("1" + "0" * 1000)


def test_decimal_context_is_exact_or_refuses() -> None:
    context = numbers.exact("999", "1")
    assert context.prec == 6
    assert str(context.multiply(decimal.Decimal(999), decimal.Decimal(999))) == "998001"
    with pytest.raises(decimal.Inexact):
        context.multiply(decimal.Decimal(999_999), decimal.Decimal(999_999))
    with pytest.raises(decimal.InvalidOperation):
        context.divide(decimal.Decimal(0), decimal.Decimal(0))


@pytest.mark.parametrize("base", [2, 10, 36])
@pytest.mark.parametrize("length", [1, 2, 999, 1000, 1001, 1002, 2001, 4001])
def test_long_numbers_are_read_in_halves(base: int, length: int) -> None:
    text = (numbers.ALPHABET[base - 1] + "01") * length
    value = 0
    for char in text[:length]:
        value = value * base + numbers.ALPHABET.index(char)
    assert numbers.value_of(text[:length], base) == value
    assert numbers.text_of(value, base) == text[:length]


@pytest.mark.parametrize("value", [0, 1, 9, 10, 99, 100, 9_999, 10_000])
def test_powers_of_the_base_are_written(value: int) -> None:
    assert numbers.text_of(value, 10) == str(value)
