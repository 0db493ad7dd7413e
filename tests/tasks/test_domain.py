"""The domain as a mapping, as training, table and figures use it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from alga import tasks
from alga.tasks import Domain, Instance, Procedure, Text


class Letters(Procedure):
    """Writes letters that no column has."""

    name, numeric = "letters", False
    layout = Text("01")

    def step(self, before: str | None, column: str) -> str:
        return "zyxwvu"[int(column)] if before is None else "hgfedcba"["zyxwvuhgfedcba".index(before) % 8]

    def oracle(self, *operands: str) -> str:
        return operands[0]


def test_domain_is_shown_without_its_functions() -> None:
    domain = Domain("few", "01", {"0": Instance(None, "0", "0", "1")}, explore=lambda respond: None, second_steps=list)
    assert repr(domain).startswith("Domain(name='few', symbols='01', instances={'0': Instance(context=None")
    assert "explore" not in repr(domain)
    assert "second_steps" not in repr(domain)


def test_answers_determine_which_prompts_are_explored() -> None:
    asked: list[str] = []

    def respond(prompts: Sequence[str]) -> list[str | None]:
        asked.extend(prompts)
        return ["1" for _ in prompts]

    tasks.find("parity").domain.explore(respond)
    assert asked == ["0", "1", "1C0", "1C1"]  # never after even parity
    Domain("bare", "", {}).explore(respond)
    assert len(asked) == 4


def test_exploring_ends_at_a_missing_answer() -> None:
    asked: list[str] = []

    def respond(prompts: Sequence[str]) -> list[str | None]:
        asked.extend(prompts)
        return [None for _ in prompts]

    tasks.find("parity").domain.explore(respond)
    assert asked == ["0", "1"]


def test_axes_are_contexts_short_ones_first_and_columns() -> None:
    contexts, columns = tasks.find("addition").domain.axes
    assert contexts == [None, *map(str, range(20))]
    assert columns[:3] == ["00", "01", "02"]
    assert len(columns) == 110
    assert columns[-10:] == list("0123456789")


def test_second_steps_are_all_pairs_of_columns() -> None:
    assert tasks.find("parity").domain.second_steps() == ["0C0", "0C1", "1C0", "1C1"]
    steps = tasks.find("times-a-digit").domain.second_steps()
    assert len(steps) == 10 * 10 * 10
    assert steps[-1] == "81C99"
    assert Domain("bare", "", {}).second_steps() == []


def test_missing_symbols_are_inferred() -> None:
    assert tasks.find("parity").domain.symbols == "01"
    assert tasks.find("division-by-a-digit").domain.symbols[:10] == "0123456789"


def test_bare_domain_has_no_description() -> None:
    bare = Domain("bare", "", {})
    assert (bare.summary, bare.source, len(bare), list(bare)) == ("", "", 0, [])


def test_symbols_that_only_outputs_have_are_sorted() -> None:
    assert Letters().domain.symbols == "01" + "".join(sorted({i.output for i in Letters().domain.values()}))
    assert len(Letters().domain.symbols) > 6


def test_marks_of_several_procedures_are_symbols_once() -> None:
    assert tasks.find("arithmetic").domain.symbols == "0123456789-+×"


def test_a_drawn_problem_has_as_many_columns_as_asked_for() -> None:
    rng, draw = Random(0), Letters().families()["uniform"]
    assert all(len(*draw(rng, columns)) == columns for columns in (1, 2, 7, 30))
