"""Slow: a page whose server fails says so in one line, and works as far as it can."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browsing import damage_weight, fill

pytestmark = [pytest.mark.slow, pytest.mark.alone]

FAILURES: dict[str, tuple[Callable[[Route], None], str]] = {
    "500": (
        lambda route: route.fulfill(status=500, json={"error": "something broke here"}),
        "something broke here",
    ),
    "no JSON": (lambda route: route.fulfill(status=502, body="<html>"), "the server answers with status 502"),
    "down": (lambda route: route.abort(), "the server does not answer"),
}
NOTICED = re.compile("Failed to load resource")  # the browser's own lines about these requests


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.faults(NOTICED.pattern)
def test_failed_list_of_networks_is_told_in_a_line_and_the_rest_works(page: Page, address: str, failure: str) -> None:
    fails, reason = FAILURES[failure]
    page.route("**/v1/models", fails)
    page.goto(address)
    line = page.locator("#outage")
    expect(line).to_have_text(
        f"The list of networks did not load: {reason}. Until it does, each operation has its usual network only. "
        "Try again"
    )
    expect(line).to_have_attribute("role", "alert")
    box = line.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 200, "it is not on the first screen"
    expect(page.locator("#answer")).to_have_text("74550")
    expect(page.locator("#story")).to_have_attribute("data-shown", "0")
    expect(page.locator("#badge")).to_have_text("✓ addition: proven on all 2,300 questions")
    page.goto(f"{address}#tour-asked")
    expect(page.locator("#story")).to_have_attribute("data-shown", "4")
    fill(page, "999", "1")
    expect(page.locator("#answer")).to_have_text("1000")
    damage_weight(page, 8)
    expect(page.locator("#badge")).to_contain_text("✗")
    page.click("#telling")
    expect(page.locator("#verdict .bad")).to_have_count(1)
    page.locator("#run-here").scroll_into_view_if_needed()
    expect(page.locator("#live-network option")).to_have_text(["addition", "smallest"])
    expect(page.locator("#compared td.bad")).to_have_count(0)
    expect(page.locator("#model option")).to_have_text(["as shipped"])


@pytest.mark.faults(NOTICED.pattern)
def test_list_of_networks_is_asked_for_again(page: Page, address: str) -> None:
    fails = FAILURES["500"][0]
    page.route("**/v1/models", fails)
    page.goto(f"{address}#op=add&a=ff&b=1&model=addition-base-16")
    again = page.locator("#outage button")
    expect(page.locator("#problem-error")).to_contain_text("digits 0-9")
    again.click()
    expect(page.locator("#outage")).to_contain_text("something broke here")
    expect(again).to_be_focused()
    page.unroute("**/v1/models", fails)
    again.click()
    expect(page.locator("#outage")).to_be_hidden()
    expect(page.locator("#answer")).to_have_text("100")
    expect(page.locator("#model")).to_have_value("addition-base-16")


@pytest.mark.faults(NOTICED.pattern)
def test_page_without_any_server_says_so_and_resumes(page: Page, address: str) -> None:
    def down(route: Route) -> None:
        route.abort()

    page.route("**/v1/**", down)
    page.goto(address)
    expect(page.locator("#outage")).to_contain_text("The list of networks did not load: the server does not answer.")
    expect(page.locator("#problem-error")).to_have_text("The server does not answer.")
    expect(page.locator("#stage-says")).to_have_text("The server does not answer. Press play to try again.")
    expect(page.locator("#claim-asked")).to_have_text("")
    page.locator("#train-here").scroll_into_view_if_needed()
    page.locator('#train-here [data-part="start"]').click()  # needs no server
    expect(page.locator('#train-here [data-part="status"]')).to_contain_text("checked in this browser", timeout=90_000)
    page.unroute("**/v1/**", down)
    page.locator("#outage button").click()
    expect(page.locator("#outage")).to_be_hidden()
    expect(page.locator("#answer")).to_have_text("74550")
    expect(page.locator("#story")).to_have_attribute("data-shown", re.compile(r"\d"))
    expect(page.locator("#claim-asked")).to_have_text("We asked all of them.")
