"""The embedded store; every call of `qdrant_edge` that keeps memories is in this package."""

from __future__ import annotations

from hindsight_core.store.edge.store import EdgeStore

__all__ = ["EdgeStore"]
