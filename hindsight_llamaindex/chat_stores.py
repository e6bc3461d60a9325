"""A chat store as data, so that a conversation survives with the context of its workflow."""

from __future__ import annotations

import importlib
from typing import Any

from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from hindsight_core.errors import ConfigurationError

__all__ = ["loaded_chat_store", "stored_chat_store"]

_MARKS = frozenset({"class_name", "class_path"})


def stored_chat_store(chat_store: BaseChatStore) -> dict[str, Any]:
    """Return a chat store as JSON-safe data: its fields and its class."""
    kind = type(chat_store)
    if isinstance(chat_store, SimpleChatStore):
        # Its own serializer fails with current pydantic as soon as it holds a message.
        fields: dict[str, Any] = {
            "store": {
                key: [message.model_dump(mode="json") for message in messages]
                for key, messages in chat_store.store.items()
            }
        }
    else:
        fields = chat_store.model_dump(mode="json")
    return {
        **fields,
        "class_name": chat_store.class_name(),
        "class_path": f"{kind.__module__}:{kind.__qualname__}",
    }


def loaded_chat_store(data: dict[str, Any]) -> BaseChatStore:
    """Return the chat store that `stored_chat_store` described.

    Raises:
        ConfigurationError: If its class can't be found or is no chat store.
    """
    fields = {key: value for key, value in data.items() if key not in _MARKS}
    module, _, name = str(data.get("class_path", "")).partition(":")
    if not module:
        return SimpleChatStore(**fields)
    try:
        kind: Any = importlib.import_module(module)
        for part in name.split("."):
            kind = getattr(kind, part)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"the chat store class {module}.{name} can't be imported ({error}); make it "
            "importable, or pass the restored memory another chat_store"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, BaseChatStore)):
        raise ConfigurationError(f"{module}.{name} is no chat store")
    return kind(**fields)
