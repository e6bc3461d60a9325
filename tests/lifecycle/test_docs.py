"""The pages about a memory's life: each is reached, what they name exists."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.retrieval.profiles import PROFILES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.glob("lifecycle*.md"))


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_links_lead_somewhere_and_every_page_is_reached(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []
    if page.stem != "lifecycle":
        assert f"({page.name})" in (DOCS / "lifecycle.md").read_text("utf-8")


def test_the_numbers_that_the_pages_name_exist() -> None:
    known = {entry.name for entry in dataclasses.fields(Lifecycle)} | set(PROFILES)
    text = " ".join(page.read_text("utf-8") for page in PAGES)
    named = {n for n in known if f"`{n}`" in text}
    assert {"archive_idle_days", "consolidate_evidence", "source_weights", "capacity"} <= named


def test_the_picture_is_one() -> None:
    root = ElementTree.fromstring((DOCS / "lifecycle.svg").read_text("utf-8"))
    assert root.tag.endswith("svg")
    assert root.find("{http://www.w3.org/2000/svg}title") is not None
