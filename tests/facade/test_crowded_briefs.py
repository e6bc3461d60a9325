"""What is known about a task is told, however many runs of it there were."""

from __future__ import annotations

from hindsight_core.hindsight import Hindsight
from hindsight_core.trajectory import Trajectory

QUESTION = "Which color does the user want the recipe book to have?"


def test_runs_of_one_task_leave_room_for_what_is_known_about_it(h: Hindsight) -> None:
    h.store("The user always wants the recipe book in crimson", category="preference")
    for number in range(130):
        h.reflect(
            Trajectory.from_messages(
                [
                    {"role": "user", "content": f"{QUESTION} ({number})"},
                    {"role": "assistant", "content": "I looked it up in the notes."},
                ],
                run_id=f"run_{number}",
            )
        )
    brief = h.brief(f"{QUESTION} (again)")
    assert "crimson" in brief.text
    assert sum(r.memory.category == "experience" for r in brief.retrieved) < 5
