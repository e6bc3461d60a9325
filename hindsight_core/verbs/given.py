"""What a caller gives to `store`, made into a memory: checked, redacted, in JSON's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hindsight_core.clock import new_memory_id
from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Context, Memory
from hindsight_core.options import StoreOptions
from hindsight_core.safety.quarantine import held_back, reason_against
from hindsight_core.safety.redact import Redactor
from hindsight_core.store.jsonsafe import clean_text, json_safe
from hindsight_core.store.narrowing import check_label
from hindsight_core.trajectory import OUTCOME_LABELS
from hindsight_core.verbs.checked import options_given
from hindsight_core.verbs.scope import Scope

__all__ = ["memory_of"]

_TEXTS = ("task_description", "applies_when", "not_when")


def memory_of(scope: Scope, content: str, options: StoreOptions) -> Memory:
    """Return the memory to store.

    It is as it will be read again: secrets are out, and values have their JSON form.

    Raises:
        ConfigurationError: If the content is blank or an option can't be used.
    """
    engine, now = scope.engine, scope.engine.clock()
    given = _given(content, options)
    counts: Counter[str] = Counter()
    clean = _Cleaner(engine.redactor, counts)
    content = clean.text(content)
    given |= {name: clean.text(given[name]) for name in _TEXTS if given.get(name)}
    metadata = clean.value(given.pop("metadata", None) or {}, "metadata")
    memory_id = given.pop("memory_id", None)
    confidence = given.pop("confidence", None)
    memory = Memory(
        id=new_memory_id() if memory_id is None else str(memory_id),
        namespace=scope.namespace,
        content=content,
        kind=given.pop("kind", "semantic"),
        category=given.pop("category", "fact"),
        event_time=given.pop("event_time", None) or now,
        created_at=now,
        updated_at=now,
        confidence=engine.profile.lifecycle.initial_confidence
        if confidence is None
        else confidence,
        source=given.pop("source", "user_feedback"),
        tags=tuple(clean.text(tag) for tag in given.pop("tags", ())),
        evidence=tuple(given.pop("evidence", ())),
        context=clean.context(given.pop("context", None) or Context()),
        metadata=metadata,
        **given,
    )
    for name, count in counts.items():
        engine.journal.add_counter(f"redacted:{name}", count)
    reason = reason_against(memory)
    if reason:
        engine.journal.add_counter("quarantined")
        return held_back(memory, reason)
    return memory


def _given(content: object, options: StoreOptions) -> dict[str, Any]:
    """Return the options without what is `None`, once they are known to be usable."""
    if not isinstance(content, str):
        raise ConfigurationError(
            f"memory content {content!r} is {type(content).__name__}; give it text"
        )
    if not content.strip():
        raise ConfigurationError(f"memory content {content!r} is blank; give it text")
    memory_id = options.get("memory_id")
    if memory_id is not None and not str(memory_id).strip():
        raise ConfigurationError(f"memory id {memory_id!r} is blank; leave it out to have one made")
    # Ids are made text, so that a UUID or a number may be given.
    rest: dict[str, Any] = {name: value for name, value in options.items() if name != "memory_id"}
    given = options_given("store", rest, StoreOptions.__optional_keys__)
    check_label("outcome", given.get("outcome", "unknown"), OUTCOME_LABELS)
    metadata = given.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ConfigurationError(f"metadata {metadata!r} is no mapping; give names with values")
    return {**given, "memory_id": memory_id}


class _Cleaner:
    """Takes secrets out, counts them, and brings values into JSON's form."""

    def __init__(self, redactor: Redactor, counts: Counter[str]) -> None:
        self._redactor = redactor
        self._counts = counts

    def text(self, text: str) -> str:
        """Clean a text."""
        redacted = self._redactor.redact(clean_text(text))
        self._counts.update(redacted.counts)
        return redacted.text

    def value(self, value: Any, name: str) -> Any:
        """Clean data; `name` is what an error calls them."""
        clean, counts = self._redactor.redact_value(json_safe(value, name=name))
        self._counts.update(counts)
        return clean

    def context(self, context: Context) -> Context:
        """Clean the circumstances of an experience."""
        parameters = self.value(context.parameters, "context.parameters")
        return replace(
            context,
            tools_used=tuple(self.text(tool) for tool in context.tools_used),
            parameters=parameters,
            input_sample=self.text(context.input_sample),
            output_sample=self.text(context.output_sample),
        )
