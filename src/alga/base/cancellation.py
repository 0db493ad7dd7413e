"""Cancellation: a token that long work checks between its steps."""

from __future__ import annotations

from threading import Event

from alga.base.errors import AlgaError


class CancelledError(AlgaError):
    """The work was cancelled."""


class Cancellation:
    """Pass one to long work as `cancel`; call its `cancel()` from another thread to end that work at its next step."""

    def __init__(self) -> None:
        self._event = Event()

    def cancel(self) -> None:
        """Ask the work to end."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether the work was asked to end."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `CancelledError` if the work was asked to end."""
        if self.cancelled:
            raise CancelledError("the work was cancelled")
