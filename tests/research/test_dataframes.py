"""Results and sweeps as tables of pandas, as the documentation shows them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import alga as package
from alga.research import sweeps, trials
from alga.solve.result import Result
from tests.conftest import ROOT, tiny


def test_results_are_a_table() -> None:
    results = package.load().solve_many([(str(n), "7") for n in range(100)], operation="add")
    table = pd.DataFrame(results)
    assert table["answer"].tolist() == [str(n + 7) for n in range(100)]
    assert table["operands"].tolist() == [[str(n), "7"] for n in range(100)]
    assert table["certified"].all()
    assert list(table.columns) == list(results[0].as_dict())


def test_list_of_different_results_is_a_table() -> None:
    calculator = package.load()
    table = pd.DataFrame([calculator.solve("1", "2"), calculator.solve("12", "9", operation="mul")])
    assert table["answer"].tolist() == ["3", "108"]
    assert table["task"].tolist() == ["addition", "times-a-digit"]
    assert pd.isna(table["base"][0])


@pytest.mark.parametrize("solve", [lambda c: c.solve("12", "9", operation="mul"), lambda c: c.trace("12", "9")])
def test_result_is_the_mapping_that_it_prints(solve: object) -> None:
    result = solve(package.load())  # type: ignore[operator]
    assert dict(result) == result.as_dict()
    assert len(result) == len(result.as_dict())
    assert result["answer"] == result.answer
    assert "steps" in result
    with pytest.raises(KeyError):
        result["nothing"]


def test_changed_facts_change_the_mapping() -> None:
    result = package.load().solve("1", "2")
    assert result["answer"] == "3"
    assert result.told(answer="4")["answer"] == "4"
    assert result["answer"] == "3"


def test_results_are_compared_by_all_they_hold() -> None:
    calculator = package.load()
    assert calculator.solve("1", "2") == calculator.solve("1", "2")
    assert calculator.solve("1", "2") != calculator.trace("1", "2")
    assert calculator.solve("1", "2") != dict(calculator.solve("1", "2"))
    assert isinstance(calculator.solve("1", "2"), Result)


def test_sweep_is_a_table_as_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    plan = [trials.settings(tiny(width=width), seed) for width in (8, 16) for seed in (5, 6)]
    rows = [{"settings": given, "result": trials.train(given), "error": None, "attempts": 1} for given in plan]
    lines = [json.dumps({"measure": trials.MEASURE, **row}) for row in rows]
    (tmp_path / "runs" / "shares.jsonl").write_text("\n".join(lines) + "\n")
    assert sweeps.run(trials.MEASURE, plan, tmp_path / "runs" / "shares.jsonl")[3].result == rows[3]["result"]
    page = (ROOT / "docs" / "sweeps.md").read_text()
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "pandas" in each]
    found: dict[str, object] = {}
    exec(code.replace('"second_type_share"', '"width"'), found)
    table = found["table"]
    assert isinstance(table, pd.DataFrame)
    assert table["width"].tolist() == [8, 8, 16, 16]
    found_at = [None if pd.isna(step) else step for step in table["certified_at"]]
    assert found_at == [row["result"]["certified_at"] for row in rows]
    assert table["seed"].tolist() == [5, 6, 5, 6]
