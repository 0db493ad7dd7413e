"""Slow: the page's words: question, lead over the runner-up, stop; the paper's terms only in the definitions."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import damage_weight

pytestmark = [pytest.mark.slow, pytest.mark.alone]

WORDS = """() => {
  const said = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    if (element.closest("script, style, .means")) continue;
    if (node.nodeType === Node.TEXT_NODE) said.push(node.textContent);
    else for (const name of ["aria-label", "aria-roledescription", "aria-valuetext", "placeholder"]) {
      if (node.hasAttribute(name)) said.push(node.getAttribute(name));
    }
  }
  return said.filter((text) => text.trim());
}"""
PAPERS = re.compile(r"\b(prompts?|margins?|instances?|contexts?)\b", re.IGNORECASE)


def papers_terms(page: Page) -> list[str]:
    """Return the texts on the page, shown or read out, that have a term of the paper."""
    return [text.strip() for text in page.evaluate(WORDS) if PAPERS.search(text)]


def test_plain_words_everywhere(page: Page, place: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(place)
    page.wait_for_selector("body[data-ready]")
    for section in ("run-here", "smallest", "learn", "train-here"):
        page.locator(f"#{section}").scroll_into_view_if_needed()
        expect(page.locator(f"#{section} canvas").first).to_be_attached()
        expect(page.locator(f"#{section} .term").first).to_be_visible()
    page.locator('#run-here [data-part="check"]').click()
    expect(page.locator("#run-here")).to_have_attribute("data-checked", "yes")
    page.fill("#live-prompt", "x")
    expect(page.locator('#run-here [data-part="answer"]')).to_contain_text("Expected a question of")
    assert papers_terms(page) == []
    damage_weight(page, 4)
    expect(page.locator("#badge")).to_contain_text("✗")
    expect(page.locator("#words")).to_contain_text("answers are right")
    for chapter in range(1, 7):
        page.evaluate(f"goToChapter({chapter})")
        expect(page.locator("#story")).to_have_attribute("data-shown", str(chapter))
        assert papers_terms(page) == []


def test_search_for_terms_notices_one(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.evaluate("$('stage').setAttribute('aria-label', 'every prompt'), $('live').append('its margin')")
    assert papers_terms(page) == ["every prompt", "its margin"]


def test_definitions_have_the_papers_terms(page: Page, place: str) -> None:
    page.goto(place)
    page.wait_for_selector("body[data-ready]")
    means = dict(
        page.locator(".term").evaluate_all(
            "terms => terms.map((term) => [term.dataset.term, term.querySelector('.means').textContent])"
        )
    )
    papers = {"question": "prompt", "lead": "margin", "context": "context", "stop": "token", "number": "parameter"}
    assert set(means) == set(papers)
    for term, word in papers.items():
        assert word in means[term]
