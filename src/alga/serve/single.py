"""The page as one file without a server: the network's table, the inside of every step, and a few damaged copies.

Its content security policy lists the hashes of its own scripts and styles, and allows no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from alga import export
from alga.base.errors import AlgaError
from alga.base.progress import Watch, unwatched
from alga.serve import content, damage, live
from alga.solve.solver import DEFAULT_MODEL, Solver
from alga.tasks import Procedure, Situation
from alga.tasks.procedure import SEPARATOR

if TYPE_CHECKING:
    from alga.network.decoder import Detail

PAGE: Final = Path(__file__).parent / "page"
LEVELS: Final = (-4.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 4.0, 8.0)  # added to the damaged weight
MOST_PROMPTS: Final = 5_000  # prompts: more would make a file of many megabytes
SMALLEST: Final = "smallest"  # the page draws this network whole, and the tour ends with it
RERUN: Final = ("task", "from_right", "fill", "repeats", "start", "after", "written", "ending")  # of a copy's table


def page(solver: Solver, watch: Watch = unwatched) -> bytes:
    """Return the page with all that one network answers, as one HTML file."""
    task = solver.trained
    _ = solver.run.config.step_tokens  # refuses a network without steps
    if not content.has_digit_columns(solver):
        raise AlgaError(f"a page cannot show {task.name}: its columns are not digits of numbers")
    if len(task.domain) > MOST_PROMPTS:
        raise AlgaError(
            f"a page holds up to {MOST_PROMPTS:,} prompts, {task.name} has {len(task.domain):,}; use alga serve"
        )
    return _one_file(_content(solver, watch), _later(solver)).encode()


def _content(solver: Solver, watch: Watch) -> dict[str, Any]:
    """Return what the page would have requested from a server."""
    described, domain, weight = content.model(solver), content.domain(solver), damage.default_weight(solver)
    certificate = solver.run.certificate if solver.certified else solver.certify()
    assert certificate is not None
    done, total = len(domain["cells"]), len(domain["cells"]) + len(LEVELS)
    inside = _inside(solver, domain["cells"], lambda cells, _: watch(cells, total))
    levels = []
    for amount in LEVELS:
        levels.append(_level(solver, weight, amount, domain["cells"]))
        watch(done := done + 1, total)
    table = json.loads(export.table(solver))
    return {
        "models": {"first": described["name"], "models": [described]},
        "certificate": content.certificate(certificate, base=solver.procedure.layout.base),
        "domain": domain,
        "table": table,
        "prompts": _odd_prompts(solver.procedure, [table, *(level["table"] for level in levels)]),
        "inside": inside,
        "weight": vars(weight),
        "levels": levels,
        "others": _others(solver),
    }


def _others(solver: Solver) -> dict[str, Any]:
    """Return the smallest network's answers, certificate and table, for the tour of the page of addition."""
    if solver.run.name != DEFAULT_MODEL or not solver.certified:
        return {}
    other = Solver.load(SMALLEST)
    certificate = other.run.certificate
    if certificate is None or not other.certified:
        return {}
    table = json.loads(export.table(other))
    return {
        SMALLEST: {
            "domain": content.domain(other),
            "certificate": content.certificate(certificate, base=other.procedure.layout.base),
            "table": {key: table[key] for key in RERUN},
        }
    }


def _later(solver: Solver) -> dict[str, Any]:
    """Return what the page reads when it is scrolled to: networks to run in the browser, and recorded trainings."""
    networks = {each.run.name: live.network(each) for each in (solver, Solver.load(SMALLEST))}
    return {"live": networks, "learned": json.loads((PAGE / "learned.json").read_text())}


