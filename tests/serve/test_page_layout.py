"""Slow: how the page is laid out: nothing shifts while it plays, it fits every width, axe-core finds nothing."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import WATCH, damage_weight, drawn, shifts, until
from tests.conftest import skip_or_fail

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def test_measure_notices_a_shift(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.evaluate(WATCH)
    page.evaluate("$('story').before(Object.assign(document.createElement('p'), { textContent: 'pushes all down' }))")
    until(page, "shifts.length > 0")


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_nothing_shifts_while_the_first_sum_runs(page: Page, place: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(place)
    expect(page.locator("#story")).to_have_attribute("data-shown", "0")
    page.evaluate(WATCH)
    until(page, f"stage.steps > {page.evaluate('stage.steps')} + 20")
    assert shifts(page) == []


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
@pytest.mark.parametrize("problem", ["op=add&a=65785&b=99218765", "op=mul&a=345&b=668", "op=divmod&a=98765&b=37"])
def test_nothing_shifts_while_a_problem_is_played(
    page: Page, address: str, size: tuple[int, int], problem: str
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{address}#{problem}&step=1")
    page.wait_for_selector("body[data-ready]")
    page.evaluate("document.documentElement.classList.remove('smooth')")
    page.wait_for_selector("#attention svg")
    for tab in ("long", "work"):
        for part in ("paper", "inside"):
            if page.locator(f"#tab-{tab}").is_visible():
                page.evaluate(f"$('tab-{tab}').click()")
            page.evaluate(f"$('{part}').scrollIntoView()")
            page.evaluate("pause(), goTo(1)")
            until(page, "!state.fetching && $('inside').dataset.prompt === state.result.step.prompt")
            drawn(page)
            page.evaluate(WATCH)
            page.locator("#speed").evaluate("slider => { slider.value = 5; }")
            page.evaluate("play()")
            expect(page.locator("#play")).to_have_text("Play")
            assert shifts(page) == []


@pytest.mark.parametrize("width", [320, 480, 768, 1024, 1280, 1920, 2560])
def test_page_fits_every_width(page: Page, place: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 720})
    page.goto(f"{place}#tour-carry")
    expect(page.locator("#story")).to_have_attribute("data-shown", "2")
    expect(page.locator("#attention svg")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = """() => [...document.querySelectorAll("h1, h2, h3, p, canvas, button, a, dl, svg, input, select, kbd")]
      .filter((element) => element.checkVisibility() && !element.closest(".skip, .quiet, [hidden], .means"))
      .filter((element) => !element.closest(".records-frame, .parts")) // which scroll by themselves
      .map((element) => [element, element.getBoundingClientRect()])
      .filter(([, box]) => box.right > innerWidth + 1 || box.left < -1)
      .map(([element]) => element.id || element.textContent.slice(0, 30))"""
    assert page.evaluate(beyond) == []


CLIPPED = """() => ["#stage-sheet", "#stage-says", "#counter dt", "#counter dd", "#anatomy", "#badge"]
  .flatMap((name) => [...document.querySelectorAll(name)])
  .filter((element) => element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1)
  .map((element) => [element.id || element.tagName, element.textContent])"""


@pytest.mark.parametrize(
    "size", [(320, 568), (390, 664), (390, 844), (640, 360), (768, 1024), (1024, 600), (2560, 1300)]
)
def test_each_chapter_is_read_beside_its_effect(page: Page, place: str, size: tuple[int, int]) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(place)
    expect(page.locator("#story")).to_have_attribute("data-shown", "0")
    assert page.evaluate(CLIPPED) == []
    for chapter in range(1, 7):
        page.evaluate(f"goToChapter({chapter})")
        expect(page.locator("#story")).to_have_attribute("data-shown", str(chapter))
        assert page.evaluate(CLIPPED) == []
        if size[1] < 500:
            continue  # on its side, a phone has no room for both
        for part in (f".chapter[data-chapter='{chapter}'] h2", "#stage-sheet", "#stage-grid", "#counter"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["y"] >= 0, part
            assert box["y"] + box["height"] <= size[1], part


def axe(page: Page) -> list[str]:
    """Return what axe-core complains about."""
    spec = find_spec("axe_playwright_python")
    if spec is None or not spec.submodule_search_locations:
        skip_or_fail("axe", "NOT TESTED: axe-core is not installed (pip install axe-playwright-python)")
    script = Path(spec.submodule_search_locations[0]) / "axe.min.js"
    page.evaluate(script.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [f"{each['id']}: {node['html'][:120]}" for each in found["violations"] for node in each["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(page: Page, place: str, theme: str, width: int) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(place)
    expect(page.locator("#story")).to_have_attribute("data-shown", "0")
    expect(page.locator("#attention svg")).to_have_count(4)
    for section in ("flow", "run-here", "smallest", "learn", "train-here"):  # filled when they are near
        page.locator(f"#{section}").scroll_into_view_if_needed()
        expect(page.locator(f"#{section} :is(svg, canvas)").first).to_be_attached()
    assert axe(page) == []
    page.evaluate("goToChapter(5)")
    expect(page.locator("#story")).to_have_attribute("data-shown", "5")
    for details in page.locator("details").all():
        details.evaluate("element => { element.open = true; }")
    damage_weight(page, 4)
    expect(page.locator("#badge")).to_contain_text("✗")
    assert axe(page) == []
    if not place.startswith("file"):
        page.goto(f"{place}#op=divmod&a=98765&b=37&step=20")
        expect(page.locator("#long")).to_contain_text("98765")
        assert axe(page) == []


def test_axe_notices_a_fault(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.evaluate("$('stage').prepend(document.createElement('button'))")
    assert any(found.startswith("button-name") for found in axe(page))
