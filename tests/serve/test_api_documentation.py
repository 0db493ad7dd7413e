"""The server matches its documentation: OpenAPI description, commands, limits, messages."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys

import httpx
import pytest

from tests.conftest import ROOT, Alga, program
from tests.serving import PAPER, events


def test_openapi_description_has_examples(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert {"/v1/add", "/v1/add/steps", "/v1/models", "/v1/certificate", "/v1/damage"} <= set(described["paths"])
    assert described["components"]["schemas"]["Numbers"]["examples"] == [PAPER]
    answer = described["paths"]["/v1/add"]["post"]["responses"]["200"]["content"]["application/json"]["example"]
    assert client.post("/v1/add", json=PAPER).json().items() >= answer.items()


def test_documented_commands_work_as_pasted(client: httpx.Client) -> None:
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


def test_documented_limits_match_the_command(client: httpx.Client, alga: Alga) -> None:
    limits = client.get("/v1/models").json()["limits"]
    text = (ROOT / "docs" / "serve.md").read_text()
    shown = re.findall(r"\| `(--[a-z-]+)` \| ([\d,]+) \|", text)
    names = {"--max-digits": "digits", "--max-steps": "steps", "--max-body": "body", "--max-damage": "damage"}
    assert len(shown) == 10
    assert {names.get(option, option[2:]) for option, _ in shown} == set(limits)
    for option, value in shown:
        assert limits[names.get(option, option[2:])] == int(value.replace(",", ""))
        assert option in alga("serve", "--help").out


def test_missing_server_packages_error_says_how_to_install(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("alga.serve.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delattr("alga.serve.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused = alga("serve", "--no-open")
    line = "alga: alga serve needs uvicorn: pip install 'alga-adder[serve]'\n"
    assert (refused.code, refused.err) == (2, line)


def test_taken_port_and_invalid_limit_are_one_line(alga: Alga) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = alga("serve", "--no-open", "--port", taken.getsockname()[1])
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "cannot listen on 127.0.0.1" in refused.err
    assert "concurrent must be at least 1" in alga("serve", "--concurrent", "0").err
