"""Many runs of one function, on this machine's cores or on a Dask cluster."""

from alga.research.sweeps.sweep import Options, Row, Say, Settings, completed, run

__all__ = ["Options", "Row", "Say", "Settings", "completed", "run"]
