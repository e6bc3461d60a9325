"""Forethought: what past runs warn of, before the next one begins.

Seven deploys are reflected on; those on Fridays failed. Run it with
`python examples/forethought.py [FOLDER]`; without a folder nothing is kept.
"""

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_core import Hindsight, Trajectory

FRIDAY = datetime(2026, 1, 2, 15, 0, tzinfo=UTC)
DEPLOYS = (
    (0, "billing"), (7, "checkout"), (14, "login"),
    (3, "search"), (4, "mail"), (10, "catalog"), (12, "media"),
)  # fmt: skip


def deploy(service: str, day: datetime) -> Trajectory:
    """Return the record of one deploy, as your agent would hand it in."""
    failed = day.weekday() == FRIDAY.weekday()
    call: dict[str, Any] = {"name": "deploy", "arguments": f'{{"service": "{service}"}}'}
    result = "TimeoutError: nobody approved the release" if failed else "deployed"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Deploy the {service} service to production"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        },
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "name": "deploy",
            "content": result,
            "status": "error" if failed else "success",
        },
        {"role": "assistant", "content": "It did not work." if failed else "It is live."},
    ]
    return Trajectory.from_messages(
        messages,
        run_id=f"deploy-{service}",
        outcome="failure" if failed else "success",
        outcome_source="validator",
        ended_at=day,
    )


def main(folder: str) -> None:
    """Learn from the deploys, then ask before the next one."""
    # Leave `clock` out to use the time of day; here it is a Friday four weeks later.
    with Hindsight.open(
        folder, namespace=("shop", "release-agent"), clock=lambda: FRIDAY + timedelta(days=28)
    ) as hindsight:
        for days, service in DEPLOYS:
            hindsight.reflect(deploy(service, FRIDAY + timedelta(days=days)))

        task = "Deploy the payments service to production"
        found = hindsight.forethought(task, run_id="deploy-payments")
        print(f"Before {task!r} ({found.tokens} tokens):")
        for item in found.items:
            print(f"- [{item.kind}, {item.confidence:.2f}] {item.text}")

        # Your agent works here, with `found.text` beside the brief in its prompt.

        other = hindsight.forethought("Write a poem about cats")
        print(f"\nBefore a poem: {other.text or 'nothing to mind'}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(scratch)
