"""Layouts: operands to columns and back; impossible columns are refused with their position."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from alga.base.errors import AlgaError
from alga.tasks.layouts import DigitBelow, Digits, Layout, Rows, Text, short


class Pairs(Layout):
    """Two characters per column, from the left."""

    from_right = False

    def first(self, setting: str) -> Sequence[str]:
        return ["ab", "ba"]

    def following(self, setting: str) -> Sequence[str]:
        return ["aa", "ab"]

    def split(self, *operands: str) -> list[str]:
        return [operands[0][i : i + 2] for i in range(0, len(operands[0]), 2)]

    def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
        return ("".join(columns),)


def test_plain_layout_makes_no_promises_to_engines() -> None:
    layout = Pairs()
    assert (layout.arity, layout.base, layout.fill, layout.symbols) == (1, 10, "", "")
    assert (layout.by_rows, layout.repeats, layout.plain, layout.from_right) == (False, False, False, False)
    assert layout.settings() == ("",)
    assert layout.rows("ab") is None
    assert Layout.from_right is True


def test_number_layouts_state_their_promises_to_engines() -> None:
    assert [(kind.by_rows, kind.repeats, kind.plain) for kind in (Digits, DigitBelow, Text)] == [
        (True, False, True), (True, True, False), (True, False, False),
    ]  # fmt: skip
    assert (Digits().from_right, DigitBelow().from_right, Text("ab").from_right) == (True, True, False)
    assert (Digits().base, DigitBelow().base, Digits(base=7).base, DigitBelow(base=7).base) == (10, 10, 7, 7)
    assert (Digits().arity, Digits(3).arity, DigitBelow().arity, Text("a").arity) == (1, 3, 2, 1)


def test_overridden_rows_are_not_plain() -> None:
    class Other(Digits):
        def rows(self, *operands: str) -> tuple[str, ...]:
            return operands

    class Same(Digits):
        plain = True

        def rows(self, *operands: str) -> tuple[str, ...]:
            return operands

    assert (Other.plain, Same.plain, Digits.plain) == (False, True, True)
    with pytest.raises(TypeError, match=r"^Cut makes columns of its own: it must be a Layout, not Rows$"):
        type("Cut", (Rows,), {"split": lambda self, *operands: []})
    for name in ("columns", "admits", "refusal"):
        with pytest.raises(TypeError, match=f"^Loose must not change {name}$"):
            type("Loose", (Layout,), {name: None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bbaa", "pairs: 'bb' cannot be the first column (column 1 of 2, from the left)"),
        ("abaaba", "pairs: 'ba' cannot be a later column (column 3 of 3, from the left)"),
        ("", "pairs: a problem needs at least one column, got none"),
    ],
)
def test_impossible_column_is_refused_with_its_position(text: str, message: str) -> None:
    with pytest.raises(AlgaError) as refused:
        Pairs().columns([text], "pairs")
    assert str(refused.value) == message


def test_number_of_operands_is_checked() -> None:
    with pytest.raises(AlgaError, match=r"^pairs takes 1 operand, got 2$"):
        Pairs().columns(["ab", "ab"], "pairs")
    with pytest.raises(AlgaError, match=r"^sum takes 2 operands, got 1$"):
        Digits(2).columns(["1"], "sum")


def test_later_columns_belong_to_one_setting() -> None:
    below = DigitBelow()
    assert below.admits("73", {"03", "93"})
    assert not below.admits("73", {"04"})
    assert str(below.refusal(["73", "03", "94"], "times")).startswith("times: '94' cannot be a later column (column 3")


def test_digits_and_columns_round_trip() -> None:
    for layout in (Digits(2), Digits(2, from_right=False, fill="0")):
        columns = layout.split("907", "215")
        assert layout.operands(columns) == ("907", "215")
    assert Digits(2).operands(["75", "01", "9"]) == ("907", "15")
    assert Digits(2).operands(["7", "01"]) is None
    assert DigitBelow().operands(["73", "03", "93"]) == ("907", "3")
    assert DigitBelow(from_right=False).operands(["93", "03", "73"]) == ("907", "3")
    assert DigitBelow(from_right=False).split("907", "3") == ["93", "03", "73"]
    assert Text("ab", from_right=True).split("aab") == ["b", "a", "a"]


def test_admissible_columns_are_listed() -> None:
    assert Digits(base=3, first="12").first("") == ["1", "2"]
    assert Digits(base=3, first="12").following("") == ["0", "1", "2"]
    assert Digits(2, base=2).following("") == ["00", "01", "10", "11", "0", "1"]
    assert Digits(2, base=2, fill="0").following("") == ["00", "01", "10", "11"]
    assert DigitBelow(base=2, below="1").settings() == "1"
    assert DigitBelow(base=2).settings() == "01"
    assert DigitBelow(base=3).first("2") == DigitBelow(base=3).following("2") == ["02", "12", "22"]


def test_long_text_is_truncated_in_messages() -> None:
    assert short("a" * 38) == repr("a" * 38)
    assert short("a" * 39) == f"'{'a' * 39}…"
