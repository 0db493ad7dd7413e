"""docs/architecture.md describes every room, and its walks match a profiler.

`python -m tests.test_architecture add 65785 8765 --trace` prints the files of a command, to update the page.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

import alga
from alga.__main__ import main
from alga.training import trainer

ROOT = Path(__file__).parents[1]
SOURCE = Path(alga.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
WALKS = re.findall(r"<!-- walk: (.*?) -->\n(.*?)<!-- end -->", PAGE, flags=re.DOTALL)


def files_called(arguments: list[str]) -> list[str]:
    """Run a command; return the files of the package in the order in which a function of each is first called."""
    found: dict[str, None] = {}
    importing = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal importing
        code = frame.f_code
        if event in ("call", "return") and code.co_name == "<module>":
            importing += 1 if event == "call" else -1
        elif event == "call" and not importing and code.co_filename.startswith(f"{SOURCE}/"):
            found[str(Path(code.co_filename).relative_to(SOURCE))] = None

    trainer.CHECKPOINT_SECONDS = float("inf")  # type: ignore[misc] - a busy machine would save one on the way
    sys.argv = ["alga", *arguments]
    sys.setprofile(profile)
    with contextlib.suppress(SystemExit):
        main()
    sys.setprofile(None)
    return list(found)


def test_every_room_is_described_and_drawn() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(re.findall(r"^\| `(\w+)/` \| \S", PAGE.partition("Beside")[0], flags=re.MULTILINE)) == rooms
    drawn = (ROOT / "docs" / "figures" / "rooms.svg").read_text()
    assert set(re.findall(r">(\w+)/<", drawn)) == rooms


def test_every_named_file_and_folder_exists() -> None:
    named = set(re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", PAGE))
    assert len(named) > 60
    places = (ROOT, SOURCE, ROOT / "docs", *(path for path in SOURCE.iterdir() if path.is_dir()))
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()


def test_each_walk_names_a_file_once_and_counts_its_files() -> None:
    assert [command.split()[0] for command, _ in WALKS] == ["add", "train"]
    for command, text in WALKS:
        names = re.findall(r"^\d+\. `([\w/.]+)` \S", text, flags=re.MULTILINE)
        assert len(names) == len(set(names)) == len(text.splitlines())
        assert f"`alga {command}` passes {len(names)} files" in PAGE


@pytest.mark.parametrize(
    ("command", "text"), [WALKS[0], pytest.param(*WALKS[1], marks=pytest.mark.slow)], ids=["one sum", "one training"]
)
def test_walks_match_the_commands(command: str, text: str, tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "tests.test_architecture", *command.replace("runs/", f"{tmp_path}/").split()]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1].split() == re.findall(r"^\d+\. `([\w/.]+)`", text, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.stderr.write(" ".join(files_called(sys.argv[1:])))
