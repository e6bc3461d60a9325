"""`HindsightRetriever`: memories as nodes, for query engines, chat engines and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Retrieved
from hindsight_core.safety.marks import MARK, wrap
from hindsight_core.telling import metadata_of
from hindsight_llamaindex.binding import bind
from hindsight_llamaindex.identity import current_caller

__all__ = ["HindsightRetriever"]

SHOWN_KEYS = frozenset({"category", "outcome", "event_time"})
"""What of a memory's metadata a model is shown beside its text."""

TEMPLATE = f"<{MARK}>{{content}} ({{metadata_str}})</{MARK}>"
"""How a node reads in a prompt: marked, so that it is not learned again from there."""


class HindsightRetriever(BaseRetriever):
    """Retrieves memories, best first, each with the factors of its score in `metadata`.

    ```python
    engine = RetrieverQueryEngine.from_args(HindsightRetriever(h, top_k=4), llm=llm)
    ```

    Whose memory is read comes from `instrument_tags({"user_id": …})` around the call. When
    memory can't be asked there are no nodes; the failure is logged and counted.

    Args:
        hindsight: An open memory.
        top_k: Most nodes, `None` for the profile's own.
        user_id: The user that it is for, `None` to go by the tags.
        options: Further options of `Hindsight.retrieve`, such as `kinds`. What is not relevant
            is left out unless they say `abstain: False`.
        callback_manager: LlamaIndex's own.
    """

    def __init__(
        self,
        hindsight: Hindsight,
        *,
        top_k: int | None = None,
        user_id: str | None = None,
        options: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._binding = bind(hindsight)
        self._user_id = user_id
        self._options: Any = {"abstain": True, "top_k": top_k, **(options or {})}
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hindsight = self._view()
        try:
            return _nodes(hindsight.retrieve(query_bundle.query_str, **self._options))
        except Exception as error:  # noqa: BLE001 - memory never breaks the agent
            return _none(hindsight, error)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hindsight = self._view()
        try:
            return _nodes(await hindsight.aretrieve(query_bundle.query_str, **self._options))
        except Exception as error:  # noqa: BLE001 - memory never breaks the agent
            return _none(hindsight, error)

    def _view(self) -> Hindsight:
        caller = current_caller().known(user_id=self._user_id)
        return caller.view(self._binding.hindsight())


def _none(hindsight: Hindsight, error: Exception) -> list[NodeWithScore]:
    if hindsight.settings.strict:
        raise error
    hindsight.note_failure("recall", error)
    return []


def _nodes(results: Sequence[Retrieved]) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(result), score=result.score) for result in results]


def _node(result: Retrieved) -> TextNode:
    metadata = metadata_of(result)
    hidden = [key for key in metadata if key not in SHOWN_KEYS]
    text = result.memory.content
    # A mark inside the text must not end the block around it.
    is_safe = MARK not in text.lower()
    return TextNode(
        id_=result.memory.id,
        text=text if is_safe else wrap(text).partition(">")[2].rpartition("<")[0],
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
        metadata_separator=", ",
        text_template=TEMPLATE,
    )
