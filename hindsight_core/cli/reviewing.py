"""`hindsight review`: memories to judge, by key press, or as JSON out and in."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hindsight_core.cli.inputs import has_person, read_input
from hindsight_core.cli.output import Output, counted, make_table, plain
from hindsight_core.cli.session import Target, open_memory
from hindsight_core.cli.views import short
from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.review import ReviewItem

__all__ = ["VERDICTS", "review"]

VERDICTS = ("right", "wrong", "forget", "skip")
_KEYS = {verdict[0]: verdict for verdict in VERDICTS}
_PROMPT = "[r]ight  [w]rong  [f]orget  [s]kip  [q]uit: "


def review(options: argparse.Namespace, out: Output) -> int:
    """Ask a person about each memory, print the queue, or take in verdicts."""
    with open_memory(Target.of(options)) as hindsight:
        if options.verdicts:
            taken = _take_in(hindsight, _read(options.verdicts))
            out.show({"verdicts": taken}, list)
            out.note(counted(len(taken), "verdict"))
            return 0
        queue = hindsight.review(limit=options.limit, seed=options.seed)
        if out.wants_json or not has_person():
            out.show({"items": queue}, lambda: [_table(queue)] if queue else [])
            out.note(f"{len(queue)} to review" if queue else "nothing to review")
            return 0
        return _ask(hindsight, queue, out)


def _ask(hindsight: Hindsight, queue: Sequence[ReviewItem], out: Output) -> int:
    count = 0
    try:
        for number, item in enumerate(queue, start=1):
            _show(out, item, f"{number}/{len(queue)}")
            key = _key(out)
            if key == "q":
                break
            verdict = _KEYS[key]
            _judge(hindsight, item.memory.id, verdict, "reviewed")
            count += verdict != "skip"
    finally:  # Ctrl-C ends the asking, and what was said before it stands
        out.note(counted(count, "verdict"))
    return 0


def _show(out: Output, item: ReviewItem, place: str) -> None:
    out.say(plain(f"\n{place}  {item.reason}: {item.detail}", "dim"))
    out.say(plain(item.memory.content, "bold"))
    for other in item.against:
        out.say(plain(f"against: {other.content} ({other.id})"))


def _key(out: Output) -> str:
    """Return the key of a verdict, or `q`; the end of the input is `q` too."""
    while True:
        try:
            answer = out.messages.input(_PROMPT, markup=False).strip().lower()[:1]
        except (EOFError, KeyboardInterrupt) as end:
            out.note("")  # what comes next is not to stand behind the prompt
            if isinstance(end, KeyboardInterrupt):
                raise
            return "q"
        if answer == "q" or answer in _KEYS:
            return answer


def _judge(hindsight: Hindsight, memory_id: str, verdict: str, reason: str) -> None:
    if verdict == "forget":
        hindsight.forget(memory_id, reason=reason)
    elif verdict == "right" and _is_held(hindsight, memory_id):
        hindsight.release(memory_id, reason=reason)
    elif verdict in {"right", "wrong"}:
        hindsight.feedback(memory_id=memory_id, helpful=verdict == "right", reason=reason)


def _is_held(hindsight: Hindsight, memory_id: str) -> bool:
    memory = hindsight.get(memory_id)
    return memory is not None and memory.status == "quarantined"


def _take_in(hindsight: Hindsight, verdicts: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    for item in verdicts:  # all ids are looked up before any verdict counts
        hindsight.history(item["memory_id"])
    for item in verdicts:
        _judge(hindsight, item["memory_id"], item["verdict"], item["reason"])
    return [dict(item) for item in verdicts]


def _read(source: str) -> list[dict[str, str]]:
    """Return the verdicts in a JSON file, or on standard input for `-`.

    Raises:
        ConfigurationError: If it can't be read, or is no list of objects with `memory_id` and
            `verdict`.
    """
    text = read_input(source, "the verdicts")
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"verdicts in {source!r} are no JSON: {error}") from error
    items = value.get("verdicts") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise ConfigurationError(f"verdicts in {source!r} are no list under 'verdicts'")
    return [_verdict(item) for item in items]


def _verdict(item: Any) -> dict[str, str]:
    if not isinstance(item, dict) or not isinstance(item.get("memory_id"), str):
        raise ConfigurationError(f"{item!r} is no verdict: it has no memory_id")
    if item.get("verdict") not in VERDICTS:
        raise ConfigurationError(
            f"verdict {item.get('verdict')!r} on {item['memory_id']!r} is none of "
            f"{', '.join(VERDICTS)}"
        )
    reason = str(item.get("reason") or "reviewed")
    return {"memory_id": item["memory_id"], "verdict": item["verdict"], "reason": reason}


def _table(queue: Sequence[ReviewItem]) -> Any:
    table = make_table(columns=("why", "memory", "detail"), numbers=("why",))
    for item in queue:
        said = plain(short(item.memory.content)).append_text(plain(f"\n{item.memory.id}", "dim"))
        table.add_row(item.reason, said, plain(item.detail))
    return table
