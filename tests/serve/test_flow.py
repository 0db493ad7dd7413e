"""Slow: the step as a flow, and the comparison of networks, on the page."""

from __future__ import annotations

import json
import runpy

import pytest
from playwright.sync_api import Page, expect

from alga.solve.solver import Solver
from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone]

ADDITION = "#op=add&a=65785&b=8765&step=3"  # reads 15C77, writes 15S


def test_flow_shows_the_attention_of_the_token_being_written(page: Page, place: str) -> None:
    page.goto(place + ADDITION)
    page.locator("#flow").scroll_into_view_if_needed()
    expect(page.locator("#flow-picture .layer")).to_have_count(5)  # embedding, two blocks of two
    detail = Solver.load().step_decoder.detail("15C77", "15S")
    for written in range(3):
        page.locator("#flow-tokens button").nth(written).click()
        looks = detail.attention[:, :, 5 + written]
        shown = [text for text in page.locator("#flow-picture .look title").all_text_contents() if "Head" in text]
        assert len(shown) == pytest.approx(int((looks >= 0.03).sum()), abs=1)  # a file has 255ths
        expect(page.locator("#flow-picture .wrote")).to_have_text("15S"[written])
        expect(page.locator("#flow-picture text.token.here")).to_have_text("⏎15"[written])


def test_layer_opens_by_mouse_and_key(page: Page, place: str) -> None:
    page.goto(place + ADDITION)
    page.locator("#flow").scroll_into_view_if_needed()
    page.locator("[data-layer='block 1: attention']").click()
    expect(page.locator("#flow-open h4")).to_have_text("block 1: attention")
    weights = Solver.load().step_decoder.detail("15C77", "15S").attention[0, 0, 5]
    tokens = ["1", "5", "C", "7", "7", "⏎"]
    most = max(range(6), key=lambda i: weights[i])
    expect(page.locator("#flow-open p").first).to_contain_text(f"Head 1: {tokens[most]} {round(100 * weights[most])} %")
    page.locator("[data-layer='block 2: feed-forward']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#flow-open h4")).to_have_text("block 2: feed-forward")
    assert page.evaluate("document.activeElement.dataset.layer") == "block 2: feed-forward"


def test_strips_show_activations_where_the_weights_are_here(page: Page, address: str) -> None:
    page.goto(address + ADDITION)
    page.locator("#flow").scroll_into_view_if_needed()
    expect(page.locator("#flow-picture .layer")).to_have_count(5)
    page.evaluate(
        """() => {
          const data = new Float64Array(8 * 64).fill(-1).fill(2, 5 * 64, 6 * 64);
          flow.activations = async () => ({ "blocks.0.hook_resid_pre": { shape: [8, 64], data } });
          lookInside("15C77", 3);
        }"""
    )
    expect(page.locator("#flow-picture .minus")).to_have_count(5 * 16)  # five tokens before the one that writes
    expect(page.locator("#flow-picture .plus")).to_have_count(16)
    page.locator("[data-layer='embedding']").click()
    expect(page.locator("#flow-open rect.plus")).to_have_count(64)
    expect(page.locator("#flow-open")).to_contain_text("computed in this browser")


def test_flow_follows_the_tokens(page: Page, address: str) -> None:
    page.goto(address + ADDITION)
    page.locator("#flow").scroll_into_view_if_needed()
    page.click("#flow-tokens >> text=Token by token")
    expect(page.locator("#flow-picture .wrote")).to_have_text("S")
    expect(page.locator("#flow-tokens [aria-pressed=true]")).to_have_text("writes S")


def test_two_networks_are_compared_at_one_question(page: Page, place: str) -> None:
    page.goto(place)
    page.locator("#compare").scroll_into_view_if_needed()

    def row(title: str) -> list[str]:
        return page.locator("#compared tr").filter(has_text=title).locator("td").all_inner_texts()

    expect(page.locator("#compared th[scope=col]")).to_have_text(["addition", "smallest"])
    leads = [Solver.load(name).decode(["15C77"])[0].margin for name in ("addition", "smallest")]
    assert row("lead, in logits") == [f"{lead:.2f}" for lead in leads]
    assert row("numbers in it") == ["102,464", "59"]
    assert row("it writes") == ["15S", "15S"]
    page.fill("#compare-prompt", "14C6")
    expect(page.locator("#compared")).to_contain_text("not a question of its task")
    assert row("it writes") == ["7S", "not a question of its task"]
    page.fill("#compare-prompt", "nonsense")
    expect(page.locator("#compared td", has_text="not a question")).to_have_count(2)


def test_baselines_fail_at_one_digit_more_as_recorded(page: Page, place: str) -> None:
    page.goto(place)
    records = {each["title"]: each for each in json.loads((ROOT / "results" / "compare.json").read_text())["records"]}
    expect(page.locator("#records tbody tr")).to_have_count(6)
    for line in page.locator("#records tbody tr").all():
        runs = records[line.locator("th").inner_text()]["runs"]
        for length, place_of in (("5", 4), ("6", 5)):
            right, of = (sum(run["lengths"][length][i] for run in runs) for i in (0, 1))
            assert line.locator("td").nth(place_of).inner_text() == f"{100 * right / of:.0f}"
    expect(page.locator("#records-words")).to_contain_text("only the networks of this page are certified")


def test_reader_is_drawn_by_distance(page: Page, place: str) -> None:
    page.goto(place)
    expect(page.locator("#reader svg")).to_have_count(2)
    expect(page.locator("#reader .own")).to_have_count(4)
    tall = (
        page.locator("#reader svg")
        .first.locator("rect")
        .evaluate_all("bars => bars.map((bar) => +bar.getAttribute('height'))")
    )
    assert sorted(range(13), key=lambda i: tall[i])[-2:] == [6, 7]  # distances 0 and 1


def test_records_are_those_of_the_repository() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "page_records.py"))
    assert made["SCRIPT"].read_text() == made["script"]()
