"""What the tests of the journal, the worker and working memory share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "journal.sqlite3") as opened:
        yield opened


@pytest.fixture
def alice() -> Namespace:
    return Namespace.of(("acme", "alice"))


@pytest.fixture
def bob() -> Namespace:
    return Namespace.of(("acme", "bob"))
