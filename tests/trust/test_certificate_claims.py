"""A contradictory certificate cannot be made, and the statement claims no more than holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.network.step import Decode, Step
from alga.trust.certificate import Bound, Certificate, Failure, Proof, certify
from alga.trust.table import UNCERTAIN, Answers, Table, extract

PARITY = tasks.find("parity")
IDENTITY: Any = {
    "sha256": "0" * 64, "parameters": 1234, "dtype": "float32", "batch_sizes": (1, 6), "machine": {"threads": 1},
}  # fmt: skip
FAILURE = Failure("1C1", "0", "1S")


def proof(**margins: float | None) -> Proof:
    return Proof(assumptions="stated", bounds=tuple(Bound(name, margin, "1C1") for name, margin in margins.items()))


@pytest.fixture
def made(faulty: Callable[..., Decode]) -> Certificate:
    return certify(PARITY.domain, faulty(PARITY), **IDENTITY)[0]


def test_certificate_holds_what_it_was_given(made: Certificate) -> None:
    assert (made.task, made.strength, made.prompts, made.least_margin) == ("parity", "checked", 6, 9.0)
    assert {key: getattr(made, key) for key in IDENTITY} == IDENTITY
    assert (made.proof, made.altered, made.least_margin_prompt) == (None, "", "0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"failures": (FAILURE,)}, "it claims to be certified with 1 failures"),
        ({"altered": "a hook"}, r"it claims to be certified with an altered network \(a hook\)"),
        ({"strength": "proven"}, "it claims to be proven without a proof in float32"),
        ({"strength": "proven", "proof": proof(float64=1.0)}, "it claims to be proven without a proof in float32"),
        ({"least_margin": math.nan}, "least_margin must be a finite number or null, got nan"),
        ({"least_margin": math.inf}, "least_margin must be a finite number or null, got inf"),
        ({"least_margin": 9}, "least_margin must be a finite number or null, got 9"),
        *(
            ({name: None}, f"{name} must be {kind}, got None")
            for name, kind in {
                "certified": "bool", "task": "str", "strength": "str", "prompts": "int", "least_margin_prompt": "str",
                "parameters": "int", "sha256": "str", "table_sha256": "str", "dtype": "str", "machine": "dict",
                "altered": "str",
            }.items()
        ),
    ],
)  # fmt: skip
def test_contradiction_is_refused(made: Certificate, change: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{message}$"):
        replace(made, **change)


def test_uncertified_may_have_failures_and_alterations(made: Certificate) -> None:
    failed = replace(made, certified=False, failures=(FAILURE,))
    assert failed.statement == "not certified: 5 of 6 prompts right"
    altered = replace(made, certified=False, altered="a hook")
    assert altered.statement == "not certified: 6 of 6 prompts right; it was altered: a hook"
    assert replace(made, strength="proven", proof=proof(float32=1.0)).strength == "proven"


def test_statement_says_how_it_was_found(made: Certificate) -> None:
    end = "every one of the 6 prompts); least margin 9.00 at 0"
    begin = "certified for parity of any length"
    assert made.statement == f"{begin} (checked: {end}"
    proven = made.with_proof(proof(real=2.0, float64=1.5, float32=1.0))
    assert (proven.strength, proven.statement) == (
        "proven", f"{begin} (proven in real, float64, float32 arithmetic: {end}",
    )  # fmt: skip
    partly = made.with_proof(proof(real=2.0, float64=1.5, float32=None))
    assert (partly.strength, partly.statement) == (
        "checked", f"{begin} (checked; proven in real, float64 arithmetic only: {end}",
    )  # fmt: skip
    none = made.with_proof(proof(real=None))
    assert none.statement == f"{begin} (checked; proven in none arithmetic only: {end}"


def test_proof_of_a_failing_network_leaves_it_unproven(made: Certificate) -> None:
    failed = replace(made, certified=False, failures=(FAILURE,)).with_proof(proof(float32=1.0))
    assert (failed.strength, failed.certified) == ("checked", False)


@pytest.mark.parametrize(
    ("margin", "proven"),
    [(None, False), (0.0, False), (-1.0, False), (math.inf, False), (math.nan, False), (0.1, True)],
)
def test_proof_needs_a_positive_finite_margin(margin: float | None, proven: bool) -> None:
    assert Bound("float32", margin, "1C1").proven is proven
    assert proof(float32=margin).covers("float32") is proven
    assert not proof(float32=margin).covers("float64")


def test_proven_certificate_round_trips_through_json(made: Certificate) -> None:
    proven = made.with_proof(proof(real=2.0, float32=1.0))
    assert Certificate.from_json(proven.to_json()) == proven
    assert proven.to_json().startswith('{\n  "certified": true,\n  "task": "parity",')
    assert "proof" not in made.as_dict()
    assert "altered" not in made.as_dict()
    altered = replace(made, certified=False, altered="a hook")
    assert altered.as_dict()["altered"] == "a hook"
    for margin in ('"2"', "2", "true"):
        with pytest.raises(AlgaError, match="a proven margin must be a number or null"):
            Certificate.from_json(proven.to_json().replace('"margin": 2.0', f'"margin": {margin}'))


def by_margin(margins: dict[str, float], default: float = 9.0) -> Decode:
    def decode(prompts: Sequence[str]) -> list[Step]:
        outputs = [PARITY.domain[prompt].output for prompt in prompts]
        return [
            Step(prompt, f"{output}S", output, margins.get(prompt, default))
            for prompt, output in zip(prompts, outputs, strict=True)
        ]

    return decode


def test_margin_at_the_rounding_limit_fails() -> None:
    certificate, table = certify(PARITY.domain, by_margin({"1C0": UNCERTAIN, "1C1": UNCERTAIN * 1.001}), **IDENTITY)
    assert [failure.prompt for failure in certificate.failures] == ["1C0"]
    assert table.uncertain == ("1C0",)
    assert (certificate.certified, certificate.least_margin) == (False, UNCERTAIN)


def test_rounding_limit_is_one_ten_thousandth() -> None:
    assert UNCERTAIN == 1e-4


def test_first_of_equal_least_margins_is_named() -> None:
    certificate, _ = certify(PARITY.domain, by_margin({}), again=by_margin({"1C0": 3.0, "1C1": 3.0}), **IDENTITY)
    assert (certificate.least_margin, certificate.least_margin_prompt) == (3.0, "1C0")


def test_prompt_that_fails_both_backends_is_listed_once(faulty: Callable[..., Decode]) -> None:
    wrong = faulty(PARITY, {"1C0": "0S", "1C1": "1S"})
    certificate, _ = certify(PARITY.domain, wrong, again=wrong, **IDENTITY)
    assert certificate.failures == (Failure("1C0", "1", "0S"), Failure("1C1", "0", "1S"))


def test_altered_network_is_not_certified_even_if_every_prompt_is_right(faulty: Callable[..., Decode]) -> None:
    certificate, _ = certify(PARITY.domain, faulty(PARITY), altered="a hook", **IDENTITY)
    assert (certificate.certified, certificate.failures, certificate.altered) == (False, (), "a hook")


def test_progress_is_reported_in_blocks(faulty: Callable[..., Decode]) -> None:
    domain, told = tasks.find("comparison").domain, list[tuple[int, int]]()
    certify(domain, faulty(tasks.find("comparison")), watch=lambda *each: told.append(each), **IDENTITY)
    assert told == [(256, 400), (400, 400)]


def test_blocks_of_prompts_change_nothing(faulty: Callable[..., Decode], monkeypatch: pytest.MonkeyPatch) -> None:
    task = tasks.find("comparison")
    wrong = {prompt: "<S" for prompt in [*task.domain][3::70] if task.domain[prompt].output != "<"}
    decode, again = faulty(task, wrong), faulty(task, margin=3.0)
    whole = certify(task.domain, decode, again=again, **IDENTITY)
    monkeypatch.setattr("alga.trust.certificate.PROMPTS_AT_ONCE", 300)
    monkeypatch.setattr("alga.trust.table.PROMPTS_AT_ONCE", 7)
    assert certify(task.domain, decode, again=again, **IDENTITY) == whole
    assert [failure.prompt for failure in whole[0].failures] == [*wrong]
    assert wrong
    assert whole[0].least_margin == 3.0


def test_right_network_is_not_explored_again(faulty: Callable[..., Decode]) -> None:
    def explore(respond: object) -> None:
        pytest.fail("explored")

    domain = replace(PARITY.domain, explore=explore)
    certificate, table = certify(domain, faulty(PARITY), **IDENTITY)
    assert certificate.certified
    assert table == extract(PARITY.domain, faulty(PARITY))


def test_known_prompts_are_not_decoded_again() -> None:
    asked: list[str] = []

    def decode(prompts: Sequence[str]) -> list[Step]:
        asked.extend(prompts)
        return by_margin({})(prompts)

    known = Answers()
    known.take(list(PARITY.domain), by_margin({})(list(PARITY.domain)))
    assert extract(PARITY.domain, decode, known) == extract(PARITY.domain, by_margin({}))
    assert asked == []
    assert extract(PARITY.domain, decode) == extract(PARITY.domain, by_margin({}))
    assert asked == list(PARITY.domain)


def test_table_hash_covers_every_field() -> None:
    table = Table("parity", {"0": "0", "1": None}, ("1", "0"), {"1": "x"})
    assert table == Table("parity", {"1": None, "0": "0"}, ("0", "1"), {"1": "x"})
    assert hash(table) == hash(Table("parity", {"1": None, "0": "0"}, ("0", "1"), {"1": "x"}))
    others = (
        Table("other", {"0": "0", "1": None}, ("1", "0"), {"1": "x"}),
        Table("parity", {"0": "1", "1": None}, ("1", "0"), {"1": "x"}),
        Table("parity", {"0": "0", "1": None}, ("1",), {"1": "x"}),
        Table("parity", {"0": "0", "1": None}, ("1", "0"), {"1": "y"}),
    )
    assert len({table, *others}) == 5
    assert table != "parity"
    assert table.to_json().endswith(f'"uncertain":["0","1"],"sha256":"{table.sha256}"}}\n')
    with pytest.raises(AlgaError, match=f"it states the hash {'0' * 12}…, its content has another"):
        Table.from_json(table.to_json().replace(table.sha256, "0" * 64))