def _inside(solver: Solver, cells: list[dict[str, Any]], watch: Watch) -> dict[str, Any]:
    """Return every step's probabilities (as -1000 ln p, two bytes each) and attention (in 255ths, a byte each)."""
    tokens, shape = solver.run.config.step_tokens, solver.run.config.model
    length, size = tokens.input_length + tokens.output_length, len(tokens.vocabulary)
    probabilities, attention = bytearray(), bytearray()
    for done, detail in enumerate(_details(solver, cells), start=1):
        rows = detail.probabilities.tolist()
        rows += [[1.0] * size] * (tokens.output_length - len(rows))
        for chance in (chance for row in rows[: tokens.output_length] for chance in row):
            probabilities += min(65_535, round(-1000 * math.log(max(chance, 1e-28)))).to_bytes(2, "little")
        for head in (head for heads in detail.attention.tolist() for head in heads):
            padded = [[*row, *[0.0] * (length - len(row))] for row in head]
            padded += [[0.0] * length] * (length - len(head))
            attention += bytes(round(255 * weight) for row in padded for weight in row)
        watch(done, len(cells))
    return {
        "vocabulary": list(tokens.vocabulary),
        "input": tokens.input_length,
        "output": tokens.output_length,
        "layers": shape.layers,
        "heads": shape.heads,
        "probabilities": base64.b64encode(probabilities).decode(),
        "attention": base64.b64encode(attention).decode(),
    }


def _details(solver: Solver, cells: list[dict[str, Any]]) -> list[Detail]:
    """Return the inside of every step; steps with outputs of one length are computed together."""
    found: dict[str, Detail] = {}
    for length in {len(cell["text"]) for cell in cells}:
        steps = [(cell["prompt"], cell["text"]) for cell in cells if len(cell["text"]) == length]
        opened = solver.step_decoder.details(steps)
        found |= {prompt: detail for (prompt, _), detail in zip(steps, opened, strict=True)}
    return [found[cell["prompt"]] for cell in cells]


def _level(solver: Solver, weight: damage.Weight, amount: float, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a damaged copy: its table, its certificate, and its outputs where they differ."""
    damaged, before = damage.damage(solver, weight, amount)
    judged = damaged.run.judged()
    certificate = judged.certificate
    assert certificate is not None
    now = content.domain(damaged)["cells"]
    example = damage.wrong_example(damaged, certificate)
    table = json.loads(export.table(Solver(judged)))
    return {
        "amount": amount,
        "weight": {**vars(weight), "before": before, "after": before + amount},
        "table": {key: table[key] for key in RERUN},
        "texts": {i: cell["text"] for i, cell in enumerate(now) if cell["text"] != cells[i]["text"]},
        "margins": [None if cell["margin"] is None else round(cell["margin"], 2) for cell in now],
        "certificate": content.certificate(certificate, base=solver.procedure.layout.base),
        "example": list(example) if example else None,
    }


def _odd_prompts(procedure: Procedure, tables: list[dict[str, Any]]) -> dict[str, str]:
    """Return the prompts that are not of the usual form: a column, or an output, `C` and a column."""
    usual: dict[Situation, str] = {(None, column): column for column in tables[0]["start"]}
    for before, columns in (after for table in tables for after in table["after"].items()):
        usual |= {(before, column): f"{before}{SEPARATOR}{column}" for column in columns}
    prompts = {situation: procedure.prompt(*situation) for situation in usual}
    odd = [situation for situation in usual if prompts[situation] != usual[situation]]
    return {f"{'null' if before is None else before} {column}": prompts[before, column] for before, column in odd}


def _one_file(data: dict[str, Any], later: dict[str, Any]) -> str:
    """Put the page's files and the data into one file, with a policy that allows nothing else.

    What is needed later comes last, so that the first answer does not wait for it.
    """
    html = (PAGE / "index.html").read_text()
    styles = [(PAGE / name).read_text() for name in re.findall(r'<link rel="stylesheet" href="([^"]+)">', html)]
    names = re.findall(r'<script src="([^"]+)" defer></script>', html)
    scripts = {name: (PAGE / name).read_text() for name in names}
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts.values())}; style-src {_hashes(styles)}; img-src data:; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="content-security-policy" content="{policy}">'
    html = re.sub(r'\n<(?:link rel="stylesheet"|script src=)[^\n]*', "", html)
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{meta}')
    html = html.replace("</head>", "".join(f"<style>{text}</style>\n" for text in styles) + "</head>")
    body = _json_block("alga-content", data)
    body += "".join(f'<script data-file="{name}">{text}</script>\n' for name, text in scripts.items())
    body += _json_block("alga-later", later)
    return html.replace("</body>", f"{body}</body>")


def _json_block(name: str, values: dict[str, Any]) -> str:
    text = content.as_json(values).decode().replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _hashes(texts: Iterable[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
