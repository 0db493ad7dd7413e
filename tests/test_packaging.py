"""The distribution: its name, what it says of itself, and the workflows that test and publish it."""

from __future__ import annotations

import re
import tomllib

import alga
from alga.base.errors import EXTRAS, missing_extra
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CI, RELEASE = ((ROOT / ".github" / "workflows" / f"{name}.yml").read_text() for name in ("ci", "release"))
NAME = PROJECT["name"]


def test_name_is_not_the_one_that_a_stranger_has() -> None:
    assert NAME == "alga-adder"
    assert [*PROJECT["scripts"]] == ["alga"]


def test_extras_and_messages_use_the_distribution_name() -> None:
    extras = PROJECT["optional-dependencies"]
    own = {line for lines in extras.values() for line in lines if line.startswith("alga")}
    assert own
    assert all(line.startswith(f"{NAME}[") for line in own)
    for package, extra in EXTRAS.items():
        assert extra in extras
        assert str(missing_extra("this", package, extra)).endswith(f"pip install '{NAME}[{extra}]'")


def test_matrix_and_classifiers_name_the_same_python_versions() -> None:
    classified = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert classified == ["3.11", "3.12", "3.13", "3.14"]
    (matrix,) = re.findall(r"python: \[(.*)\]", CI)
    assert re.findall(r'"([\d.]+)"', matrix) == classified
    assert PROJECT["requires-python"] == f">={classified[0]}"


def test_release_publishes_what_was_checked_and_holds_no_token() -> None:
    build, _, publish = RELEASE.partition("  publish:")
    assert "make dist" in build
    assert f"dist/{NAME.replace('-', '_')}-" in build  # the tag must be the version
    assert "id-token" not in build
    assert "id-token: write" in publish
    assert "pypa/gh-action-pypi-publish" in publish
    assert not re.search(r"secrets\.|password|token:(?! write)", RELEASE)


def test_citation_has_the_version_of_the_package() -> None:
    assert f"version: {alga.__version__}\n" in (ROOT / "CITATION.cff").read_text()
