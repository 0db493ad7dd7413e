"""A task that breaks its contract is refused, with the reason."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from alga import tasks
from alga.base.errors import AlgaError
from alga.tasks import Procedure, validation
from alga.tasks.addition import Addition
from alga.tasks.layouts import Digits, Text
from alga.tasks.lookahead import Lookahead
from alga.tasks.validation import check


class Copied(Procedure):
    """Writes what it reads."""

    name = "copied"
    numeric = False

    def __init__(self, symbols: str) -> None:
        self.layout = Text(symbols)

    def step(self, before: str | None, column: str) -> str:
        return column

    def oracle(self, *operands: str) -> str:
        return operands[0]


def test_number_of_problems_tried_is_reported() -> None:
    assert check(Copied("ab")) == 2 + 4 + 8
    assert check(tasks.find("parity")) == 2 + 4 + 8
    assert (validation.MOST_COLUMNS, validation.ALL_UP_TO, validation.MOST_SYMBOLS) == (3, 20_000, 250)


def test_many_problems_are_sampled_reproducibly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "ALL_UP_TO", 8)
    assert check(Copied("ab")) == 2 + 4 + 8
    found = [[each for each in validation._problems(Copied("abc"), seed) if len(each) == 3] for seed in (0, 0, 1)]
    assert found[0] == found[1] == sorted(found[0]) != found[2]
    assert [len(each) for each in found] == [8, 8, 8]
    assert list(validation._problems(Copied(""), 0)) == []


@pytest.mark.parametrize("symbol", ["P", "S", "C", "\n"])
def test_symbols_of_the_tokens_are_kept(symbol: str) -> None:
    with pytest.raises(AlgaError, match=r"task copied uses '.*' as a symbol; these are reserved"):
        check(Copied(f"ab{symbol}"))


def test_too_many_symbols_are_refused() -> None:
    def many(count: int) -> Copied:
        task = Copied("ab")
        task.symbols = "ab" + "".join(chr(0x4E00 + i) for i in range(count - 2))
        return task

    assert check(many(250)) == 14
    with pytest.raises(AlgaError, match=r"^task copied has 251 symbols; at most 250 are allowed$"):
        check(many(251))


def test_characters_outside_the_symbols_are_listed() -> None:
    task = Copied("abc")
    task.symbols = "b"
    with pytest.raises(AlgaError, match=r"^task copied uses 'a', 'c', not among its symbols 'b'$"):
        check(task)


def test_task_without_problems_is_refused() -> None:
    class Never(Digits):
        def operands(self, columns: Sequence[str]) -> tuple[str, ...] | None:
            return None

    task = Addition()
    task.layout = Never(2)
    with pytest.raises(AlgaError, match=r"^task addition: no sequence of its columns makes a problem$"):
        check(task)


def test_wrong_answer_is_refused_with_the_smallest_problem() -> None:
    class Short(Copied):
        def oracle(self, *operands: str) -> str:
            return operands[0][:2]

    with pytest.raises(AlgaError, match=r"^task copied: the steps of copied of aaa spell 'aaa', its answer is 'aa'$"):
        check(Short("ab"))


def test_state_with_another_meaning_is_refused() -> None:
    class Forgetful(Addition):
        def carried(self, output: str) -> str:
            return output[-1]

    with pytest.raises(AlgaError, match=r"^task addition: '0', carried from '10', is not equivalent before '00'$"):
        check(Forgetful())


def test_prompt_that_differs_for_the_same_state_is_refused() -> None:
    class Shown(Addition):
        def carried(self, output: str) -> str:
            return "10" if len(output) > 1 else "0"

    with pytest.raises(AlgaError, match="carried from '1', is not equivalent before '00'"):
        check(Shown())


def test_composition_that_depends_on_the_grouping_is_refused() -> None:
    class Ungrouped(Lookahead):
        def compose(self, later: str, earlier: str) -> str:
            return "k" if later == earlier else "g"

    with pytest.raises(AlgaError, match="composing k, p and p depends on the grouping"):
        check(Ungrouped())


def test_map_that_is_wrong_at_a_prompt_is_refused() -> None:
    class Wrong(Lookahead):
        def status(self, column: str) -> str:
            return "g" if column == "45" else super().status(column)

    with pytest.raises(AlgaError, match=r"^task addition-lookahead: '45' gives 'g', its answer is 'p'$"):
        check(Wrong())


def test_maps_with_another_answer_are_refused() -> None:
    class Begun(Lookahead):
        start = "g"

    with pytest.raises(AlgaError, match=r"^task addition-lookahead: looking ahead, 0\+0 is '1', not '0'$"):
        check(Begun())


def test_lookahead_domain_has_three_kinds_of_prompts() -> None:
    domain = tasks.find("addition-lookahead").domain
    assert (domain["37"].output, domain["pg"].output, domain["g77"].output, domain["g"].output) == ("g", "g", "5", "1")
    assert (domain["k"].output, domain["9"].output, domain["k9"].output) == ("0", "p", "9")
    assert all(each.context is None and each.column == each.prompt for each in domain.values())
    assert (domain.name, domain.symbols) == ("addition-lookahead", "0123456789kpg")
