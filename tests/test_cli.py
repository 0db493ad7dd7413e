"""The command line: answers, JSON with stable keys, exit codes, and one clear line for each mistake."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from alga import tasks
from alga.calculator import Calculator, load
from alga.cli import app, screen
from alga.errors import AlgaError
from alga.runs import SHIPPED
from alga.studies.published import SUMS
from alga.training import Training
from tests.conftest import Alga, Result, tiny
from tests.test_engines import FIRST

ADD_KEYS = [
    "task", "engine", "model", "operands", "answer", "steps", "rounds", "generated_tokens", "certified",
    "network_calls", "base", "certificates",
]  # fmt: skip
CERTIFY_KEYS = {
    "certified", "task", "strength", "prompts", "failures", "least_margin", "parameters", "sha256", "dtype",
}  # fmt: skip


def test_add_prints_the_sum(alga: Alga) -> None:
    assert alga("add", "65785", "8765") == Result(0, "74550\n", "")


@pytest.mark.parametrize(("x", "y", "published"), SUMS)
def test_the_authors_published_sums_come_out(alga: Alga, x: str, y: str, published: str) -> None:
    assert alga("add", x, y).out == f"{published}\n"
    assert tasks.find("addition").answer(x, y) == published


def test_add_trace_prints_the_papers_table(alga: Alga) -> None:
    assert alga("add", "65785", "8765", "--trace").out == f"{FIRST}\n"


def test_more_than_two_numbers_are_folded(alga: Alga) -> None:
    assert alga("add", "1", "22", "333", "4444").out == "4800\n"
    assert json.loads(alga("add", "1", "22", "333", "--json").out)["steps"] == 3  # three at once
    assert json.loads(alga("add", "1", "22", "333", "--model", "addition", "--json").out)["steps"] == 5
    assert "  23+333 = 356" in alga("add", "1", "22", "333", "--model", "addition", "--trace").out


def test_add_json_has_its_keys_in_order(alga: Alga) -> None:
    content = json.loads(alga("add", "65785", "8765", "--json").out)
    assert list(content) == ADD_KEYS
    assert (content["answer"], content["steps"], content["certified"]) == ("74550", 5, True)
    traced = json.loads(alga("add", "5", "5", "--json", "--trace").out)
    assert list(traced) == [*ADD_KEYS, "trace"]
    assert traced["trace"][0]["output"] == "10S"


def test_numbers_come_from_files_and_standard_input(
    alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("99\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("0001\r\n"))
    assert alga("add", f"@{tmp_path / 'a'}", "-").out == "100\n"


def test_out_writes_the_answer_to_a_file(alga: Alga, tmp_path: Path) -> None:
    assert alga("add", "2", "2", "--out", tmp_path / "sum").out == ""
    assert (tmp_path / "sum").read_text() == "4\n"


def test_pairs_are_answered_a_line_each_in_order(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i}{'+' if i % 2 else ' '}{7 * i}" for i in range(1100)]  # more than are solved side by side
    (tmp_path / "pairs").write_text("\n".join(lines))
    assert alga("add", "--pairs", tmp_path / "pairs").out.split() == [str(8 * i) for i in range(1100)]
    alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums")
    assert (tmp_path / "sums").read_text().split() == [str(8 * i) for i in range(1100)]
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 2\n3+4\n"))
    as_json = [json.loads(line) for line in alga("add", "--pairs", "-", "--json").out.splitlines()]
    assert [line["answer"] for line in as_json] == ["3", "7"]
    assert list(as_json[0]) == ADD_KEYS


def test_certify_says_what_was_checked(alga: Alga, tmp_path: Path) -> None:
    judged = alga("certify", "--json", "--out", tmp_path / "certificate.json")
    content = json.loads((tmp_path / "certificate.json").read_text())
    assert (judged.code, judged.out) == (0, "")
    assert content.keys() >= CERTIFY_KEYS
    assert (content["certified"], content["prompts"], content["strength"]) == (True, 2300, "checked")
    assert content["failures"] == []
    assert content["sha256"] == hashlib.sha256((SHIPPED / "addition" / "model.safetensors").read_bytes()).hexdigest()


def test_certify_judges_what_it_loads_whatever_certificate_lies_beside(alga: Alga, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    list(Training.start(folder, tiny(), seed=5).run())
    (folder / "certificate.json").write_text("nonsense")
    assert alga("certify", folder).out.startswith("6 / 6 prompts right, on this machine\ncertified for parity")


def test_train_ends_with_a_certificate(alga: Alga, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.recipes.find", lambda name, task: tiny())
    done = alga("train", "--seed", "5", "--out", tmp_path / "run")
    assert done.code == 0
    assert "certified for parity of any length" in done.out
    short = alga("train", "--steps", "2", "--out", tmp_path / "short", "--json")
    assert short.code == 1
    assert json.loads(short.out)["certified"] is False
    assert (tmp_path / "short" / "checkpoint.safetensors").exists()
    longer = alga("train", "--resume", tmp_path / "short", "--steps", "400")
    assert longer.code == 0


@pytest.fixture
def uncertified(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(SHIPPED / "addition", tmp_path / "uncertified"))
    (folder / "certificate.json").unlink()
    return folder


def test_a_model_without_certificate_answers_with_a_warning(alga: Alga, uncertified: Path) -> None:
    said = alga("add", "2", "2", "--model", uncertified, "--json")
    assert said.code == 0
    assert json.loads(said.out)["certified"] is False
    assert "has no certificate" in said.err


def test_a_failed_step_is_told_and_ends_with_1(alga: Alga, tmp_path: Path) -> None:
    calculator = load()
    with torch.no_grad():
        calculator.run.model.head.weight[1] = 0.0  # the row of S: now it hardly ever stops
        calculator.run.model.head.weight[1, 0] = -1e4
    calculator.save_pretrained(tmp_path / "endless")
    failed = alga("add", "12", "34", "--model", tmp_path / "endless", "--json")
    content = json.loads(failed.out)
    assert (failed.code, content["answer"]) == (1, None)
    assert "the network failed at step" in content["failure"]
    assert content["failure"] in failed.err
    assert alga("add", "12", "34", "--model", tmp_path / "endless").out == ""


# Every mistake: one line on stderr, exit code 2, nothing on stdout.
def test_pairs_take_tabs_several_spaces_and_carriage_returns(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_bytes(b"1\t2\r\n 3   4 \r\n5 + 6\r\n")
    assert alga("add", "--pairs", tmp_path / "pairs").out.split() == ["3", "7", "11"]


def test_no_pairs_give_no_answers(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "pairs").touch()
    assert alga("add", "--pairs", tmp_path / "pairs", "--out", tmp_path / "sums") == Result(0, "", "")
    assert (tmp_path / "sums").read_bytes() == b""


def test_a_closed_standard_input_is_told(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for arguments in (["add", "-", "1"], ["add", "--pairs", "-"]):
        result = alga(*arguments)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "standard input, which is closed" in result.err


def test_a_reader_that_has_had_enough_ends_it_quietly(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("1 2\n" * 20_000)
    command = f"{sys.executable} -m alga add --pairs {tmp_path / 'pairs'} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_binary_input_is_refused(alga: Alga, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for arguments in (["add", f"@{tmp_path / 'binary'}", "1"], ["add", "--pairs", tmp_path / "binary"]):
        result = alga(*arguments)
        assert result.code == 2
        assert "holds something other than text" in result.err


def test_a_certificate_for_other_weights_stops_add_with_2(alga: Alga, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SHIPPED / "addition", tmp_path / "run"))
    content = json.loads((folder / "certificate.json").read_text())
    (folder / "certificate.json").write_text(json.dumps({**content, "sha256": "0" * 64}))
    result = alga("add", "1", "2", "--model", folder)
    assert (result.code, result.out) == (2, "")
    assert "certificate is for other weights" in result.err


def test_a_model_for_something_else_does_not_add(alga: Alga) -> None:
    result = alga("add", "1", "1", "--model", "parity")
    assert result.code == 2
    assert "does no arithmetic: it computes whether a binary number has an odd number of ones" in result.err


def test_an_output_folder_that_holds_a_run_is_left_alone(alga: Alga, tmp_path: Path) -> None:
    list(Training.start(tmp_path / "run", tiny(steps=2), seed=5).run())
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    result = alga("train", "--out", tmp_path / "run")
    assert result.code == 2
    assert "already holds a run" in result.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_help_is_given_with_an_example_for_every_verb(alga: Alga) -> None:
    assert "Example: alga" in alga("--help").out
    verbs = [
        command.name or command.callback.__name__.strip("_") for command in app.registered_commands if command.callback
    ]
    assert len(verbs) > 20
    for verb in verbs:
        assert f"Example: alga {verb}" in alga(verb, "--help").out


def test_help_mistakes_and_certified_sums_do_not_wait_for_torch() -> None:
    script = "import sys; sys.argv = {!r}; import alga.cli\ntry: alga.cli.main()\nexcept SystemExit: pass\n"
    script += (
        "slow = [name for name in ('torch', 'numpy', 'numba', 'matplotlib') if name in sys.modules]\nassert not slow"
    )
    sums = (["add", "65785", "8765"], ["add", "9" * 5000, "1", "--json"])
    for arguments in (["--help"], ["add", "--help"], ["train", "--help"], ["--version"], ["add", "5"], *sums):
        done = subprocess.run(
            [sys.executable, "-c", script.format(["alga", *arguments])], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_devices_and_pipes_are_written_to_and_nothing_is_replaced(tmp_path: Path) -> None:
    alga = f"{sys.executable} -m alga"
    script = f"""cd {tmp_path}; echo keep > log
    {alga} add 1 2 --out /dev/stdout >> log; {alga} add 3 4 --out /dev/stdout | cat >> log
    {alga} add 5 6 2>&- >> log; seq -s '' 1 90 > a; {alga} add @a @a >&-; echo $? >> log"""
    subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert (tmp_path / "log").read_text().split() == ["keep", "3", "7", "11", "2"]


def test_what_is_not_text_is_refused_in_words(adder: Calculator) -> None:
    for engine in (None, "sequential", "lookahead"):
        with pytest.raises(AlgaError, match="a number is given as text of digits, got int"):
            adder.add(65785, 8765, engine=engine)  # type: ignore[arg-type]


def test_results_are_plain_when_piped(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "alga", "add", "2", "3"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")


def test_the_demo_shows_all_it_promises(alga: Alga) -> None:
    shown = alga("demo")
    assert shown.code == 0
    assert "2,300 / 2,300 prompts right" in shown.out
    assert FIRST in shown.out
    assert all(published in shown.out for _, _, published in SUMS)
    assert shown.out.count("right") >= 4
    assert "WRONG" not in shown.out


def test_the_demo_does_not_hide_a_wrong_network(alga: Alga, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alga.studies.published.SUMS", (("2", "2", "5"),))
    monkeypatch.setattr("alga.calculator.Calculator.certify", lambda self, watch: self.run.certificate)
    shown = alga("demo")
    assert shown.code == 1
    assert "WRONG" in shown.out


def test_the_time_left_counts_only_what_was_done_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 10.0, 40.0, 50.0, 60.0, 80.0])
    monkeypatch.setattr("alga.cli.screen.time.monotonic", lambda: next(clock))
    watch = screen._plain("runs")
    for done in (40, 42, 43):  # forty were there when it went on
        watch(done, 50)
    for done in (0, 1):  # and this is the next piece of work
        watch(done, 7)
    assert capsys.readouterr().err.splitlines() == [
        "runs: 40 of 50",
        "runs: 42 of 50, about 160 s left",
        "runs: 43 of 50, about 117 s left",
        "runs: 0 of 7",
        "runs: 1 of 7, about 120 s left",
    ]
