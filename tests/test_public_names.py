"""The public names of `alga`."""

from __future__ import annotations

import subprocess
import sys

import alga


def test_every_public_name_is_listed_and_found() -> None:
    public = {
        "AlgaError",
        "Calculator",
        "Cancellation",
        "Certificate",
        "Result",
        "Results",
        "Step",
        "load",
        "train",
        "diff",
    }
    assert set(alga.__all__) == public
    assert set(dir(alga)) == public | {"__version__"}
    assert all(getattr(alga, name) is not None for name in alga.__all__)


def test_listing_the_names_imports_nothing() -> None:
    code = (
        "import alga, sys; assert 'load' in dir(alga); assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
