"""Made-up memories and questions with words as they occur, always the same for a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.models import Evidence, Memory, Status
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import Point

__all__ = ["NOW", "points", "questions", "statements"]

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)

_SUBJECTS = """the nightly export|the billing service|our staging cluster|the customer in Lyon
the quarterly report|the login page|the mobile client|the data pipeline|the search index
the support team|the new contract|the invoice parser|the weather dashboard|the test suite
the shipping label|the payment gateway|the sales forecast|the onboarding guide|the camera feed
the translation queue|the backup job|the recipe converter|the travel planner|the course schedule
the inventory table|the release branch|the feature flag|the audit log|the calendar sync""".replace(
    "\n", "|"
).split("|")
_VERBS = """needs|rejects|keeps|returns|expects|skips|renames|duplicates|ignores|rounds|truncates
overwrites|requires|drops|sorts|merges|caches|encrypts|validates|retries|flags|archives""".replace(
    "\n", "|"
).split("|")
_OBJECTS = """dates in ISO format|amounts in euros|files larger than 20 MB|names with accents
columns without a header|rows that end in a comma|addresses from Canada|orders from last week
two approvals|a signed cookie|the tax number|metric units|an absolute path|a UTF-8 encoding
the older schema|time zones|empty cells|the discount code|a read replica|the beta endpoint
phone numbers with an extension|seats by the window|vegetarian options|the printed form""".replace(
    "\n", "|"
).split("|")
_WHENS = """before noon|after the migration|on the first of a month|when the cache is cold
while a backup runs|during the audit|for trial accounts|outside office hours|in the second region
since version 3|unless a manager agrees|on mobile networks|when the queue is long""".replace(
    "\n", "|"
).split("|")
_REASONS = """the vendor changed its interface|two teams share the table|the lock is never released
the old parser guesses the type|the contract says so|the index was built twice
a rate limit applies|the clocks differ by an hour|the form has no such field""".replace(
    "\n", "|"
).split("|")
_ASKING = ("How does", "Why does", "What happens when", "Is it true that", "When is it that")


def statements(count: int, seed: int = 1) -> list[str]:
    """Return `count` different statements of about 20 words."""
    random_ = random.Random(seed)
    return _different(count, lambda: _statement(random_))


def questions(count: int, seed: int = 2) -> list[str]:
    """Return `count` different questions of about 12 words."""
    random_ = random.Random(seed)
    return _different(count, lambda: _question(random_))


def points(count: int, *, namespaces: int, dimension: int, seed: int = 3) -> Iterator[Point]:
    """Yield memories spread over namespaces, half of them active.

    Their dense vectors are random unit vectors: what a store does does not depend on what
    the numbers mean. The BM25 vectors are those of the texts.

    Args:
        count: How many memories.
        namespaces: Over how many namespaces, in turn.
        dimension: Width of the dense vectors.
        seed: Seed of everything.
    """
    random_ = random.Random(seed)
    vectors = np.random.default_rng(seed).standard_normal((count, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [text.partition(", and ")[0] + "." for text in statements(2 * count, seed)]
    texts = list(dict.fromkeys(texts))[:count]
    sparse = Bm25Embedder().embed_documents(texts)
    for place, (text, words) in enumerate(zip(texts, sparse, strict=True)):
        status: Status = ("active", "superseded", "active", "archived")[place // namespaces % 4]
        at = NOW - timedelta(minutes=random_.randrange(500_000))
        memory = Memory(
            id=f"mem_{place:08x}",
            namespace=Namespace.of(("benchmark", f"user-{place % namespaces}")),
            content=text,
            kind="semantic",
            category="fact",
            task_type="operations",
            evidence=(Evidence(f"run_{place:08x}", (random_.randrange(20),)),),
            status=status,
            event_time=at,
            created_at=at,
            updated_at=at,
        )
        yield Point(memory, tuple(map(float, vectors[place])), words)


def _different(count: int, make: Callable[[], str]) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        made[make()] = None
    return list(made)


def _statement(random_: random.Random) -> str:
    choose = random_.choice
    return (
        f"{choose(_SUBJECTS).capitalize()} {choose(_VERBS)} {choose(_OBJECTS)} {choose(_WHENS)}, "
        f"and {choose(_SUBJECTS)} {choose(_VERBS)} {choose(_OBJECTS)} because {choose(_REASONS)}."
    )


def _question(random_: random.Random) -> str:
    choose = random_.choice
    return (
        f"{choose(_ASKING)} {choose(_SUBJECTS)} {choose(_VERBS)} {choose(_OBJECTS)} "
        f"{choose(_WHENS)}?"
    )
