"""What all tests share."""

from __future__ import annotations

import pytest

from hindsight_core.testing import FrozenClock, HashingEmbedder


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()
