"""`make docs`: the site, by Sphinx from the Markdown pages and notebooks as they stand, with every warning an error.

The source folder is the whole checkout, so that a link is right here exactly if it is right on the repository host.
Pages stay plain Markdown: the navigation is the dictionary below, not in them. A page that it forgets is an error.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
NAVIGATION = {
    "Start here": ["how-it-works", "usage", "networks"],
    "The guarantee and its limits": [
        "What is proven <proof>", "Rounding <rounding>", "Verified again <verified>", "Kernel-checked <kernel>",
        "All carries at once <lookahead>", "Whole sums <whole>",
        "Under faults and load <reliability>", "Security </SECURITY>",
    ],
    "Guides": [
        "own-task", "training", "interpretability", "Sweeps on a cluster <sweeps>", "Export <export>",
        "Serving <serve>",
    ],
    "Notebooks": sorted(page.stem for page in ROOT.glob("docs/*.ipynb")),
    "API reference": [
        "reference/calculator", "reference/trust", "reference/tasks", "reference/training", "reference/inside",
    ],
    "Results": [
        "results", "The paper, claim by claim <paper>", "The paper's open questions <lab>",
        "Other methods side by side <compare>", "Speed <speed>", "What others published <peers>",
        "A method of your own <rivals>",
    ],
    "The project": [
        "architecture", "decisions", "Changelog </CHANGELOG>", "Contributing </CONTRIBUTING>", "README </README>",
    ],
}  # fmt: skip

project = "ALGA"
version = release = re.findall(r'^__version__ = "(.*)"', (ROOT / "src/alga/__init__.py").read_text(), re.MULTILINE)[0]
extensions = ["myst_nb", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md"]
exclude_patterns = [".*", "build", "dist", "runs", "site", "src", "tests", "results", "benchmarks"]
smartquotes = False

myst_heading_anchors = 4  # as the repository host makes them
nb_execution_mode = "off"  # notebooks show the outputs that are committed; a slow test runs them
nb_merge_streams = True

default_role = "code"  # single backquotes in docstrings
autodoc_mock_imports = ["torch", "matplotlib"]  # reading signatures needs neither
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True  # as written, not as computed
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 160

html_theme = "furo"
html_title = f"ALGA {version}"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_extra_path = ["front"]  # index.html at the top leads to docs/index.html
html_copy_source = html_show_sourcelink = False
html_use_index = html_show_copyright = False
pygments_dark_style = "github-dark"


def _add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append the navigation to the start page as it is read."""
    if page == root_doc:
        trees = (["```{toctree}", ":hidden:", f":caption: {part}", "", *pages, "```", ""] for part, pages in parts())
        source[0] += "\n\n" + "\n".join(line for tree in trees for line in tree)


def parts() -> list[tuple[str, list[str]]]:
    """Return the parts of the navigation that have pages."""
    return [(part, pages) for part, pages in NAVIGATION.items() if pages]


def _without_factories(_app: Sphinx, *about: object) -> tuple[str, str] | None:
    """Return a dataclass's signature with `...` for a default that is made anew, which has no name in Python."""
    *_, signature, returned = about
    return (signature.replace("<factory>", "..."), returned) if isinstance(signature, str) else None


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _add_navigation)
    app.connect("autodoc-process-signature", _without_factories)
