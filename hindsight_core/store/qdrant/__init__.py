"""The store on a Qdrant server; every call of `qdrant_client` is in this package."""

from __future__ import annotations

from hindsight_core.store.qdrant.store import QdrantStore

__all__ = ["QdrantStore"]
