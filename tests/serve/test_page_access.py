"""Slow: accessibility of the page: labelled controls, stable focus, sufficient contrast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import choose_network, damage_weight, fill

pytestmark = [pytest.mark.slow, pytest.mark.alone]

CONTRASTS = (Path(__file__).parent / "contrasts.js").read_text()


def test_nothing_can_be_played_after_an_error(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#live")).to_contain_text("Step 1 of 5")
    fill(page, "12x", "30")
    expect(page.locator("#problem-error")).not_to_be_empty()
    expect(page.locator("#position")).to_be_disabled()
    for button in ("#play", "#step", "#back"):
        expect(page.locator(button)).to_be_disabled()
        page.locator(button).dispatch_event("click")
    page.locator("h1").click()
    page.keyboard.press("Space")
    expect(page.locator("#play")).to_have_text("Play")
    expect(page.locator("#live")).to_be_empty()
    fill(page, "12", "30")
    expect(page.locator("#live")).to_contain_text("Step 1 of 2")
    expect(page.locator("#play")).to_be_enabled()


def test_slider_and_text_show_the_same_step_at_any_speed(page: Page, place: str) -> None:
    page.goto(f"{place}#op=add&a={'7' * 90}&b={'8' * 90}&step=0")
    expect(page.locator("#position")).to_have_attribute("max", "90")
    page.locator("#speed").fill("6")
    page.click("#play")
    seen = page.evaluate(
        """async () => {
          const seen = [];
          while (state.playing) {
            await new Promise(requestAnimationFrame);
            const here = document.querySelector("#steps .here span:nth-child(2)")?.textContent;
            seen.push([$("position").value, $("live").textContent, $("live").ariaLive, $("grid").dataset.used, here]);
          }
          return seen;
        }"""
    )
    assert len({position for position, *_ in seen}) > 5
    for position, text, _, used, here in seen:
        assert text.startswith(f"Step {position} of 90: " if position != "0" else "Nothing done yet")
        if position != "0":
            assert f"reads {here} and" in text
            assert used == here
    assert {live for position, _, live, *_ in seen if 0 < int(position) < 90} == {"off"}, "too fast to be read out"
    expect(page.locator("#live")).to_have_attribute("aria-live", "polite")
    expect(page.locator("#live")).to_contain_text("Step 90 of 90")
    expect(page.locator("#inside-title")).to_have_text("Inside step 90")


def test_longest_carry_is_offered_only_if_there_are_carries(page: Page, address: str) -> None:
    page.goto(address)
    button = page.locator("#longest")
    for operation, carries in (("mul", False), ("sub", True), ("divmod", False), ("cmp", False), ("add", True)):
        page.select_option("#operation", operation)
        expect(button).to_be_visible(visible=carries)
    button.click()
    expect(page.locator("#answer")).to_have_text("1" + "0" * 12)


def test_bases_are_labelled(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("label[for=a]")).to_have_text("First number")
    expect(page.locator("#figures")).to_contain_text("addition, base 10:")
    expect(page.locator("#model optgroup")).to_have_count(4)
    labels = page.locator("#model optgroup").evaluate_all("groups => groups.map((group) => group.label)")
    assert labels == ["base 2", "base 8", "base 10", "base 16"]
    choose_network(page, "addition-base-16")
    expect(page.locator("label[for=a]")).to_have_text("First number, base 16")
    expect(page.locator("label[for=b]")).to_have_text("Second number, base 16")
    expect(page.locator("#a")).to_have_attribute("inputmode", "text")
    fill(page, "FF", "1")
    expect(page.locator("#answer")).to_have_text("100")
    expect(page.locator("#result small")).to_contain_text("base 16")
    expect(page.locator("#figures")).to_contain_text("addition-base-16, base 16:")


def focused(page: Page) -> Any:
    return page.evaluate("[document.activeElement.id, document.activeElement.textContent]")


def test_focus_stays_on_the_chosen_step(page: Page, place: str) -> None:
    page.goto(place)
    page.locator("#steps button").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#live")).to_contain_text("Step 3 of 5")
    assert "15C77" in focused(page)[1]
    page.keyboard.press("ArrowRight")
    expect(page.locator("#live")).to_contain_text("Step 4 of 5")
    assert "15C58" in focused(page)[1]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#live")).to_contain_text("Step 5 of 5")
    assert "14C6" in focused(page)[1]


def test_focus_stays_at_either_end_and_after_healing(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#live")).to_contain_text("Step 1 of 5")
    for button, end in (("step", "Step 5 of 5"), ("back", "Nothing done yet")):
        page.locator(f"#{button}").focus()
        for _ in range(8):
            page.keyboard.press("Enter")
        expect(page.locator("#live")).to_contain_text(end)
        expect(page.locator(f"#{button}")).to_be_disabled()
        assert focused(page)[0] == button
    expect(page.locator("#badge")).to_contain_text("✓ addition: ")
    damage_weight(page, 4)
    expect(page.locator("#badge")).to_contain_text("✗")
    page.locator("#heal").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#badge")).to_contain_text("✓ addition: ")
    assert focused(page)[0] == "heal"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_enough_contrast(page: Page, address: str, theme: str) -> None:
    """4.5 to 1 for all text, in the browser's computed colours; disabled controls are exempt."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    parts: set[str] = set()
    poor = []

    def look() -> None:
        for ratio, where, text in page.evaluate(CONTRASTS):
            parts.add(where)
            if ratio < 4.5:
                poor.append(f"{ratio:.2f} to 1: {text!r} in {where}")

    page.goto(f"{address}#op=mul&a=37&b=48&step=3")
    expect(page.locator("#attention svg")).to_have_count(4)
    look()
    page.goto(f"{address}#op=add&a=0&b=4")
    expect(page.locator("#badge")).to_contain_text("✓ addition: ")
    page.locator("#step").hover()
    damage_weight(page, 4)
    expect(page.locator("#probabilities caption .bad")).to_have_count(1)
    look()
    fill(page, "12x", "30")
    expect(page.locator("#problem-error")).not_to_be_empty()
    look()
    assert {"#problem-error", "#verdict", "#steps", "#sheet", "#badge", "#words", "#tokens", "#attention"} <= parts
    assert poor == []


def test_accessible_names_of_buttons_match_their_labels(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#steps button")).to_have_count(5)
    name = page.locator("#steps").aria_snapshot()
    for part in ("1ª) 55 → 10S", "5ª) 14C6 → 7S"):
        assert part in name
    for button in page.locator("button[aria-label]").all():
        written = button.inner_text()
        assert written in "◀▶" or written in str(button.get_attribute("aria-label"))


@pytest.mark.parametrize("width", [1200, 700, 390])
@pytest.mark.parametrize(
    ("problem", "cells"), [("op=add&model=arithmetic", 9010), ("op=mul&a=f&b=2&model=times-a-digit-base-16", 30992)]
)
def test_grid_is_never_clipped(page: Page, address: str, width: int, problem: str, cells: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}#{problem}")
    grid = page.locator("#grid")
    expect(grid).to_have_attribute("data-cells", str(cells))
    frame = page.locator("#mind-frame").bounding_box()
    canvas = grid.bounding_box()
    assert frame is not None
    assert canvas is not None
    assert canvas["width"] <= frame["width"]
    edge = page.evaluate("Math.max(...mind.domain.cells.map((cell) => mind.corner(cell)[0])) + mind.wide")
    assert edge <= canvas["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
