"""Chat stores: asked without a detour, and as data, so that a conversation survives.

`SimpleChatStore` is a dict, but its async methods hop to a thread and back for each message. An
agent's run asks three dozen times, so a plain one is asked at once. Any other store, a subclass
included, is asked by its own async methods.
"""

from __future__ import annotations

import importlib
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from hindsight_core.errors import ConfigurationError

__all__ = ["add_to", "loaded_chat_store", "messages_in", "stored_chat_store"]

_MARKS = frozenset({"class_name", "class_path"})


async def messages_in(chat_store: BaseChatStore, key: str) -> list[ChatMessage]:
    """Return the messages of a conversation as the store holds them."""
    if type(chat_store) is SimpleChatStore:
        return chat_store.get_messages(key)
    return await chat_store.aget_messages(key)


async def add_to(chat_store: BaseChatStore, key: str, message: ChatMessage) -> None:
    """Add a message to a conversation."""
    if type(chat_store) is SimpleChatStore:
        chat_store.add_message(key, message)
    else:
        await chat_store.async_add_message(key, message)


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
