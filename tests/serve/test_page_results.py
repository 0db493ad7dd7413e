"""Slow: answer, steps, network, certificate and damage on the page always belong to one result."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from alga.serve import single
from alga.solve.solver import Solver
from tests.browsing import choose_network, damage_weight, fill
from tests.conftest import Alga

pytestmark = [pytest.mark.slow, pytest.mark.alone]

NUMBERS = ["1.5", "12.", "1,234,567", "1 234", "1'000", "", "+5", "٣", "5e3", "5\n6", "007"]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_read_the_same_everywhere_and_never_corrected(
    page: Page, address: str, file: str, alga: Alga, text: str
) -> None:
    told = httpx.post(f"{address}/v1/add", json={"operands": [text, "2"]}).json()
    command = alga("add", text, "2")
    assert ("answer" in told) == (text == "007")
    for place in (address, file):
        page.goto(place)
        expect(page.locator("#answer")).to_have_text("74550")
        fill(page, text, "2")
        if "answer" in told:
            expect(page.locator("#answer")).to_have_text("9")
            assert told["answer"] == command.out.strip() == "9"
            continue
        message = told["error"]
        assert message in command.err
        expect(page.locator("#problem-error")).to_have_text(f"{message[0].upper()}{message[1:]}.")
        expect(page.locator("#result")).to_be_empty()


def test_whitespace_around_a_number_is_ignored(page: Page, place: str) -> None:
    page.goto(place)
    fill(page, " 12\n", "\t30")
    expect(page.locator("#answer")).to_have_text("42")


@pytest.mark.parametrize(
    ("model", "operands"), [("and-base-16", ["FF0", "a1"]), ("comparison", ["99", "100"]), ("parity", ["1011"])]
)
def test_file_of_another_task_uses_the_networks_own_steps(
    page: Page, tmp_path: Path, model: str, operands: list[str]
) -> None:
    network = Solver.load(model)
    (tmp_path / "page.html").write_bytes(single.page(network))
    page.goto((tmp_path / "page.html").as_uri())
    fill(page, *operands)
    trace = network.trace(*(operand.lower() for operand in operands))
    steps = page.locator("#steps li").filter(has_not=page.locator(".margin", has_text="wrong"))
    expect(steps.locator("span:nth-child(2)")).to_have_text([step.prompt for step in trace.steps])
    expect(steps.locator("b")).to_have_text([step.text for step in trace.steps])
    expect(page.locator("#answer")).to_have_text(str(trace.answer))


def test_no_steps_are_shown_if_there_are_none(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#steps li")).to_have_count(5)
    fill(page, "9" * 30_000, "1")
    expect(page.locator("#note")).to_contain_text("up to 20,000 digits here, got 30,000")
    expect(page.locator("#result")).to_contain_text("30,001 digits")
    for part in ("#steps", "#sheet", "#tokens", "#probabilities", "#attention"):
        expect(page.locator(part)).to_be_empty()
    expect(page.locator("#live")).to_have_text("There are no steps to play.")
    expect(page.locator("#grid")).to_have_attribute("data-used", "")


def held_back(page: Page, pattern: str) -> list[Route]:
    """Hold back responses until the test releases them."""
    waiting: list[Route] = []

    def wait(route: Route) -> None:
        waiting.append(route)

    page.route(pattern, wait)
    return waiting


def test_late_steps_of_the_previous_problem_are_dropped(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#steps li")).to_have_count(5)
    waiting = held_back(page, "**/v1/add/steps")
    fill(page, "12", "30")
    expect(page.locator("#answer")).to_have_text("42")
    expect(page.locator("#steps")).to_be_empty()
    (steps,) = [route for route in waiting if (route.request.post_data_json or {})["operands"] == ["12", "30"]]
    steps.continue_()  # the first screen's sum may wait too
    expect(page.locator("#steps b")).to_have_text(["2S", "4S"])


def test_steps_with_another_answer_are_flagged(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#answer")).to_have_text("74550")
    page.route("**/v1/add", lambda route: route.fulfill(json={**route.fetch().json(), "answer": "43"}))
    fill(page, "12", "30")
    expect(page.locator("#note")).to_have_text("Step by step it comes to 42, which is not the answer above.")


@pytest.mark.parametrize(
    ("model", "prompts"), [("addition-lookahead", "341"), ("addition-base-2", "28"), ("arithmetic", "9,010")]
)
def test_badge_and_certificate_belong_to_the_chosen_network(page: Page, address: str, model: str, prompts: str) -> None:
    """With an answer and no steps, with an error (base 2 has no 6), and with both."""
    page.goto(address)
    expect(page.locator("#badge")).to_contain_text("2,300 questions")
    waiting = held_back(page, "**/v1/certificate*")
    choose_network(page, model)
    expect(page.locator("#badge")).to_be_empty()
    expect(page.locator("#words")).to_be_empty()
    expect(page.locator("#grid")).not_to_have_attribute("data-cells", "2300")
    waiting[0].continue_()
    expect(page.locator("#badge")).to_contain_text(f"✓ {model}: ")
    expect(page.locator("#badge")).to_contain_text(f"on all {prompts} questions")
    expect(page.locator("#words")).to_contain_text(f"every one of the {prompts} questions")
    expect(page.locator("#figures")).to_contain_text(f"{model}, base")
    expect(page.locator("#grid")).to_have_attribute("data-cells", prompts.replace(",", ""))


def test_page_says_which_networks_answered_and_stepped(page: Page, address: str) -> None:
    page.goto(f"{address}#op=add&a=12&b=30&engine=lookahead")
    expect(page.locator("#answer")).to_have_text("42")
    told = "Step by step by addition; the answer above is by addition-lookahead."
    expect(page.locator("#note")).to_have_text(told)


@pytest.mark.parametrize(("where", "amount"), [("address", 0.25), ("address", 0.5), ("file", 0.5)])
def test_statements_about_a_damaged_network_agree(
    page: Page, request: pytest.FixtureRequest, where: str, amount: float
) -> None:
    page.goto(request.getfixturevalue(where))
    expect(page.locator("#badge")).to_have_text("✓ addition: proven on all 2,300 questions")
    damage_weight(page, amount)
    expect(page.locator("#badge")).to_contain_text("addition, one weight moved: ")
    holds = amount == 0.25
    assert page.locator("#badge").inner_text().startswith("✓" if holds else "✗")
    expect(page.locator("#result small")).to_have_text(re.compile("· certified$" if holds else "· not certified$"))
    expect(page.locator("#verdict")).to_contain_text("the copy is certified" if holds else "The certificate fails")
    expect(page.locator("#certificate-title")).to_have_text("Why it is never wrong" if holds else "Why it may be wrong")
    assert (page.locator("#grid").get_attribute("data-wrong") == "0") == holds


@pytest.mark.parametrize(
    ("problem", "amount", "shown", "network"),
    [
        ("op=add&a=-5&b=-9", 0.25, "-5 + -9 = -14", "addition"),
        ("op=mul&a=37&b=48", 2, "37 × 48 = 1786", "times-a-digit"),
        ("op=mul&a=37&b=48&step=7", 1, "37 × 48 = 1776", "addition"),
    ],
)
def test_damage_keeps_the_problem(
    page: Page, address: str, problem: str, amount: float, shown: str, network: str
) -> None:
    page.goto(f"{address}#{problem}")
    expect(page.locator("#badge")).to_contain_text(f"✓ {network}: ")
    damage_weight(page, amount)
    expect(page.locator("#verdict")).to_contain_text(shown)
    expect(page.locator("#verdict")).to_contain_text(f"of {network} went from")
    expect(page.locator("#result")).to_contain_text(shown)
    page.click("#link")
    page.reload()
    expect(page.locator("#verdict")).to_contain_text(shown)
    expect(page.locator("#verdict")).to_contain_text(f"of {network} went from")


def test_unused_damaged_network_is_mentioned(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#badge")).to_contain_text("✓ addition: ")
    damage_weight(page, 4)
    expect(page.locator("#badge")).to_contain_text("✗ addition, one weight moved: ")
    fill(page, "-5", "9")
    expect(page.locator("#verdict")).to_contain_text("-5 + 9 = 4 (addition has no part in it), right.")
    expect(page.locator("#badge")).to_contain_text("✓ comparison: ")
    expect(page.locator("#result small")).to_have_text(re.compile("· right · certified$"))


def test_input_error_does_not_heal_the_network(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#badge")).to_contain_text("✓ addition: ")
    damage_weight(page, 4)
    expect(page.locator("#badge")).to_contain_text("✗ addition, one weight moved: ")
    fill(page, "12x", "30")
    expect(page.locator("#problem-error")).to_contain_text("got 'x' at position 3")
    expect(page.locator("#badge")).to_contain_text("✗ addition, one weight moved: ")
    expect(page.locator("#amount-shown")).to_have_text("+4")
    expect(page.locator("#verdict")).to_have_text(re.compile("234 answers are wrong. $"))
    page.click("#heal")
    expect(page.locator("#badge")).to_contain_text("✓ addition: ")
    expect(page.locator("#problem-error")).to_contain_text("got 'x' at position 3")


def test_wrong_answer_has_no_margin(page: Page, place: str) -> None:
    page.goto(f"{place}#op=add&a=0&b=4")
    expect(page.locator("#steps .margin")).to_have_text(re.compile(r"^\d+\.\d$"))
    expect(page.locator("#cell")).to_contain_text("lead")
    damage_weight(page, 4)
    expect(page.locator("#answer")).to_have_text("3")
    expect(page.locator("#result small")).to_contain_text("wrong: 4 would be right")
    expect(page.locator("#steps .margin")).to_have_text("wrong")
    expect(page.locator("#live")).to_contain_text("writes 3S, which is wrong (4S would be right): write 3.")
    expect(page.locator("#cell")).to_have_text(
        "First column 04: the question is 04, wrong: it writes 3S, and 4S would be right."
    )
    if not place.startswith("file"):  # which has no details of damaged copies
        tokens = ["token 1: wrong, 4 is 1.9 behind", "token 2: after a wrong one"]
        expect(page.locator("#probabilities caption")).to_have_text(tokens)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("tensor=heart&index=0&amount=2", "heart|this file has copies"),
        ("tensor=token_embedding.weight&index=-1&amount=2", "counted 0, 1, 2 and so on, got -1"),
        ("tensor=token_embedding.weight&index=393&amount=1000", "by -100 to 100, not by 1000"),
        ("amount=x", "no tensor is named"),
        ("damaged=abacus&tensor=token_embedding.weight&index=393&amount=2", "no model 'abacus'|this file has copies"),
    ],
)
def test_link_to_a_missing_weight_shows_the_undamaged_network(page: Page, place: str, damage: str, why: str) -> None:
    page.goto(f"{place}#op=add&a=5&b=9&{damage}")
    expect(page.locator("#answer")).to_have_text("14")
    expect(page.locator("#verdict")).to_have_text(re.compile(f"^Not done: .*({why})"))
    expect(page.locator("#badge")).to_have_text("✓ addition: proven on all 2,300 questions")
    expect(page.locator("#words")).to_contain_text("every one of the 2,300 questions")
    expect(page.locator("#amount-shown")).to_have_text("0")
    expect(page.locator("#steps b")).to_have_text(["14S"])
