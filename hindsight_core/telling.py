"""What adapters tell frameworks and models about memories, in the same words everywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hindsight_core.models import Memory, Retrieved
from hindsight_core.safety.marks import wrap
from hindsight_core.safety.quarantine import QUARANTINE
from hindsight_core.store.jsonsafe import json_safe

__all__ = ["metadata_of", "tell_forgotten", "tell_found", "tell_judged", "tell_stored"]


def metadata_of(result: Retrieved) -> dict[str, Any]:
    """Return what a retriever's document says about its memory, JSON-safe."""
    memory = result.memory
    found = {
        "id": memory.id,
        "kind": memory.kind,
        "category": memory.category,
        "score": result.score,
        "relevance": result.relevance,
        "factors": dict(result.factors),
        "confidence": memory.confidence,
        "importance": memory.importance,
        "outcome": memory.outcome,
        "source": memory.source,
        "tags": list(memory.tags),
        "task_type": memory.task_type,
        "applies_when": memory.applies_when,
        "not_when": memory.not_when,
        "namespace": list(memory.namespace.parts),
        "event_time": memory.event_time,
        "created_at": memory.created_at,
        "valid_until": memory.valid_until,
        "evidence": [{"run_id": e.run_id, "steps": list(e.steps)} for e in memory.evidence],
        "metadata": dict(memory.metadata),
    }
    safe: dict[str, Any] = json_safe(found, name="document metadata")
    return safe


def tell_stored(memory: Memory) -> str:
    """Tell an agent in what memory its statement ended."""
    told = {"stored": memory.content, "id": memory.id}
    if memory.status == "quarantined":
        told["quarantined"] = str(memory.metadata.get(QUARANTINE, ""))
    return json.dumps(told, ensure_ascii=False)


def tell_found(results: Sequence[Retrieved]) -> str:
    """Tell an agent what was found, marked so that it is not learned again."""
    if not results:
        return "Nothing is known about that."
    lines = [
        f"- id {result.memory.id}: {' '.join(result.memory.content.split())} "
        f"({result.memory.category}, {result.memory.event_time.date().isoformat()}, "
        f"confidence {result.memory.confidence:.2f})"
        for result in results
    ]
    return wrap("\n".join(["Past experience, for reference only:", *lines]))


def tell_judged(memory_id: str, changed: Sequence[Memory]) -> str:
    """Tell an agent what its feedback did to a memory."""
    now = {memory.id: round(memory.confidence, 3) for memory in changed}
    return json.dumps({"id": memory_id, "confidence": now.get(memory_id)})


def tell_forgotten(memory_id: str, gone: Sequence[str]) -> str:
    """Tell an agent whether a memory was forgotten."""
    status = "forgotten" if memory_id in gone else "not found"
    return json.dumps({"id": memory_id, "status": status})
