"""Five results of a brief are five things."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Category, Evidence, Memory, Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.diversity import diverse
from hindsight_core.trajectory import OutcomeLabel

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TERMS = Bm25Embedder().content_terms


def deploy(h: Hindsight, service: str, outcome: OutcomeLabel, **options: Any) -> Memory:
    return h.store(
        f"The task was: Deploy the {service} service to production. It ended.",
        kind="episodic",
        category="experience",
        task_description=f"Deploy the {service} service to production",
        outcome=outcome,
        **options,
    )


def told(h: Hindsight, **options: Any) -> list[str]:
    brief = h.brief("Deploy the payments service to production", **options)
    return [result.memory.id for result in brief.retrieved]


def test_near_copies_of_a_run_are_one_line_with_a_count(h: Hindsight) -> None:
    for service in ("billing", "search", "mail", "catalog"):
        deploy(h, service, "success")
    brief = h.brief("Deploy the payments service to production")
    (result,) = brief.retrieved
    assert len(result.copies) == 3
    assert "succeeded, 3 more like it," in brief.text
    assert brief.text.count("Deploy the") == 1


def test_the_best_success_and_the_closest_failure_come_before_copies(h: Hindsight) -> None:
    good = [deploy(h, service, "success") for service in ("billing", "search", "mail", "catalog")]
    bad = deploy(h, "checkout", "failure", evidence=[Evidence("run_bad")])
    partial = deploy(h, "login", "partial")
    ids = told(h, top_k=3)
    assert ids[0] in {memory.id for memory in good}
    assert ids[1:] == [bad.id, partial.id]


def test_a_failure_brings_its_fix(h: Hindsight) -> None:
    deploy(h, "billing", "success")
    deploy(h, "checkout", "failure", evidence=[Evidence("run_bad")])
    deploy(h, "login", "partial")
    fix = h.store(
        "When a deploy fails with a closed window, ask the release team to open it",
        category="rule",
        task_description="Deploy the checkout service to production",
        evidence=[Evidence("run_bad")],
    )
    shown = h.brief("Deploy the payments service to production", top_k=4).retrieved
    assert fix.id in {result.memory.id for result in shown}
    few = h.brief("Deploy the payments service to production", top_k=3).retrieved
    assert fix.id in {result.memory.id for result in few}


def test_retrieve_ranks_as_before_unless_asked(h: Hindsight) -> None:
    for service in ("billing", "search", "mail", "catalog"):
        deploy(h, service, "success")
    assert len(h.retrieve("Deploy the payments service to production")) == 4
    assert len(h.retrieve("Deploy the payments service to production", diverse=True)) == 1


def test_a_brief_can_be_told_not_to_fold(h: Hindsight, opened: Any) -> None:
    for service in ("billing", "search", "mail", "catalog"):
        deploy(h, service, "success")
    assert len(told(h, diverse=False)) == 4
    plain = opened(diverse_briefs=False)
    for service in ("billing", "search"):
        deploy(plain, service, "success")
    assert len(told(plain)) == 2


def test_the_same_rule_in_two_namespaces_is_told_once_from_the_own(h: Hindsight) -> None:
    shared = h.scoped(("acme", *h.namespace.parts[:1]))
    text = "Deploys need the VPN"
    shared.store(text, category="rule", memory_id="shared")
    h.store(text, category="rule", memory_id="own")
    both = h.scoped(h.namespace, read_namespaces=[shared.namespace])
    (result,) = both.brief("what do deploys need").retrieved
    assert (result.memory.id, result.copies) == ("own", ("shared",))


def test_folding_makes_room_for_what_stood_further_down(h: Hindsight) -> None:
    for service in ("billing", "search", "mail", "catalog", "login", "media"):
        deploy(h, service, "success")
    rule = h.store(
        "Announce it in the channel first",
        category="rule",
        task_description="Deploy the blog service to production",
    )
    assert rule.id in told(h, top_k=5)


def result(
    number: int,
    category: Category = "experience",
    outcome: OutcomeLabel = "success",
    task: str = "",
    **values: Any,
) -> Retrieved:
    relevance = values.pop("relevance", 0.8 - number / 100)
    memory = Memory(
        id=f"mem_{number}",
        namespace=Namespace.of("acme"),
        content=values.pop("content", f"text {number}"),
        kind="episodic" if category == "experience" else "semantic",
        category=category,
        outcome=outcome,
        task_description=task,
        event_time=NOW - timedelta(days=number),
        created_at=NOW,
        updated_at=NOW,
        **values,
    )
    return Retrieved(memory, 1.0 - number / 100, {}, relevance)


def ids(results: tuple[Retrieved, ...]) -> list[str]:
    return [entry.memory.id for entry in results]


def test_what_is_not_comparably_relevant_is_not_moved_up() -> None:
    found = diverse(
        [
            result(0, task="load a table", outcome="partial"),
            result(1, task="sort the letters", outcome="failure", relevance=0.2),
            result(2, task="paint a house", outcome="success", relevance=0.1),
        ],
        2,
        TERMS,
    )
    assert ids(found) == ["mem_0", "mem_1"]


def test_without_a_success_the_first_run_stays_first_and_the_failure_follows() -> None:
    found = diverse(
        [
            result(0, task="load a table", outcome="partial"),
            result(1, task="sort the letters", outcome="unknown"),
            result(2, task="paint a house", outcome="failure"),
        ],
        2,
        TERMS,
    )
    assert ids(found) == ["mem_0", "mem_2"]


def test_runs_without_words_are_copies_only_when_equal() -> None:
    found = diverse([result(0, task="🎉"), result(1, task="🎉"), result(2, task="🎈")], 5, TERMS)
    assert ids(found) == ["mem_0", "mem_2"]


def test_facts_that_look_alike_are_not_folded() -> None:
    found = diverse(
        [
            result(0, "fact", content="The port is 8080"),
            result(1, "fact", content="The port is 8081"),
        ],
        5,
        TERMS,
    )
    assert ids(found) == ["mem_0", "mem_1"]


categories: list[Category] = ["experience", "rule", "fact"]
outcomes: list[OutcomeLabel] = ["success", "failure", "partial", "unknown"]
entries = st.tuples(
    st.sampled_from(categories),
    st.sampled_from(outcomes),
    st.sampled_from(["deploy a service", "load a table", "write a letter to the bank"]),
    st.floats(0, 1),
)


@given(st.lists(entries, max_size=12), st.integers(1, 6))
def test_nothing_is_shown_twice_and_nothing_is_made_up(
    given_entries: list[tuple[Category, OutcomeLabel, str, float]], top_k: int
) -> None:
    results = [
        result(number, category, outcome, task, relevance=relevance)
        for number, (category, outcome, task, relevance) in enumerate(given_entries)
    ]
    found = diverse(results, top_k, TERMS)
    stood_for = [i for entry in found for i in (entry.memory.id, *entry.copies)]
    assert len(found) <= top_k
    assert len(stood_for) == len(set(stood_for))
    assert set(stood_for) <= {entry.memory.id for entry in results}
    if len(results) <= top_k:
        assert set(stood_for) == {entry.memory.id for entry in results}
