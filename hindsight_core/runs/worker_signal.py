"""The condition that a worker's thread sleeps on."""

from __future__ import annotations

import threading

__all__ = ["Signal"]


class Signal:
    """What the thread sleeps on; it does not keep the worker alive.

    Attributes:
        condition: Guards everything here.
        wakes: How often the thread was woken.
        turns: How often the thread began or ended a look at the journal.
        busy: Whether it is between the two.
        closing: Whether it is to end.
        exiting: Whether the interpreter is going down.
    """

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.wakes = 0
        self.turns = 0
        self.busy = False
        self.closing = False
        self.exiting = False

    def wake(self, *, closing: bool = False) -> None:
        """Wake the thread, to end it if `closing`."""
        with self.condition:
            self.wakes += 1
            self.closing = self.closing or closing
            self.condition.notify_all()

    def turn(self, *, busy: bool) -> None:
        """Say that the thread begins (`busy`) or ends a look at the journal."""
        with self.condition:
            self.turns += 1
            self.busy = busy
            self.condition.notify_all()

    def sleep(self, seen: int, seconds: float) -> None:
        """Sleep for `seconds`, or until there was a wake after the one numbered `seen`."""
        with self.condition:
            self.condition.wait_for(lambda: self.wakes != seen or self.closing, seconds)
