"""The server: answers by the networks, and steps as they are computed."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import shutil
import threading
import time
from pathlib import Path

import httpx
import pytest

from alga import runs
from alga.base.errors import AlgaError
from alga.network.step import Step
from alga.runs import SHIPPED
from alga.serve import content, damage, live, single
from alga.serve.events import TraceListener
from alga.serve.limits import Limits
from alga.serve.registry import ModelRegistry
from alga.solve.solver import Solver
from tests.conftest import Alga
from tests.serving import PAPER, events, serving

STEPS = ["55", "10C86", "15C77", "15C58", "14C6"]


@pytest.mark.parametrize("engine", [None, "table", "sequential", "lookahead", "whole"])
def test_every_engine_adds_over_http(client: httpx.Client, engine: str | None) -> None:
    answer = client.post("/v1/add", json={**PAPER, "engine": engine}).json()
    assert (answer["answer"], answer["certified"], answer["operands"]) == ("74550", True, ["65785", "8765"])
    assert answer["engine"] == (engine or "table")


@pytest.mark.parametrize(
    ("verb", "operands", "answer"),
    [
        ("add", ["-5", "3"], "-2"),
        ("add", ["1", "22", "333"], "356"),
        ("sub", ["1000", "1"], "999"),
        ("mul", ["-37", "48"], "-1776"),
        ("divmod", ["1000", "37"], "27 1"),
        ("cmp", ["99", "100"], "<"),
    ],
)
def test_other_operations_and_their_steps_are_served(
    client: httpx.Client, verb: str, operands: list[str], answer: str
) -> None:
    assert client.post(f"/v1/{verb}", json={"operands": operands}).json()["answer"] == answer
    told = events(client.post(f"/v1/{verb}/steps", json={"operands": operands}).text)
    assert told[0][0] == "problem"
    assert told[-1][0] == "done"
    assert told[-1][1]["answer"] == answer  # type: ignore[index]


@pytest.mark.parametrize(("verb", "expected"), [("add", ["3", "70", "-2"]), ("mul", ["2", "1200", "-15"])])
def test_many_problems_are_answered_at_once(client: httpx.Client, verb: str, expected: list[str]) -> None:
    problems = [["1", "2"], ["30", "40"], ["-5", "3"]]
    told = client.post(f"/v1/{verb}/many", json={"problems": problems}).json()
    assert (told["answers"], told["certified"], told["engine"]) == (expected, True, "table")
    many = client.post("/v1/add/many", json={"problems": [[str(i), str(i * i)] for i in range(3000)]}).json()
    assert many == {
        "engine": "table", "model": "addition", "answers": [str(i + i * i) for i in range(3000)], "certified": True,
    }  # fmt: skip
    for bad, status in (
        ([["1", "x"]], 422),
        ([["1"]], 422),
        ([], 422),
        ([["1", "2", "3"]], 200 if verb == "add" else 422),
    ):
        assert client.post(f"/v1/{verb}/many", json={"problems": bad}).status_code == status


def test_steps_match_the_paper(client: httpx.Client, adder: Solver) -> None:
    response = client.post("/v1/add/steps", json=PAPER)
    assert response.headers["content-type"].startswith("text/event-stream")
    told = events(response.text)
    steps = [step for name, data in told if name == "steps" for step in data]  # type: ignore[attr-defined]
    assert [step["prompt"] for step in steps] == STEPS
    assert [step["expected"] for step in steps] == [step["text"] for step in steps]
    assert [step["text"] for step in steps] == [step.text for step in adder.trace(*PAPER["operands"]).steps]
    assert [(step["written"], step["carry"]) for step in steps] == [
        ("0", "1"),
        ("5", "1"),
        ("5", "1"),
        ("4", "1"),
        ("7", ""),
    ]


def test_first_step_arrives_before_the_last_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived, step, taken = threading.Event(), TraceListener.step, itertools.count(1)

    def waiting(sender: TraceListener, one: Step) -> None:
        step(sender, one)
        if next(taken) == 1000:
            assert arrived.wait(60)

    monkeypatch.setattr(TraceListener, "step", waiting)
    with (
        serving() as address,
        httpx.stream("POST", f"{address}/v1/add/steps", json={"operands": ["9" * 1000, "1"]}, timeout=60) as response,
    ):
        text = ""
        for piece in response.iter_text():
            text += piece
            if "event: steps" in text:
                arrived.set()
    assert text.count("event: done") == 1
    assert next(taken) == 1001


def test_disconnecting_reader_frees_the_worker() -> None:
    """A trace that would take hours ends soon after its reader disconnects; until then the only thread is busy."""
    with serving(Limits(concurrent=1, waiting=0, seconds=3000, steps=10**9)) as address:
        long, other = {"operands": ["7" * 20_000, "9" * 20_000]}, {"operands": ["7" * 2000, "9"]}
        with httpx.stream("POST", f"{address}/v1/mul/steps", json=long, timeout=60) as response:
            pieces = response.iter_text()
            next(pieces)
            assert httpx.post(f"{address}/v1/add/steps", json=other, timeout=60).status_code == 503
        until = time.monotonic() + 60
        while (status := httpx.post(f"{address}/v1/add/steps", json=other, timeout=60).status_code) == 503:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert status == 200


def test_domain_and_model_list_are_complete(client: httpx.Client) -> None:
    domain = client.get("/v1/domain").json()
    assert (len(domain["cells"]), len(domain["contexts"]), len(domain["columns"])) == (2300, 21, 110)
    assert all(cell["text"] == cell["expected"] and cell["margin"] > 14 for cell in domain["cells"])
    models = client.get("/v1/models").json()
    assert {model["name"] for model in models["models"]} == set(ModelRegistry().names)
    assert set(ModelRegistry().names) == {*runs.shipped()} - {"whole-of-three"}  # which takes seconds to open
    assert set(ModelRegistry(["whole-of-three"]).names) == {*runs.shipped()}
    certificate = client.get("/v1/certificate", params={"model": "parity"}).json()
    assert (certificate["certified"], certificate["prompts"]) == (True, 6)
    assert "induction over the columns" in " ".join(certificate["words"])
    assert client.get("/healthz").json()["ok"] is True


def test_step_is_explained(client: httpx.Client) -> None:
    step = client.get("/v1/step", params={"prompt": "15C77"}).json()
    assert (step["text"], step["tokens"][:5]) == ("15S", list("15C77"))
    assert [max(zip(row, step["vocabulary"], strict=True))[1] for row in step["probabilities"]] == list("15S")
    assert all(abs(sum(row) - 1) < 1e-4 for layer in step["attention"] for head in layer for row in head)


def test_damage_is_applied_to_a_copy(client: httpx.Client) -> None:
    report = client.post("/v1/damage", json={"amount": 2.0}).json()
    assert not report["certificate"]["certified"]
    wrong = [cell for cell in report["domain"]["cells"] if cell["text"] != cell["expected"]]
    assert 0 < len(wrong) <= report["certificate"]["wrong"]
    assert report["solved"]["answer"] != report["solved"]["exact"]
    hurt = client.get("/v1/step", params={"prompt": wrong[0]["prompt"], "amount": 2.0}).json()
    assert hurt["text"] == wrong[0]["text"]
    assert client.get("/v1/step", params={"prompt": wrong[0]["prompt"]}).json()["text"] == wrong[0]["expected"]
    assert client.post("/v1/add", json=PAPER).json()["certified"] is True
    healthy = client.post("/v1/damage", json={"amount": 0.0, "problem": {"verb": "add", **PAPER}}).json()
    assert healthy["certificate"]["certified"]
    assert (healthy["solved"]["answer"], healthy["solved"]["certified"]) == ("74550", True)


def test_every_response_has_a_strict_content_policy(client: httpx.Client) -> None:
    for path in ("/", "/page.js", "/page.css", "/v1/models", "/nothing", "/openapi.json"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert "server" not in headers


def test_page_refers_to_no_other_site(client: httpx.Client) -> None:
    files = [path for path in sorted(single.PAGE.iterdir()) if path.suffix in (".html", ".css", ".js")]
    named = re.findall(r'(?:href|src)="([\w-]+\.(?:css|js))"', (single.PAGE / "index.html").read_text())
    assert {path.name for path in files} == {"index.html", *named}
    for path in files:
        assert client.get("/" if path.name == "index.html" else f"/{path.name}").text == path.read_text()
        links = set(re.findall(r"https?://[^\s'\"]+", path.read_text()))
        assert links <= {"http://www.w3.org/2000/svg"}, "a name, not an address"


def test_network_that_reads_whole_texts_is_served(client: httpx.Client) -> None:
    answer = client.post("/v1/add", json={**PAPER, "model": "whole"}).json()
    assert (answer["answer"], answer["engine"], answer["certified"]) == ("74550", "whole", True)
    words = client.get("/v1/certificate", params={"model": "whole"}).json()["words"]
    assert any("everything else in the text" in each.lower() for each in words)
    (row,) = [each for each in client.get("/v1/models").json()["models"] if each["name"] == "whole"]
    assert (row["prompts"], row["engine"], row["verbs"]) == (24_741, "whole", ["add"])
    steps = client.post("/v1/add/steps", json={**PAPER, "model": "whole"})
    assert steps.status_code == 422
    assert "runs by the engine whole only" in steps.json()["error"]
    step = client.get("/v1/step", params={"prompt": "5+5=", "model": "whole"})
    assert step.status_code == 422
    assert "reads whole texts" in step.json()["error"]


def test_run_folder_is_served_under_its_last_name(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "addition", tmp_path / "mine")
    with serving(models=(str(tmp_path / "mine"),)) as address, httpx.Client(base_url=address, timeout=30) as client:
        assert client.get("/v1/models").json()["first"] == "mine"
        for path, body in (("/v1/add", {**PAPER, "model": "mine"}), ("/v1/damage", {"amount": 1.0, "model": "mine"})):
            response = client.post(path, json=body)
            assert response.json()["model"] == "mine"
            assert str(tmp_path) not in response.text
        ahead = client.post("/v1/add", json={**PAPER, "model": "mine", "engine": "lookahead"})
        assert ahead.status_code == 422
        assert "the model mine does not run by the engine lookahead" in ahead.json()["error"]
    with pytest.raises(AlgaError, match="neither a run folder nor shipped"):
        ModelRegistry([str(tmp_path / "nothing")])


def test_single_file_matches_the_network(tmp_path: Path, alga: Alga) -> None:
    out = tmp_path / "comparison.html"
    written = alga("export", out, "--model", "comparison")
    assert written.code == 0, written.err
    html = out.read_text()
    policy = re.search(r'content-security-policy" content="([^"]*)"', html)
    assert policy is not None
    scripts = re.findall(r'<script data-file="[^"]+">(.*?)</script>', html, re.DOTALL)
    assert len(scripts) == html.count("<script") - 2 > 10
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy[1]
    held = json.loads(re.search(r'id="alga-content">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    later = json.loads(re.search(r'id="alga-later">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    network = Solver.load("comparison")
    assert later["live"] == {name: live.network(Solver.load(name)) for name in ("comparison", "smallest")}
    assert [len(run["right"]) > 20 for run in later["learned"]["runs"]]
    assert held["domain"] == json.loads(json.dumps(content.domain(network)))
    assert held["weight"] == vars(damage.default_weight(network))
    assert [level["amount"] for level in held["levels"]] == list(single.LEVELS)
    refused = alga("export", tmp_path / "x.html", "--model", "addition-lookahead")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "up to 5,000 prompts" in alga("export", tmp_path / "x.html", "--model", "addition-base-16").err
