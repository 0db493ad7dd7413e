"""Shared by the page tests: a server, a single file, a browser, and a page that must not log errors.

`place` runs a test twice: with the server's page, and with the file. Tests wait for conditions, for as long as a busy
machine may need; a page that never gets there fails after `PATIENCE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from alga.solve.solver import Solver

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE = 60  # seconds


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    from tests.serving import running

    with running("--seconds", str(PATIENCE)) as (address, _):
        for _ in range(10):  # on a busy machine, opening all networks may exceed the server's time limit
            models = httpx.get(f"{address}/v1/models", timeout=120)
            damaged = httpx.post(f"{address}/v1/damage", json={"amount": 1}, timeout=120)
            if models.is_success and damaged.is_success:
                break
        yield address


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    from alga.serve import single

    path = tmp_path_factory.mktemp("page") / "adder.html"
    path.write_bytes(single.page(Solver.load()))
    assert path.stat().st_size < 3_000_000
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that fails the test if it logs an error or requests anything from another site.

    A test that makes requests fail names the browser's lines about them: `@pytest.mark.faults("pattern")`.
    """
    from playwright.sync_api import expect

    provoked = [re.compile(mark.args[0]) for mark in request.node.iter_markers("faults")]

    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(1000 * PATIENCE)
    expect.set_options(timeout=1000 * PATIENCE)
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda problem: faults.append(str(problem)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    own = re.compile(r"^(http://127\.0\.0\.1:\d+/|file:///|data:|blob:null/)")
    assert [url for url in asked if not own.match(url)] == []
    page.close()
    unexpected = [fault for fault in faults if not any(each.search(fault) for each in provoked)]
    assert [fault for fault in unexpected if "status of 4" not in fault] == []


@pytest.fixture(params=["served", "file"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("address" if request.param == "served" else "file"))


def until(page: Page, expression: str) -> None:
    """Wait for an expression to be true (Playwright's own way is refused by the page's policy)."""
    for _ in range(20 * PATIENCE):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


def fill(page: Page, a: str, b: str = "") -> None:
    """Enter a problem."""
    page.fill("#a", a)
    if b:
        page.fill("#b", b)
    page.click("#run")


def choose_network(page: Page, name: str) -> None:
    """Choose a network, which is an advanced option."""
    if not page.evaluate("$('advanced').open"):
        page.click("#advanced summary")
    page.select_option("#model", name)


def damage_weight(page: Page, amount: float) -> None:
    """Move the default weight; in a single file the slider indexes the stored amounts."""
    slider = page.locator("#amount")
    slots = page.evaluate("amountsOf(weightsOf(damagedNetwork()))")
    slider.fill(str(slots.index(amount) if slots else amount))


WATCH = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => list.getEntries().forEach(({ value, sources }) => shifts.push([value,
    sources.map(({ node }) => node?.id || node?.parentElement?.closest("[id]")?.id).join(" ")]))
  ).observe({ type: "layout-shift", buffered: false });
}"""


def drawn(page: Page) -> None:
    """Wait until what has changed is on screen, and measured."""
    page.evaluate(
        "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 100))))"
    )


def shifts(page: Page) -> Any:
    """Return the layout shifts since `WATCH`: how large, and of what."""
    drawn(page)
    return page.evaluate("shifts")
