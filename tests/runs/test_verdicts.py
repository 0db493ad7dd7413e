"""Which prompts were right at each kept step: stored as bits, read with suspicion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alga.base.errors import AlgaError
from alga.base.folders import Folder
from alga.runs import verdicts
from alga.runs.verdicts import Verdict

FIRST = Verdict(0, None, (False,) * 11)
LATER = Verdict(20, 0.5, (True, False, True, *(False,) * 7, True))


def written(folder: Path, *entries: Verdict) -> Folder:
    folder.mkdir(exist_ok=True)
    opened = Folder(folder)
    for entry in entries:
        verdicts.write(opened, entry)
    return opened


def test_verdicts_are_read_as_they_were_written(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", LATER, FIRST)
    assert verdicts.read(folder) == [FIRST, LATER]
    assert verdicts.read(Folder(tmp_path)) == []


def test_step_that_is_written_again_replaces_its_entry(tmp_path: Path) -> None:
    again = Verdict(20, 0.25, (True,) * 11)
    assert verdicts.read(written(tmp_path / "run", FIRST, LATER, again)) == [FIRST, again]


def test_entry_is_a_bit_per_prompt() -> None:
    assert len(verdicts.packed([True] * 2300)) == 384  # 288 bytes in base64
    assert verdicts.unpacked(verdicts.packed([False] * 15 + [True]), 16)[15]


@pytest.mark.parametrize(
    "change",
    [
        {"prompts": 17}, {"prompts": 3}, {"prompts": 0}, {"prompts": "11"}, {"steps": [20, 0]}, {"steps": [0, 0]},
        {"steps": [0]}, {"steps": [-1, 20]}, {"steps": [0, 20.5]}, {"losses": [None, "x"]}, {"losses": [None, 1]},
        {"losses": [None]}, {"right": ["!!", "!!"]}, {"right": ["AAA=", "//8="]}, {"right": [None, None]}, {"right": 5},
    ],
)  # fmt: skip
def test_damaged_file_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = written(tmp_path / "run", FIRST, LATER)
    path = tmp_path / "run" / "checkpoints" / "right.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(AlgaError, match=r"right\.json is damaged") as refused:
        verdicts.read(folder)
    assert "\n" not in str(refused.value)


def test_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", FIRST)
    path = tmp_path / "run" / "checkpoints" / "right.json"
    for content in ("", "[]", "{", "{}", "null"):
        path.write_text(content)
        with pytest.raises(AlgaError, match=r"right\.json is damaged"):
            verdicts.read(folder)
