"""Slow: long multiplication and division as on paper, and the network at work as a tab."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import damage_weight, until

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def rows(page: Page, kind: str) -> list[str]:
    """Return the rows of one kind, with their place: columns from the right that are empty are dots."""
    return page.evaluate(
        """kind => {
          const cells = [...document.querySelectorAll("#long span")];
          const width = getComputedStyle($("long")).gridTemplateColumns.split(" ").length;
          const rows = Array.from({ length: cells.length / width }, (_, i) => cells.slice(i * width, (i + 1) * width));
          return rows.filter((row) => row[0].className.split(" ")[0] === kind)
            .map((row) => row.map((cell) => cell.textContent || ".").join("").replace(/^\\.+/, ""));
        }""",
        kind,
    )


def played(page: Page, answer: str) -> None:
    """Wait for the answer, and for the last step, which may arrive later."""
    expect(page.locator("#answer")).to_have_text(answer)
    until(page, "state.result.traced !== undefined")


@pytest.mark.parametrize(("a", "b"), [(345, 668), (37, 48), (12, 3045), (999, 99)])
def test_product_is_written_as_on_paper(page: Page, address: str, a: int, b: int) -> None:
    page.goto(f"{address}#op=mul&a={a}&b={b}&step=999")
    played(page, str(a * b))
    top, bottom = (a, b) if len(str(a)) >= len(str(b)) else (b, a)
    expected = [f"{top * int(digit)}{'.' * k}" for k, digit in enumerate(reversed(str(bottom)))]
    assert rows(page, "partial") == expected
    assert rows(page, "answer") == [str(a * b)]
    assert rows(page, "first") == [str(top)]


def test_product_grows_from_the_right(page: Page, address: str) -> None:
    page.goto(f"{address}#op=mul&a=37&b=48&step=0")
    played(page, "1776")
    seen = []
    for step in range(8):
        page.evaluate(f"goTo({step})")
        seen.append((rows(page, "partial"), rows(page, "answer")))
    assert seen[0] == (["", ""], [""])
    assert seen[1] == (["6", ""], [""])
    assert seen[2] == (["296", ""], ["6"])
    assert seen[4] == (["296", "148."], ["6"])
    assert seen[5] == (["296", "148."], ["76"])
    assert seen[7] == (["296", "148."], ["1776"])


@pytest.mark.parametrize(("a", "b"), [(98765, 37), (1776, 37), (100000, 25), (40008, 13), (12, 345), (99, 11)])
def test_quotient_and_rests_are_written_as_on_paper(page: Page, address: str, a: int, b: int) -> None:
    page.goto(f"{address}#op=divmod&a={a}&b={b}&step=9999")
    played(page, f"{a // b} remainder {a % b}")
    if a < b:  # no step is taken
        return
    quotient = rows(page, "quotient")[0].replace(".", "")
    assert int(quotient) == a // b
    multiples = [int(digit) * b for digit in str(a // b) if digit != "0"]
    assert [int(row.strip("−.")) for row in rows(page, "multiple")] == multiples
    assert int(rows(page, "rest")[-1].strip(".")) == a % b or str(a // b).endswith("0")


def test_quotient_grows_from_the_left(page: Page, address: str) -> None:
    page.goto(f"{address}#op=divmod&a=98765&b=37&step=0")
    played(page, "2669 remainder 12")
    seen = []
    for step in range(64):
        page.evaluate(f"goTo({step})")
        seen.append(rows(page, "quotient")[0].replace(".", ""))
    assert list(dict.fromkeys(seen)) == ["", "2", "26", "266", "2669"]


def test_network_at_work_is_a_tab(page: Page, address: str) -> None:
    page.goto(f"{address}#op=mul&a=37&b=48&step=3")
    expect(page.locator("#long")).to_be_visible()
    expect(page.locator("#sheet")).to_be_hidden()
    page.locator("#tab-long").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-work"
    expect(page.locator("#tab-work")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#sheet")).to_be_visible()
    expect(page.locator("#long")).to_be_hidden()
    expect(page.locator("#note")).to_contain_text("Part 2 of 3: 37×4")
    expect(page.locator("#live")).to_contain_text("Step 3 of 7")  # the arrow changed the tab, not the step
    page.select_option("#operation", "add")
    expect(page.locator("#paper-tabs")).to_be_hidden()
    expect(page.locator("#sheet")).to_be_visible()


def test_wrong_digits_of_a_damaged_network_are_marked(page: Page, address: str) -> None:
    page.goto(f"{address}#op=mul&a=37&b=48&step=99")
    expect(page.locator("#badge")).to_contain_text("✓")
    page.evaluate("goTo(1)")
    expect(page.locator("#badge")).to_contain_text("✓ times-a-digit")
    damage_weight(page, 2)
    expect(page.locator("#answer")).to_have_text("1786")
    page.evaluate("goTo(99)")
    assert rows(page, "answer") == ["1786"]
    expect(page.locator("#long .bad").first).to_be_visible()
    assert rows(page, "partial") != ["296", "148."]
