"""Slow: the page in a real browser, served and as a single file, by mouse and keyboard."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import choose_network, damage_weight, fill

pytestmark = [pytest.mark.slow, pytest.mark.alone]

STEPS = [("55", "10S"), ("10C86", "15S"), ("15C77", "15S"), ("15C58", "14S"), ("14C6", "7S")]


def test_the_first_answer_is_there_within_a_second(page: Page, place: str) -> None:
    page.goto(place)  # warm-up: the browser's own start
    expect(page.locator("#answer")).to_have_text("74550")
    tries: list[float] = []
    while len(tries) < 10 and min(tries, default=1) >= 1:  # the best of several: other work shares the machine
        page.goto("about:blank")
        began = time.monotonic()
        page.goto(place, wait_until="commit")
        page.wait_for_selector("#stage-sheet .sum")
        page.wait_for_selector("#answer")
        tries.append(time.monotonic() - began)
    print(f"first sum and answer after {min(tries):.2f} to {max(tries):.2f} s")  # noqa: T201
    assert min(tries) < 1


def test_papers_example_is_shown_step_by_step(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#answer")).to_have_text("74550")
    for i, (prompt, text) in enumerate(STEPS, start=1):
        expect(page.locator("#steps .here")).to_contain_text(f"{i}ª){prompt}→{text}")
        expect(page.locator("#live")).to_contain_text(f"reads {prompt} and writes {text}")
        expect(page.locator("#inside")).to_have_attribute("data-prompt", prompt)
        expect(page.locator("#probabilities table")).to_have_count(len(text))
        expect(page.locator("#attention svg")).to_have_count(4)
        expect(page.locator("#grid")).to_have_attribute("data-used", prompt)
        if i < len(STEPS):
            page.click("#step")
    assert page.locator("#sheet .carry").all_inner_texts() == ["", "", "1", "1", "1", "1", "", "", ""]
    assert "".join(page.locator("#sheet .sum").all_inner_texts()) == "74550"
    page.click("#back")
    expect(page.locator("#steps .here")).to_contain_text("15C58")
    page.locator("#position").fill("0")
    page.locator("#speed").fill("5")
    page.click("#play")
    expect(page.locator("#live")).to_contain_text("Step 5 of 5")


def test_thousands_of_digits_can_be_pasted(page: Page, place: str) -> None:
    page.goto(place)
    a, b = "9" * 5000, "1"
    fill(page, a, b)
    expect(page.locator("#answer")).to_have_text("1" + "0" * 5000)
    expect(page.locator("#position")).to_have_attribute("max", "5000")
    page.locator("#position").fill("2500")
    expect(page.locator("#live")).to_contain_text("Step 2,500 of 5,000")
    expect(page.locator("#sheet")).to_contain_text("more")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_grid_is_complete_and_each_cell_opens(page: Page, place: str) -> None:
    page.goto(place)
    grid = page.locator("#grid")
    expect(grid).to_have_attribute("data-cells", "2300")
    expect(grid).to_have_attribute("data-wrong", "0")
    expect(page.locator("#count")).to_have_text("2,300 questions, none wrong")
    spot = page.evaluate(
        "(() => { const [x, y] = mind.corner(mind.byPrompt.get('19C99')); return { x: x + 3, y: y + 3 }; })()"
    )
    grid.click(position=spot)
    expect(page.locator("#cell")).to_contain_text("the question is 19C99, it writes 19S")
    expect(page.locator("#inside")).to_have_attribute("data-prompt", "19C99")


def test_damaged_network_loses_its_certificate_until_healed(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#badge")).to_have_text("✓ addition: proven on all 2,300 questions")
    expect(page.locator("#index")).to_have_value("393")
    damage_weight(page, 8)
    expect(page.locator("#badge")).to_contain_text("wrong on")
    expect(page.locator("#words")).to_contain_text("Not certified")
    assert int(page.locator("#grid").get_attribute("data-wrong") or 0) > 100
    page.click("#telling")
    expect(page.locator("#verdict .bad")).to_have_count(1)
    expect(page.locator("#verdict")).to_contain_text("would be right")
    expect(page.locator("#steps .bad")).not_to_have_count(0)
    page.click("#heal")
    expect(page.locator("#badge")).to_have_text("✓ addition: proven on all 2,300 questions")
    expect(page.locator("#grid")).to_have_attribute("data-wrong", "0")
    expect(page.locator("#verdict")).to_have_text("")


def test_page_works_by_keyboard_only(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#answer")).to_have_text("74550")

    def tab_to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == name:
                break
        assert page.evaluate("document.activeElement.id") == name
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", f"{name} shows no focus"

    tab_to("a")
    page.keyboard.press("Control+A")
    page.keyboard.type("999")
    tab_to("b")
    page.keyboard.press("Control+A")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_have_text("1000")
    tab_to("play")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#live")).to_contain_text("Step 2 of 3")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#live")).to_contain_text("Step 1 of 3")
    tab_to("grid")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#cell")).to_contain_text("After 0, column 91")
    tab_to("amount")
    page.keyboard.press("End")
    expect(page.locator("#badge")).to_contain_text("wrong on")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_overflows_at_phone_width(page: Page, place: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(place)
    expect(page.locator("#attention svg")).to_have_count(4)
    expect(page.locator("#grid")).to_have_attribute("data-cells", "2300")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    fill(page, "7" * 200, "8" * 199)
    expect(page.locator("#position")).to_have_attribute("max", "200")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_link_restores_the_screen(page: Page, place: str) -> None:
    page.goto(f"{place}#op=add&a=9582&b=9261&step=2")
    expect(page.locator("#answer")).to_have_text("18843")
    expect(page.locator("#steps .here")).to_contain_text("3C86")
    page.click("#step")
    page.click("#link")
    page.goto(re.sub("#.*", "#", page.url).rstrip("#") + page.evaluate("location.hash"))
    page.reload()
    expect(page.locator("#live")).to_contain_text("Step 3 of 4")


def test_other_operations_and_errors_are_shown(page: Page, address: str) -> None:
    page.goto(f"{address}#op=mul&a=37&b=48")
    expect(page.locator("#answer")).to_have_text("1776")
    expect(page.locator("#note")).to_contain_text("Part 1 of 3: 37×8")
    page.locator("#position").fill("7")
    expect(page.locator("#note")).to_contain_text("Part 3 of 3: 29+148")
    expect(page.locator("#sheet")).to_contain_text("1")
    page.select_option("#operation", "divmod")
    expect(page.locator("#answer")).to_have_text("0 remainder 37")
    page.select_option("#operation", "add")
    choose_network(page, "addition-base-16")
    fill(page, "ff", "1")
    expect(page.locator("#answer")).to_have_text("100")
    expect(page.locator("#grid")).to_have_attribute("data-cells", "8960")
    fill(page, "ff", "xyz")
    expect(page.locator("#problem-error")).to_contain_text("a number has only the digits", ignore_case=True)
