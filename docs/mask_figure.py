"""`make mask-figure`: the paper's mask, drawn from the mask of the shipped network, as docs/figures/mask-*.svg.

One picture for each of the two types of instances: who may look where, and what the network itself writes from where.
Two narrow pictures, so that they stand beside each other on a wide page and below each other on a phone. They bring
their own light ground, so they look the same on a dark page.
"""

from __future__ import annotations

from pathlib import Path

from alga.network.tokens import PAD, START
from alga.solve.solver import Solver

FIGURES = Path(__file__).parent / "figures"
PROMPTS = {"first": "55", "second": "15C77"}
CELL, LEFT, TOP = 30, 40, 84
SEEN, HIDDEN, LINE, INK, FAINT, WRITTEN = "#9dbcc1", "#ffffff", "#c3cccd", "#1d2b2e", "#5a686b", "#0f6b75"


def drawing(solver: Solver, kind: str) -> str:
    """Return the picture of one prompt as SVG."""
    prompt = PROMPTS[kind]
    step = solver.decoder([prompt])[0]
    mask_LL = solver.decoder.model.mask
    before = solver.decoder.model.config.input_length
    tokens = [*prompt.ljust(before, PAD), START, *step.text]
    size = len(tokens)
    assert mask_LL.shape == (size, size)
    width, height = LEFT + size * CELL + 50, TOP + size * CELL + 14
    title = f"The {kind} type: {prompt} gives {step.text}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" role="img" aria-labelledby="title">',
        f'<title id="title">{title}</title>',
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
        _text(14, 24, title, size=15, ink=INK, weight=600, anchor="start"),
        _text(LEFT + before * CELL / 2, 48, "prompt", size=12),
        _text(LEFT + (before + 1 + size) * CELL / 2, 48, "output", size=12),
    ]
    for row, reader in enumerate(tokens):
        middle = TOP + row * CELL + CELL / 2 + 5
        lines.append(_text(LEFT - 14, middle, _shown(reader), ink=INK))
        lines.append(_text(LEFT + row * CELL + CELL / 2, TOP - 12, _shown(reader), ink=INK))
        for column in range(size):
            seen = float(mask_LL[row, column]) == 0.0
            lines.append(
                f'<rect x="{LEFT + column * CELL}" y="{TOP + row * CELL}" width="{CELL}" height="{CELL}" '
                f'fill="{SEEN if seen else HIDDEN}" stroke="{LINE}" data-seen="{int(seen)}"/>'
            )
        if before <= row < size - 1:
            lines.append(_text(LEFT + size * CELL + 24, middle, f"→ {tokens[row + 1]}", ink=WRITTEN, weight=600))
    return "\n".join([*lines, "</svg>", ""])


def _shown(token: str) -> str:
    return "\\n" if token == START else token


def _text(
    x: float, y: float, text: str, *, size: int = 14, ink: str = FAINT, weight: int = 400, anchor: str = "middle"
) -> str:
    style = f'font-size="{size}" font-weight="{weight}" fill="{ink}" text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{text}</text>'


def main() -> None:
    """Write both pictures."""
    solver = Solver.load()
    for kind in PROMPTS:
        (FIGURES / f"mask-{kind}.svg").write_text(drawing(solver, kind))


if __name__ == "__main__":
    main()
