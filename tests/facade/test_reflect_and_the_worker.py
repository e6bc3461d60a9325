"""`reflect` while the background worker is after the same run."""

from __future__ import annotations

from collections.abc import Callable

from hindsight_core.hindsight import Hindsight
from hindsight_core.testing import csv_run

Opener = Callable[..., Hindsight]


def test_a_run_that_the_worker_has_already_is_waited_for(opened: Opener) -> None:
    h = opened()
    for number in range(12):
        run = csv_run(f"run_{number}", task=f"Load table {number} and tell me the total")
        h.submit(run)
        assert h.reflect(run).status == "learned"


def test_a_new_run_is_never_reported_as_one_that_was_known(opened: Opener) -> None:
    h = opened()
    for number in range(12):
        reflection = h.reflect(csv_run(f"run_{number}"))
        assert (reflection.status, reflection.repeated) == ("learned", False)
        assert h.reflect(csv_run(f"run_{number}")).repeated
