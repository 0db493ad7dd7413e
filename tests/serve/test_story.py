"""Slow: the page's first screen and its tour: claim, running sum, grid and counter, and the six chapters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from alga.serve import single
from alga.solve.solver import Solver
from tests.browsing import until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

CHAPTERS = ["tour-column", "tour-carry", "tour-questions", "tour-asked", "tour-break", "tour-small"]
READS = ["55", "15C77", "14C6", "14C6", "14C6", "14C60"]


def counter(page: Page) -> dict[str, str]:
    """Return the three numbers of the counter by their names."""
    return dict(
        page.locator("#counter div").evaluate_all(
            "divs => divs.map((div) => [div.querySelector('dt').textContent, div.querySelector('dd').textContent])"
        )
    )


def shown(page: Page, chapter: int) -> None:
    """Wait for a chapter's state on the stage."""
    expect(page.locator("#story")).to_have_attribute("data-shown", str(chapter))


def test_first_screen_has_claim_moving_sum_grid_and_counter(page: Page, place: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(place)
    expect(page.locator("#claim")).to_have_text(
        re.compile(r"Any two numbers, however long, only ever pose 2,300 questions\.\s+We asked all of them\.")
    )
    expect(page.locator("#stage-grid")).to_have_attribute("data-cells", "2300")
    expect(page.locator("#stage-grid")).to_have_attribute("data-wrong", "0")
    for part in ("#claim", "#stage-sheet", "#stage-grid", "#counter"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 720, f"{part} ends below the first screen"
    sheets = {page.locator("#stage-sheet").inner_text()}
    used = set()
    for _ in range(3):
        until(page, f"stage.steps > {page.evaluate('stage.steps')}")
        sheets.add(page.locator("#stage-sheet").inner_text())
        used.add(page.locator("#stage-grid").get_attribute("data-used"))
    assert len(sheets) >= 3
    assert len(used) >= 2


def test_counter_counts_what_the_sum_asked(page: Page, place: str) -> None:
    page.goto(place)
    until(page, "stage.steps >= 20")
    page.click("#stage-play")
    expect(page.locator("#stage-play")).to_have_text("Play")
    asked = page.evaluate("stage.result.steps.slice(0, stage.result.done).map((step) => step.prompt)")
    different = {"steps taken": str(len(asked)), "different questions, of 2,300": str(len(set(asked))), "new ones": "0"}
    assert counter(page) == different
    page.click("#stage-step")
    assert counter(page)["steps taken"] == str(len(asked) + 1)
    domain = Solver.load().trained.domain
    operands = page.evaluate("stage.result.request.operands")
    assert [len(operand) for operand in operands] == [1000, 1000]
    assert asked == [step.prompt for step in Solver.load().trace(*operands).steps[: len(asked)]]
    assert set(asked) <= set(domain)


def test_question_outside_the_domain_is_counted_as_new(page: Page, address: str) -> None:
    def invented(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"prompt": "0C', '"prompt": "20C'))

    page.route("**/v1/add/steps", invented)
    page.goto(address)
    until(page, "stage.steps >= 30")
    page.click("#stage-play")
    new = page.evaluate(
        "stage.result.steps.slice(0, stage.result.done).filter(({ prompt }) => /^20C/.test(prompt)).length"
    )
    page.evaluate("stage.advance(200)")
    assert int(counter(page)["new ones"]) > new >= 0


@pytest.mark.parametrize("chapter", range(1, 7))
def test_each_chapter_has_a_link_that_sets_the_stage(page: Page, place: str, chapter: int) -> None:
    page.goto(f"{place}#{CHAPTERS[chapter - 1]}")
    shown(page, chapter)
    expect(page.locator("#anatomy")).to_have_attribute("aria-label", re.compile(f"It reads {READS[chapter - 1]} and "))
    expect(page.locator("#dots [aria-current]")).to_have_text(str(chapter))
    counts: dict[int, dict[str, str]] = {
        1: {"it reads": "55", "it writes": "10S", "lead, in logits": "16.9"},
        2: {"it reads": "15C77", "it writes": "15S", "lead, in logits": "16.3"},
        3: {"first columns": "100", "later: 20 × 110": "2,200", "questions in all": "2,300"},
        4: {"asked": "2,300", "right": "2,300", "wrong": "0"},
        5: {"asked again": "2,300", "wrong": "316", "certificate": "fails"},
        6: {"numbers in it": "59", "questions asked": "2,100", "wrong": "0"},
    }
    assert counter(page) == counts[chapter]
    box = page.locator(f"#{CHAPTERS[chapter - 1]} h2").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 1000
    page.wait_for_timeout(400)
    assert page.evaluate("location.hash") == f"#{CHAPTERS[chapter - 1]}"
    expect(page.locator("#answer")).to_have_text("74550")  # free play has its own problem


def test_scrolling_through_the_tour_sets_each_chapter(page: Page, place: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(place)
    shown(page, 0)
    for number, name in enumerate(CHAPTERS, start=1):
        page.evaluate("name => scrollBy(0, $(name).getBoundingClientRect().top - innerHeight / 3)", name)
        shown(page, number)
        assert page.evaluate("location.hash") == f"#{name}"
    page.evaluate("scrollTo(0, 0)")
    shown(page, 0)
    assert page.evaluate("location.hash") == ""


def test_tour_is_taken_by_keyboard(page: Page, place: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(place)
    shown(page, 0)
    for number, name in enumerate(CHAPTERS, start=1):
        page.keyboard.press("ArrowRight")
        shown(page, number)
        assert page.evaluate("document.activeElement.id") == name
    page.keyboard.press("ArrowLeft")
    shown(page, 5)
    expect(page.locator("#live")).to_contain_text("Step 1 of 5")  # the problem below has not moved
    for control in ("number", "tour-amount"):  # a term with its definition, then the slider
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.term ?? document.activeElement.id") == control


def test_tour_can_be_skipped(page: Page, place: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(place)
    shown(page, 0)
    page.click("#dots >> text=Skip the tour")
    until(page, "Math.abs($('workbench').getBoundingClientRect().top) < 60")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#live")).to_contain_text("Step 2 of 5")


def test_broken_weight_is_noticed_and_healed(page: Page, place: str) -> None:
    page.goto(f"{place}#tour-break")
    shown(page, 5)
    expect(page.locator("#stage-says")).to_have_text("65785 + 8765 = 84550, wrong: 74550 would be right.")
    expect(page.locator("#stage-grid")).to_have_attribute("data-wrong", "316")
    expect(page.locator("#tour-verdict")).to_contain_text("316 answers are wrong, and the copy has no certificate")
    expect(page.locator("#stage-sheet .bad")).to_have_text("8")
    page.locator("#tour-amount").fill("6")  # + 1: the sum is right, 23 others are not
    expect(page.locator("#stage-grid")).to_have_attribute("data-wrong", "23")
    expect(page.locator("#stage-says")).to_contain_text("74550, right by luck")
    assert counter(page)["certificate"] == "fails"
    page.locator("#tour-amount").fill("4")
    expect(page.locator("#stage-grid")).to_have_attribute("data-wrong", "0")
    assert counter(page)["certificate"] == "holds"
    expect(page.locator("#badge")).to_have_text("✓ addition: proven on all 2,300 questions")


def test_nothing_moves_by_itself_if_the_visitor_wants_no_motion(page: Page, place: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(place)
    shown(page, 0)
    expect(page.locator("#stage-play")).to_have_text("Play")
    before = counter(page)
    page.wait_for_timeout(1500)
    assert counter(page) == before
    assert before["steps taken"] == "40"


def test_paper_terms_are_defined_on_hover_and_focus(page: Page, place: str) -> None:
    page.goto(place)
    shown(page, 0)
    term = page.locator("#lead .term")
    expect(term.locator(".means")).to_be_hidden()
    term.hover()
    expect(term.locator(".means")).to_contain_text("The paper calls it a prompt")
    expect(term.locator(".means")).to_be_visible()
    page.mouse.move(1, 1)
    term.focus()
    expect(term.locator(".means")).to_be_visible()
    for each in page.locator(".term").all():
        described = each.get_attribute("aria-describedby")
        assert page.locator(f"#{described}").text_content()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"certified": False, "wrong": 7, "words": ["Not certified."]}, "We asked all of them: 7 answers are wrong."),
        (
            {"certified": False, "wrong": 0, "strength": "sampled", "words": ["Not certified."]},
            "We asked some of them, which proves nothing.",
        ),
    ],
)
def test_claim_is_what_the_certificate_says(page: Page, address: str, changed: dict[str, Any], says: str) -> None:
    def answer(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), **changed})

    page.route("**/v1/certificate*", answer)
    page.goto(f"{address}#tour-asked")
    expect(page.locator("#claim-asked")).to_have_text(says)
    expect(page.locator("#asked-words")).to_have_text("Not certified.")
    expect(page.locator("#asked-therefore")).to_be_empty()
    expect(page.locator("#stage-says")).to_contain_text("ot certified")
    expect(page.locator("#badge")).to_contain_text("✗")


def test_file_of_another_task_claims_its_own_numbers(page: Page, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(single.page(Solver.load("comparison")))
    page.goto((tmp_path / "page.html").as_uri())
    count = len(Solver.load("comparison").trained.domain)
    expect(page.locator("#claim")).to_contain_text(f"only ever pose {count} questions")
    expect(page.locator("#stage-grid")).to_have_attribute("data-cells", str(count))
    expect(page.locator(".chapters")).to_be_hidden()
    until(page, "stage.steps > 5")
    assert counter(page)["new ones"] == "0"


def test_file_has_the_smallest_network_of_the_tour(file: str) -> None:
    text = Path(file.removeprefix("file://")).read_text()
    held = re.search(r'<script type="application/json" id="alga-content">(.*?)</script>', text, re.DOTALL)
    assert held is not None
    found = json.loads(held[1])["others"]["smallest"]
    answers = {cell["prompt"]: cell["text"] for cell in found["domain"]["cells"]}
    assert answers == {prompt: f"{step.output}S" for prompt, step in Solver.load("smallest").trained.domain.items()}
    assert found["certificate"]["parameters"] == 59
