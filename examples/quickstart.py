"""Hindsight in a loop of your own: learn from a run, remember before the next one.

Run it with `python examples/quickstart.py [FOLDER]`; without a folder nothing is kept.
"""

import sys
import tempfile

from hindsight_core import Hindsight, Trajectory

FIRST_RUN = [
    {"role": "user", "content": "Book a table at Luigi's for 7pm"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {
                    "name": "book_table",
                    "arguments": '{"restaurant": "Luigi", "time": "7pm"}',
                },
            }
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "call_1",
        "name": "book_table",
        "content": "Error: time must be HH:MM",
        "status": "error",
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_2",
                "type": "function",
                "function": {
                    "name": "book_table",
                    "arguments": '{"restaurant": "Luigi", "time": "19:00"}',
                },
            }
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "call_2",
        "name": "book_table",
        "content": "Booked: table 7",
    },
    {"role": "assistant", "content": "Table 7 at Luigi's is yours at 7pm."},
    {"role": "user", "content": "Thanks. I always prefer a table by the window, please remember."},
    {"role": "assistant", "content": "I will."},
]


def main(folder: str) -> None:
    """Learn from one run, then ask what is known before the next."""
    with Hindsight.open(folder, namespace=("restaurant", "alice")) as hindsight:
        run = Trajectory.from_messages(
            FIRST_RUN, run_id="run-1", outcome="success", outcome_source="validator"
        )
        reflection = hindsight.reflect(run)
        print(f"{reflection.status}:")
        for memory in reflection.memories:
            print(f"- [{memory.category}] {memory.content}")

        task = "Book a table at Mario's for 8pm"
        brief = hindsight.brief(task, run_id="run-2")
        print(f"\nBefore the next run ({brief.tokens} tokens):\n{brief}")

        # Your agent works here, with `brief.text` in its prompt. Then say how it went: the
        # memories in the brief gain or lose confidence.
        changed = hindsight.feedback(run_id="run-2", outcome="success", source="user")
        print(f"\nAfter it, {len(changed)} memories are trusted a little more.")

        rule = next(memory for memory in reflection.memories if memory.category == "rule")
        reasons = hindsight.why(rule.id)
        print("\nWhy the rule is known:")
        for step in reasons.runs[0].steps:
            print(f"  step {step.position}, {step.kind}: {step.text}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(scratch)
