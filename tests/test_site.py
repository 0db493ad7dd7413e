"""Slow: the documentation site, built from a clean copy of the checkout by `make docs` alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def make_docs(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = ["make", "docs", f"PYTHON={sys.executable}"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has or would add, copied elsewhere, and built once."""
    copy = tmp_path_factory.mktemp("site") / "alga"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    done = make_docs(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy


@pytest.fixture(scope="module")
def site(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site, kept apart from the builds below that must fail."""
    return Path(shutil.copytree(checkout / "site", tmp_path_factory.mktemp("built") / "site"))


class Links(HTMLParser):
    """What a page names: its anchors, its links, and what a browser loads with it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value for key, value in attrs if value}
        self.anchors |= {named[key] for key in ("id", "name") if key in named}
        if "href" in named:
            (self.links if tag in ("a", "use") else self.loaded).append(named["href"])
        self.loaded += [named[key] for key in ("src", "srcset", "data", "poster") if key in named]


def pages_of(site: Path) -> dict[Path, Links]:
    return {page.resolve(): Links(page) for page in site.rglob("*.html")}


def test_every_page_and_notebook_of_the_checkout_is_in_the_navigation(site: Path) -> None:
    top = ("README", "CHANGELOG", "SECURITY", "CONTRIBUTING")
    pages = {f"docs/{page.stem}" for kind in ("*.md", "*.ipynb") for page in (ROOT / "docs").glob(kind)} | {*top}
    pages |= {f"docs/reference/{page.stem}" for page in (ROOT / "docs" / "reference").glob("*.rst")}
    assert len(pages) > 25
    start = Links(site / "docs" / "index.html")
    reached = {str((site / "docs" / urlsplit(link).path).resolve().relative_to(site)) for link in start.links
               if not urlsplit(link).scheme}  # fmt: skip
    assert {f"{page}.html" for page in pages} - reached - {"docs/index.html"} == set()


def test_no_link_or_anchor_of_the_built_site_is_broken(site: Path) -> None:
    pages = pages_of(site)
    broken, followed = [], 0
    for page, found in pages.items():
        for link in found.links + found.loaded:
            parts = urlsplit(link)
            if parts.scheme or link == "#":  # furo's link to the top of the page
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            followed += 1
            known = pages[target].anchors if target in pages else None
            if not target.exists() or (parts.fragment and known is not None and unquote(parts.fragment) not in known):
                broken.append(f"{page.name}: {link}")
    assert broken == []
    assert followed > 1000


def test_built_files_name_nothing_to_load_from_elsewhere(site: Path) -> None:
    for page, found in pages_of(site).items():
        assert [link for link in found.loaded if urlsplit(link).netloc] == [], page.name
    styles = [*site.rglob("*.css")]
    assert styles
    for style in styles:
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text()) == [], style.name


def test_reference_shows_signatures_docstrings_and_examples(site: Path) -> None:
    text = re.sub(r"<[^>]*>", "", (site / "docs" / "reference" / "calculator.html").read_text())
    for shown in (
        "class Calculator(",
        "Add two or more numbers.",
        "&gt;&gt;&gt; Calculator(16).add(",
        "load(",
        "class Results(",
    ):
        assert shown in text, shown
    assert "Mock" not in text
    assert "Training.start" in (site / "docs" / "reference" / "training.html").read_text()


def test_notebook_shows_its_committed_outputs(site: Path) -> None:
    text = (site / "docs" / "tutorial.html").read_text()
    assert "2300 prompts" in text
    assert "cell_output" in text


@pytest.mark.parametrize(
    ("page", "added", "said"),
    [
        ("docs/peers.md", "[x](no-such-page.md)", "no-such-page.md"),
        ("docs/peers.md", "[x](usage.md#no-such-heading)", "no-such-heading"),
        ("docs/peers.md", "![x](figures/no-such-figure.png)", "no-such-figure.png"),
        ("docs/forgotten.md", "# A page that the navigation forgets", "forgotten.md"),
    ],
)
def test_build_fails_at_a_broken_link_or_a_forgotten_page(checkout: Path, page: str, added: str, said: str) -> None:
    path = checkout / page
    before = path.read_text() if path.exists() else None
    try:
        path.write_text(f"{before or ''}\n{added}\n")
        done = make_docs(checkout)
    finally:
        path.unlink() if before is None else path.write_text(before)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_load_nothing_from_elsewhere_and_fit_the_width(width: int, site: Path, page: Page) -> None:
    page.set_viewport_size({"width": width, "height": 900})  # the fixture fails on any request to another site
    for path in pages_of(site).keys() - {site / "index.html"}:  # that one leads to the start page
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path.name
        broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.evaluate(broken) == [], path.name


def test_front_page_leads_to_the_start_and_search_works_offline(served: str, page: Page) -> None:
    page.goto(f"{served}/")
    page.wait_for_url("**/docs/index.html")
    page.fill("input[name=q]", "ball arithmetic")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("ul.search li a")
    assert any("proof" in text.lower() for text in page.locator("ul.search li").all_inner_texts())
