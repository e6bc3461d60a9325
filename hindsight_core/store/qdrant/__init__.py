"""The store on a Qdrant server; every call of `qdrant_client` is in this package."""

from __future__ import annotations

from hindsight_core.embedding.sources import without_usage_reports

# The client imports onnxruntime, which would start a thread that keeps forked children from
# exiting.
with without_usage_reports():
    from hindsight_core.store.qdrant.store import QdrantStore

__all__ = ["QdrantStore"]
