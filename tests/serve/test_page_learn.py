"""Slow: recorded trainings on the page: the scrubber, the grid, the loss."""

from __future__ import annotations

import base64
import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from alga.serve.single import PAGE
from tests.browsing import WATCH, drawn, shifts, until

LEARNED = json.loads((PAGE / "learned.json").read_text())["runs"]
BROWSER = [pytest.mark.slow, pytest.mark.alone]


def part(page: Page, name: str) -> Locator:
    return page.locator(f'#learn [data-part="{name}"]')


def right(run: dict[str, list[str]], frame: int) -> int:
    return int.from_bytes(base64.b64decode(run["right"][frame]), "little").bit_count()


def test_recorded_trainings_end_with_every_prompt_right() -> None:
    assert (PAGE / "learned.json").stat().st_size < 150_000
    assert [run["title"] for run in LEARNED] == ["fast: 102,464 numbers", "smallest: 59 numbers"]
    for run in LEARNED:
        prompts = len(run["places"])
        assert len(run["steps"]) == len(run["losses"]) == len(run["right"]) > 20
        assert run["steps"] == sorted(run["steps"])
        assert right(run, 0) < prompts / 10
        assert right(run, -1) == prompts == len(set(run["places"]))


class TestInTheBrowser:
    pytestmark = BROWSER

    def test_scrubber_shows_each_checkpoint(self, page: Page, place: str) -> None:
        page.goto(place)
        page.locator("#learn").scroll_into_view_if_needed()
        expect(part(page, "run").locator("option")).to_have_count(len(LEARNED))
        for number, run in enumerate(LEARNED):
            part(page, "run").select_option(str(number))
            for frame in (0, len(run["steps"]) // 3, len(run["steps"]) - 1):
                part(page, "position").fill(str(frame))
                expect(page.locator("#learn")).to_have_attribute("data-step", str(run["steps"][frame]))
                expect(page.locator("#learn canvas")).to_have_attribute("data-right", str(right(run, frame)))
            expect(part(page, "told")).to_contain_text(f"all {len(run['places']):,} questions right")
            expect(part(page, "course").locator("path")).to_have_count(2)

    def test_prompts_of_the_grid_are_those_of_the_network(self, page: Page, address: str) -> None:
        page.goto(address)
        page.locator("#learn").scroll_into_view_if_needed()
        expect(part(page, "told")).to_contain_text("Step 0")
        same = page.evaluate(
            """async () => {
              const { prompts } = await live.network("addition");
              return JSON.stringify(prompts) === JSON.stringify(live.sections.learn.course.prompts);
            }"""
        )
        assert same

    @pytest.mark.parametrize("size", [(1280, 720), (390, 844), (320, 568)])
    def test_nothing_shifts_while_a_training_plays(self, page: Page, address: str, size: tuple[int, int]) -> None:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        page.evaluate("document.documentElement.classList.remove('smooth'), $('learn').scrollIntoView()")
        expect(part(page, "told")).to_contain_text("Step 0")
        for number, run in enumerate(LEARNED):
            part(page, "run").select_option(str(number))
            expect(page.locator("#learn canvas")).to_have_attribute("data-cells", str(len(run["places"])))
            drawn(page)
            page.evaluate(WATCH)
            part(page, "play").evaluate("button => button.click()")  # no movement of the mouse
            until(page, f"$('learn').dataset.step === '{run['steps'][-1]}'")
            expect(part(page, "play")).to_have_text("Play")
            assert shifts(page) == []

    def test_training_plays_to_its_end(self, page: Page, place: str) -> None:
        page.goto(place)
        page.locator("#learn").scroll_into_view_if_needed()
        expect(part(page, "told")).to_contain_text("Step 0")
        height = page.locator("#learn").bounding_box()
        part(page, "play").click()
        expect(part(page, "play")).to_have_text("Pause")
        expect(part(page, "told")).to_contain_text(f"Step {LEARNED[0]['steps'][-1]:,}: all 2,300 questions right")
        expect(part(page, "play")).to_have_text("Play")
        after = page.locator("#learn").bounding_box()
        assert height is not None
        assert after is not None
        assert after["height"] == pytest.approx(height["height"], abs=30)
        expect(part(page, "end")).to_have_text(re.compile("The trainer certified the network at the end"))
