"""Many runs of one function, on this machine's cores or on a Dask cluster."""

from alga.research.sweeps.sweep import Row, Say, Settings, run

__all__ = ["Row", "Say", "Settings", "run"]
