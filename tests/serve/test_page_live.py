"""Slow: the section in which the browser runs a network itself, served and as a single file."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def part(page: Page, name: str) -> Locator:
    return page.locator(f'#run-here [data-part="{name}"]')


def opened(page: Page, place: str) -> None:
    page.goto(place)
    page.locator("#run-here").scroll_into_view_if_needed()
    expect(part(page, "answer")).to_contain_text("It reads 15C77 and writes 15S: right")


def test_every_prompt_is_checked_in_a_worker(page: Page, place: str) -> None:
    opened(page, place)
    expect(part(page, "status")).to_have_text("Not checked yet.")
    expect(part(page, "check")).to_have_text("Check all 2,300 now")
    part(page, "check").click()
    expect(part(page, "status")).to_contain_text("Checked in this browser: all 2,300 answers are right")
    expect(part(page, "status")).to_contain_text("The closest lead is 14.11, at 3C9.")
    expect(page.locator("#run-here canvas")).to_have_attribute("data-right", "2300")
    text = page.locator("#run-here").inner_text()
    assert "certified" not in text.lower()
    assert "it is not the certificate" in text


def test_page_is_usable_while_it_checks(page: Page, place: str) -> None:
    opened(page, place)
    turns = page.evaluate(
        """async () => {
          let turns = 0, done = false;
          live.sections.run.check().then(() => { done = true; });
          for (; !done; turns++) await new Promise((resolve) => setTimeout(resolve));
          return turns;
        }"""
    )
    assert turns > 20  # of the page's own event loop, while the worker checks
    assert page.workers


def test_changed_weight_is_seen_at_once_and_put_back(page: Page, place: str) -> None:
    opened(page, place)
    part(page, "network").select_option("smallest")
    expect(part(page, "check")).to_have_text("Check all 2,100 now")
    part(page, "check").click()
    expect(part(page, "status")).to_contain_text("all 2,100 answers are right")
    part(page, "tensor").select_option("layers.0.feed_forward.0.bias")
    part(page, "index").fill("1")
    part(page, "index").dispatch_event("change")
    before = part(page, "value-shown").inner_text()
    part(page, "value").fill(part(page, "value").get_attribute("min") or "")
    expect(page.locator("#run-here")).to_have_attribute("data-checked", "no")  # the old verdict is gone at once
    assert "are right" not in part(page, "status").inner_text()
    expect(part(page, "status")).to_have_text(
        re.compile(r"^Checked in this browser with 1 weight changed: [\d,]+ of 2,100 answers are wrong")
    )
    assert int(page.locator("#run-here canvas").get_attribute("data-wrong") or 0) > 100
    expect(part(page, "changed")).to_contain_text(f"this one was {before}")
    part(page, "reset").click()
    expect(part(page, "status")).to_contain_text("Checked in this browser: all 2,100 answers are right")
    expect(part(page, "value-shown")).to_have_text(before)
    expect(part(page, "changed")).to_have_text("All weights are as they ship.")


def test_verdict_of_an_earlier_change_is_never_shown(page: Page, address: str) -> None:
    opened(page, address)
    part(page, "network").select_option("smallest")
    expect(part(page, "check")).to_have_text("Check all 2,100 now")
    told = page.evaluate(
        """async () => {
          const { run } = live.sections, status = document.querySelector('#run-here [data-part="status"]');
          const earlier = run.check();
          run.setWeight("token_embedding.weight", 10, 99);
          await earlier;
          return status.textContent;
        }"""
    )
    assert "are right" not in told
    expect(part(page, "status")).to_contain_text("with 1 weight changed")


def test_every_activation_can_be_shown(page: Page, place: str) -> None:
    opened(page, place)
    expect(part(page, "picture").locator("svg")).to_have_count(2)  # attention of two heads
    names = part(page, "hook").locator("option").evaluate_all("options => options.map((each) => each.value)")
    assert len(names) == 2 + 2 * 15 + 2
    for name in names:
        part(page, "hook").select_option(name)
        expect(part(page, "picture")).to_have_attribute("data-hook", name)
        assert part(page, "picture").locator("rect").count() >= 8 * 14
    part(page, "prompt").fill("15X77")
    expect(part(page, "answer")).to_contain_text("Expected a question of 1 to 5 of the tokens")
    expect(part(page, "picture").locator("svg")).to_have_count(0)
    part(page, "prompt").fill("99")
    expect(part(page, "answer")).to_contain_text("It reads 99 and writes 18S: right")
    part(page, "prompt").fill("C0C")
    expect(part(page, "answer")).to_contain_text("no step of a problem asks this")


def test_cell_opens_its_prompt(page: Page, place: str) -> None:
    opened(page, place)
    spot = page.evaluate(
        """() => {
          const box = document.querySelector('#run-here canvas').getBoundingClientRect();
          return { x: box.width / 2, y: box.height - 3 };
        }"""
    )
    page.locator("#run-here canvas").click(position=spot)
    expect(part(page, "prompt")).to_have_value(re.compile("^19C"))
    expect(part(page, "answer")).to_contain_text("It reads 19C")


@pytest.mark.parametrize("width", [320, 390, 1280, 2560])
def test_live_sections_fit_any_screen(width: int, page: Page, address: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, address)
    for name in ("blocks.0.mlp.hook_post", "unembed.hook_out", "embed.hook_out"):
        part(page, "hook").select_option(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
