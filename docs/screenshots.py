"""`make screenshots`: the page at desktop and phone width, light and dark, as docs/figures/page-*.png.

It starts a server of its own and drives the system's Chromium: apt-get install chromium, pip install -e '.[dev]'.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FIGURES = Path(__file__).parent / "figures"
WIDTHS = {"desktop": (1200, 1000, 1.0), "phone": (390, 844, 1.0)}
SHOWN = "#op=add&a=65785&b=8765&step=3"


def main() -> None:
    """Write the four pictures; a folder may be named instead of docs/figures, and another place on the page."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES
    shown = sys.argv[2] if len(sys.argv) > 2 else SHOWN
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("screenshots need Chromium: apt-get install chromium")
    command = [sys.executable, "-m", "alga", "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            _draw(chromium, address + shown, folder)
        finally:
            server.terminate()


def _draw(chromium: str, address: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (width, height, scale) in WIDTHS.items():
            for theme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": width, "height": height}, device_scale_factor=scale, color_scheme=theme
                )
                page.goto(address)
                page.wait_for_selector("body[data-ready]")
                page.wait_for_selector("#attention svg")
                page.wait_for_selector("#grid[data-cells]")
                page.wait_for_timeout(300)
                _save(page.screenshot(full_page=True), folder / f"page-{name}-{theme}.png")
                page.close()
        browser.close()


def _save(picture: bytes, path: Path) -> None:
    """Keep 256 colours, rare ones too: no colour changes visibly, and the file is a third as large."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    whole.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
