"""Shared by the page tests: a server, a single file, a browser, and a page that must not log errors.

`place` runs a test twice: with the server's page, and with the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from alga.solve.solver import Solver

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    from tests.serving import running

    with running() as (address, _):
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
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test if it logs an error or requests anything from another site."""
    from playwright.sync_api import expect

    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(15_000)
    expect.set_options(timeout=15_000)
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda problem: faults.append(str(problem)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    own = re.compile(r"^(http://127\.0\.0\.1:\d+/|file:///|data:|blob:null/)")
    assert [url for url in asked if not own.match(url)] == []
    page.close()
    assert [fault for fault in faults if "status of 4" not in fault] == []


@pytest.fixture(params=["served", "file"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("address" if request.param == "served" else "file"))


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
