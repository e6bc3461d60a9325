"""Memories as LangChain documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from hindsight_core.adapting import RECALL_TAG
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Retrieved
from hindsight_core.telling import metadata_of
from hindsight_langchain.identity import Identity, NamespaceRule

__all__ = ["HindsightRetriever"]


class HindsightRetriever(BaseRetriever):
    """Retrieves memories, best first, with what made them rank so.

    Whose memory is read comes from the call's `config["metadata"]`, as for the handler. What
    is retrieved is not learned again from a run that is recorded.

    ```python
    retriever = HindsightRetriever(hindsight=hindsight, k=4)
    documents = retriever.invoke("convert the recipe")
    ```

    Attributes:
        hindsight: The memory.
        k: Most documents, `None` for the profile's own.
        namespace: Whose memory: as for `HindsightCallbackHandler`.
        options: Further options of `Hindsight.retrieve`, such as `kinds` or `min_confidence`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    hindsight: SkipValidation[Hindsight] = Field(exclude=True, repr=False)
    k: int | None = None
    namespace: Any = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    _identity: Identity = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Mark what is retrieved as recalled."""
        super().model_post_init(context)
        rule: NamespaceRule = self.namespace
        self._identity = Identity(rule)
        self.tags = [*(tag for tag in self.tags or () if tag != RECALL_TAG), RECALL_TAG]

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        view = self._view(run_manager.metadata)
        return _documents(view.retrieve(query, **self._wanted(k, options)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        view = self._view(run_manager.metadata)
        return _documents(await view.aretrieve(query, **self._wanted(k, options)))

    def _view(self, metadata: Mapping[str, Any] | None) -> Hindsight:
        return self._identity.view(self.hindsight, metadata or {})

    def _wanted(self, k: int | None, options: Mapping[str, Any]) -> Any:
        top_k = k if k is not None else self.k
        return {"abstain": True, "top_k": top_k, **self.options, **options}


def _documents(results: Sequence[Retrieved]) -> list[Document]:
    return [
        Document(
            page_content=result.memory.content, metadata=metadata_of(result), id=result.memory.id
        )
        for result in results
    ]
