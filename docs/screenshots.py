"""`make screenshots` and `make animation`: the page as docs/figures/page-*.png, tour-*.png and page.webp.

Both start a server of their own and drive the system's Chromium: apt-get install chromium, pip install -e '.[dev]'.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FIGURES = Path(__file__).parent / "figures"
WIDTHS = {"desktop": (1280, 720), "phone": (390, 844)}
CHAPTERS = ("column", "carry", "questions", "asked", "break", "small")
PROBLEM = "#op=add&a=65785&b=8765&step=3"
STEPS = 60  # of the running sum, on pictures of the first screen
SMALL = (960, 540)  # pixels of the animation


def main() -> None:
    """Draw the pictures, or with --animation the animation; a folder may be named instead of docs/figures."""
    folders = [Path(each) for each in sys.argv[1:] if not each.startswith("--")]
    folder = folders[0] if folders else FIGURES
    folder.mkdir(parents=True, exist_ok=True)
    with served() as address, browser() as chromium:
        if "--animation" in sys.argv:
            animate(chromium, address, folder / "page.webp")
        else:
            draw(chromium, address, folder)


@contextmanager
def served() -> Iterator[str]:
    """Run a server; yield its address."""
    command = [sys.executable, "-m", "alga", "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            for path in ("v1/models", "v1/domain", "v1/domain?model=smallest"):  # slow at first, on a busy machine
                while not httpx.get(address + path, timeout=120).is_success:
                    pass
            damage = {"tensor": "token_embedding.weight", "index": 393, "amount": 8}
            while not httpx.post(f"{address}v1/damage", json=damage, timeout=120).is_success:
                pass
            yield address
        finally:
            server.terminate()


@contextmanager
def browser() -> Iterator[Browser]:
    """Start the system's Chromium."""
    path = shutil.which("chromium")
    if path is None:
        sys.exit("screenshots need Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


def draw(chromium: Browser, address: str, folder: Path) -> None:
    """Write the first screen, each chapter of the tour and free play, at two widths and in two themes."""
    for name, (width, height) in WIDTHS.items():
        for theme in ("light", "dark"):
            page = opened(chromium, address, width, height, theme)
            save(page.screenshot(), folder / f"page-{name}-{theme}.png")
            for number, chapter in enumerate(CHAPTERS, start=1):
                visit(page, number)
                save(page.screenshot(), folder / f"tour-{number}-{chapter}-{name}-{theme}.png")
            page.goto(f"{address}{PROBLEM}")
            page.wait_for_selector("#steps .here >> text=15C77")
            page.wait_for_selector("#grid[data-cells]")
            for part, drawn in (("flow", "#flow-picture .plus"), ("compare", "#compared td")):  # once they are near
                page.locator(f"#{part}").scroll_into_view_if_needed()
                page.wait_for_selector(drawn, state="attached")
            save(page.locator("#workbench").screenshot(), folder / f"play-{name}-{theme}.png")
            page.close()


def opened(chromium: Browser, address: str, width: int, height: int, theme: str) -> Page:
    """Open the page without motion, at a fixed step of its running sum."""
    more: dict[str, Any] = {"color_scheme": theme, "reduced_motion": "reduce"}
    page = chromium.new_page(viewport={"width": width, "height": height}, **more)
    page.set_default_timeout(60_000)
    page.goto(address)
    page.wait_for_selector("#story[data-shown='0']")
    page.evaluate(f"stage.advance({STEPS} - stage.steps)")
    return page


def visit(page: Page, number: int) -> None:
    """Go to a chapter of the tour."""
    page.evaluate(f"goToChapter({number})")
    page.wait_for_selector(f"#story[data-shown='{number}']")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(300)


def save(picture: bytes, path: Path) -> None:
    """Keep 256 colours, rare ones too: no colour changes visibly, and the file is a third as large."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    whole.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def animate(chromium: Browser, address: str, path: Path) -> None:
    """Write the running sum, then the chapters, as one animation."""
    page = opened(chromium, address, *WIDTHS["desktop"], "light")
    page.evaluate("stage.resetCounts(), stage.put(stage.result, 0), stage.countSteps()")
    frames, lasts = list[Image.Image](), list[int]()

    def keep(milliseconds: int) -> None:
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        frames.append(picture.resize(SMALL, Image.Resampling.LANCZOS))
        lasts.append(milliseconds)

    for i in range(48):
        page.evaluate(f"stage.advance({1 if i < 16 else 3 if i < 28 else 12})")
        keep(260 if i < 8 else 110)
    lasts[-1] = 900
    for number in range(1, len(CHAPTERS) + 1):
        visit(page, number)
        keep(2400)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=lasts, loop=0, quality=80, method=4)


if __name__ == "__main__":
    main()
