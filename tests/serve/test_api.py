"""The server: answers by the networks, steps as they are taken, and a clear JSON line for all that is refused."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from alga.base.errors import AlgaError
from alga.network.step import Step
from alga.runs import SHIPPED
from alga.serve import content, damage, single
from alga.serve.events import TraceListener
from alga.serve.limits import Limits, RefusedError, check_digits
from alga.serve.registry import ModelRegistry
from alga.solve.solver import Solver
from tests.conftest import ROOT, Alga, program
from tests.serving import serving

PAPER = {"operands": ["65785", "8765"]}
STEPS = ["55", "10C86", "15C77", "15C58", "14C6"]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving() as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


def events(text: str) -> list[tuple[str, object]]:
    found = re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)
    return [(name, json.loads(data)) for name, data in found]


@pytest.mark.parametrize("engine", [None, "table", "sequential", "lookahead"])
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
def test_the_other_operations_and_their_steps(
    client: httpx.Client, verb: str, operands: list[str], answer: str
) -> None:
    assert client.post(f"/v1/{verb}", json={"operands": operands}).json()["answer"] == answer
    told = events(client.post(f"/v1/{verb}/steps", json={"operands": operands}).text)
    assert told[0][0] == "problem"
    assert told[-1][0] == "done"
    assert told[-1][1]["answer"] == answer  # type: ignore[index]


NO_NUMBERS = {
    "": "a number needs at least one digit, got the empty text",
    "+5": "a number has only the digits 0-9, got '+' at position 1",
    "٣": "a number has only the digits 0-9, got '٣' at position 1",
    "1.5": "a number has only the digits 0-9, got '.' at position 2",
    "1,234": "a number has only the digits 0-9, got ',' at position 2",
    "12 345": "a number has only the digits 0-9, got ' ' at position 3",
    "-": "a number needs at least one digit, got the empty text",
    "--5": "a number has only the digits 0-9, got '-' at position 2",
    "-1.5": "a number has only the digits 0-9, got '.' at position 3",
}


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("verb", ["add", "sub", "mul", "divmod", "cmp"])
def test_what_is_no_number_is_refused_in_plain_words(client: httpx.Client, verb: str, text: str) -> None:
    asked = [({"operands": ["-7", text]}, ""), ({"operands": [text, "7"]}, "/steps")]
    asked += [({"operands": [text, "7"], "engine": engine}, "") for engine in ("table", "sequential")]
    asked += [({"operands": ["7", text], "engine": "lookahead"}, "")] if verb == "add" and text[:1] != "-" else []
    for request, steps in asked:
        response = client.post(f"/v1/{verb}{steps}", json=request)
        assert (response.status_code, response.json()) == (422, {"error": NO_NUMBERS[text]}), request


def test_steps_are_those_of_the_paper(client: httpx.Client, adder: Solver) -> None:
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


def test_a_first_step_arrives_before_the_last_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_reader_who_leaves_frees_the_worker() -> None:
    """A trace that would take hours ends soon after its reader is gone; meanwhile no other thread is free for one."""
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


def test_the_domain_is_whole_and_the_models_are_all_there(client: httpx.Client) -> None:
    domain = client.get("/v1/domain").json()
    assert (len(domain["cells"]), len(domain["contexts"]), len(domain["columns"])) == (2300, 21, 110)
    assert all(cell["text"] == cell["expected"] and cell["margin"] > 14 for cell in domain["cells"])
    models = client.get("/v1/models").json()
    assert {model["name"] for model in models["models"]} == set(ModelRegistry().names)
    certificate = client.get("/v1/certificate", params={"model": "parity"}).json()
    assert (certificate["certified"], certificate["prompts"]) == (True, 6)
    assert "induction over the columns" in " ".join(certificate["words"])
    assert client.get("/healthz").json()["ok"] is True


def test_a_step_is_laid_open(client: httpx.Client) -> None:
    step = client.get("/v1/step", params={"prompt": "15C77"}).json()
    assert (step["text"], step["tokens"][:5]) == ("15S", list("15C77"))
    assert [max(zip(row, step["vocabulary"], strict=True))[1] for row in step["probabilities"]] == list("15S")
    assert all(abs(sum(row) - 1) < 1e-4 for layer in step["attention"] for head in layer for row in head)


def test_damage_is_done_to_a_copy(client: httpx.Client) -> None:
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


def test_a_sign_is_no_digit() -> None:
    check_digits(["-" + "1" * 10, "1" * 10], 10)
    with pytest.raises(RefusedError, match="up to 10 digits here, got 11"):
        check_digits(["1" * 11], 10)


JSON = {"content-type": "application/json"}
REFUSALS = [
    ("post", "/v1/add", {"json": {"operands": ["12x", "1"]}}, 422, "got 'x' at position 3"),
    ("post", "/v1/add", {"json": {"operands": ["1"]}}, 422, "operands"),
    ("post", "/v1/add", {"json": {"operands": [1, 2]}}, 422, "string"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "engin": "table"}}, 422, "engin"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "engine": "abacus"}}, 422, "engine"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "model": "../../etc"}}, 404, "no model"),
    ("post", "/v1/add", {"json": {"operands": ["1", "2"], "model": "times-a-digit"}}, 422, "does not add"),
    ("post", "/v1/add", {"json": {"operands": ["1" * 100_001, "2"]}}, 413, "up to 100,000 digits"),
    ("post", "/v1/add", {"content": b"x" * 1_000_001}, 413, "1,000,000 bytes"),
    ("post", "/v1/add", {"content": b'{"operands":', "headers": JSON}, 422, "json"),
    ("post", "/v1/add", {"content": b"\xff\xfe", "headers": JSON}, 422, ""),
    ("post", "/v1/divmod", {"json": {"operands": ["1", "0"]}}, 422, "divided by zero"),
    ("post", "/v1/mul", {"json": {"operands": ["1", "2", "3"]}}, 422, "takes two numbers"),
    ("post", "/v1/add/steps", {"json": {"operands": ["12x", "1"]}}, 422, "got 'x'"),
    ("post", "/v1/add/steps", {"json": {"operands": ["1" * 20_001, "1"]}}, 413, "up to 20,000 digits"),
    ("get", "/v1/step", {"params": {"prompt": "15C777"}}, 422, "takes up to 5"),
    ("get", "/v1/step", {"params": {"prompt": "abc"}}, 422, "not in the vocabulary"),
    ("post", "/v1/damage", {"json": {"amount": 1, "tensor": "heart"}}, 422, "no tensor 'heart'"),
    ("post", "/v1/damage", {"json": {"amount": 1, "index": 10**6}}, 422, "numbers 0 to"),
    ("post", "/v1/damage", {"json": {"amount": 1, "problem": {"verb": "sub", "operands": ["5", "x"]}}}, 422, "got 'x'"),
    ("post", "/v1/damage", {"json": {"amount": 1, "problem": {"verb": "sub", "operands": ["1"] * 3}}}, 422, "two numb"),
    (
        "post",
        "/v1/damage",
        {"json": {"amount": 1, "problem": {"verb": "mul", **PAPER}, "model": "comparison"}},
        422,
        "does not mul",
    ),
    ("get", "/v1/domain", {"params": {"model": "abacus"}}, 404, "no model"),
    ("get", "/v1/add", {}, 405, "not allowed"),
    ("get", "/../../etc/passwd", {}, 404, "not found"),
    ("get", "/page.py", {}, 404, "not found"),
]


@pytest.mark.parametrize(("method", "path", "request_", "status", "said"), REFUSALS)
def test_what_is_refused_is_told_in_one_json_line(
    client: httpx.Client, method: str, path: str, request_: dict[str, object], status: int, said: str
) -> None:
    response = client.request(method, path, **request_)  # type: ignore[arg-type]
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert said in response.json()["error"].lower()
    assert not re.search(r"/(home|root|work|tmp|usr)\b|Traceback|\.py\b", response.text.replace("page.py", ""))


def test_too_many_steps_end_a_stream_on_the_way() -> None:
    with serving(Limits(steps=200)) as address:
        response = httpx.post(f"{address}/v1/mul/steps", json={"operands": ["7" * 60, "9" * 60]}, timeout=60)
    name, data = events(response.text)[-1]
    assert name == "error"
    assert "more than 200 steps" in str(data)


def test_every_answer_has_a_strict_policy(client: httpx.Client) -> None:
    for path in ("/", "/page.js", "/page.css", "/v1/models", "/nothing", "/openapi.json"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert "server" not in headers


def test_the_page_names_no_other_place(client: httpx.Client) -> None:
    files = [path for path in sorted(single.PAGE.iterdir()) if path.suffix in (".html", ".css", ".js")]
    assert len(files) == 12
    for path in files:
        assert client.get("/" if path.name == "index.html" else f"/{path.name}").text == path.read_text()
        links = set(re.findall(r"https?://[^\s'\"]+", path.read_text()))
        assert links <= {"http://www.w3.org/2000/svg"}, "a name, not an address"


def test_a_run_folder_is_served_under_its_last_name(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "addition", tmp_path / "mine")
    with serving(models=(str(tmp_path / "mine"),)) as address, httpx.Client(base_url=address, timeout=30) as client:
        assert client.get("/v1/models").json()["first"] == "mine"
        for path, body in (("/v1/add", {**PAPER, "model": "mine"}), ("/v1/damage", {"amount": 1.0, "model": "mine"})):
            response = client.post(path, json=body)
            assert response.json()["model"] == "mine"
            assert str(tmp_path) not in response.text
        ahead = client.post("/v1/add", json={**PAPER, "model": "mine", "engine": "lookahead"})
        assert ahead.status_code == 422
        assert "the model mine cannot look ahead" in ahead.json()["error"]
    with pytest.raises(AlgaError, match="neither a run folder nor shipped"):
        ModelRegistry([str(tmp_path / "nothing")])


def test_a_server_that_is_too_busy_says_so_and_goes_on() -> None:
    with serving(Limits(concurrent=1, waiting=0, seconds=20)) as address:
        slow = {"operands": ["9" * 20_000, "1"], "engine": "sequential"}
        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(httpx.post, f"{address}/v1/add", json=slow, timeout=60) for _ in range(6)]
            codes = [future.result().status_code for future in asked]
        assert set(codes) == {200, 503}
        assert httpx.post(f"{address}/v1/add", json=PAPER).json()["answer"] == "74550"


def test_work_that_takes_too_long_is_stopped() -> None:
    with serving(Limits(seconds=1)) as address:
        httpx.post(f"{address}/v1/add", json={**PAPER, "engine": "sequential"}, timeout=60)  # opens the network
        response = httpx.post(f"{address}/v1/mul", json={"operands": ["7" * 90_000, "8" * 90_000]}, timeout=60)
        assert response.status_code == 504
        assert "longer than 1 seconds" in response.json()["error"]
        assert httpx.get(f"{address}/healthz").status_code == 200


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ", 408, "no whole request"),
        (b"POST /v1/add HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 50\r\n\r\n{", 408, "took longer than 1 seconds"),
        (b"hello there\r\n\r\n", 400, "invalid http request"),
    ],
)
def test_a_request_that_does_not_end_is_ended(sent: bytes, status: int, said: str) -> None:
    with serving(Limits(seconds=1)) as address, socket.create_connection(("127.0.0.1", urlsplit(address).port)) as raw:
        raw.sendall(sent)
        raw.settimeout(10)
        got = b""
        while piece := raw.recv(4096):
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.startswith(f"HTTP/1.1 {status}".encode())
        assert said in json.loads(body)["error"]


def test_the_openapi_description_has_examples(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert {"/v1/add", "/v1/add/steps", "/v1/models", "/v1/certificate", "/v1/damage"} <= set(described["paths"])
    assert described["components"]["schemas"]["Numbers"]["examples"] == [PAPER]
    answer = described["paths"]["/v1/add"]["post"]["responses"]["200"]["content"]["application/json"]["example"]
    assert client.post("/v1/add", json=PAPER).json().items() >= answer.items()


def test_the_documented_commands_work_as_pasted(client: httpx.Client) -> None:
    program("curl")
    text = (ROOT / "docs" / "serve.md").read_text()
    (commands,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    said = []
    for command in commands.splitlines():
        here = command.replace("http://127.0.0.1:8765", str(client.base_url).rstrip("/"))
        said.append(subprocess.run(["bash", "-c", here], capture_output=True, text=True, check=True).stdout)
    assert [json.loads(text)["answer"] for text in said[:3]] == ["74550", "-1776", "100"]
    assert events(said[3])[-1][0] == "done"
    assert not any('"error"' in text for text in said)


def test_the_documented_limits_are_those_of_the_command(client: httpx.Client, alga: Alga) -> None:
    limits = client.get("/v1/models").json()["limits"]
    text = (ROOT / "docs" / "serve.md").read_text()
    shown = re.findall(r"\| `(--[a-z-]+)` \| ([\d,]+) \|", text)
    names = {"--max-digits": "digits", "--max-steps": "steps", "--max-body": "body", "--max-damage": "damage"}
    assert len(shown) == 10
    assert {names.get(option, option[2:]) for option, _ in shown} == set(limits)
    for option, value in shown:
        assert limits[names.get(option, option[2:])] == int(value.replace(",", ""))
        assert option in alga("serve", "--help").out


def test_without_its_packages_the_error_says_how_to_get_them(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("alga.serve.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delattr("alga.serve.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused = alga("serve", "--no-open")
    line = "alga: alga serve needs uvicorn: in ALGA's checkout, pip install -e '.[serve]'\n"
    assert (refused.code, refused.err) == (2, line)


def test_a_port_that_is_taken_and_a_senseless_limit_are_told_in_one_line(alga: Alga) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = alga("serve", "--no-open", "--port", taken.getsockname()[1])
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "cannot listen on 127.0.0.1" in refused.err
    assert "concurrent must be at least 1" in alga("serve", "--concurrent", "0").err


def test_the_single_file_holds_what_the_network_answers(tmp_path: Path, alga: Alga) -> None:
    out = tmp_path / "comparison.html"
    written = alga("export", out, "--model", "comparison")
    assert written.code == 0, written.err
    html = out.read_text()
    policy = re.search(r'content-security-policy" content="([^"]*)"', html)
    assert policy is not None
    for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL):
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy[1]
    held = json.loads(re.search(r'id="alga-content">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    network = Solver.load("comparison")
    assert held["domain"] == json.loads(json.dumps(content.domain(network)))
    assert held["weight"] == vars(damage.default_weight(network))
    assert [level["amount"] for level in held["levels"]] == list(single.LEVELS)
    refused = alga("export", tmp_path / "x.html", "--model", "addition-lookahead")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "up to 5,000 prompts" in alga("export", tmp_path / "x.html", "--model", "addition-base-16").err
