"""What is said before a run begins."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.errors import ConfigurationError, StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Context, Evidence, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.forethought import MAX_TOKENS, render_forethought
from hindsight_core.retrieval.patterns import chance_of, error_kind, patterns_of
from hindsight_core.safety.marks import strip_marked
from hindsight_core.testing import FrozenClock, csv_run
from hindsight_core.trajectory import OutcomeLabel, Trajectory

FRIDAY = datetime(2026, 1, 9, 15, 0, tzinfo=UTC)
SERVICES = ("billing", "search", "checkout", "profile", "mail", "catalog", "login", "media")


def deploy(run_id: str, at: datetime, outcome: OutcomeLabel, service: str) -> Trajectory:
    failed = outcome == "failure"
    result = "TimeoutError: release window is closed" if failed else "deployed"
    call = {"name": "deploy_service", "arguments": f'{{"service": "{service}"}}'}
    return Trajectory.from_messages(
        [
            {"role": "user", "content": f"Deploy the {service} service to production"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": call}],
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "name": "deploy_service",
                "content": result,
                **({"status": "error"} if failed else {}),
            },
            {"role": "assistant", "content": "It did not work." if failed else "It is live."},
        ],
        run_id=run_id,
        outcome=outcome,
        outcome_source="validator",
        ended_at=at,
    )


def deploy_all(h: Hindsight, days: tuple[int, ...], failing: set[int]) -> None:
    """Reflect on one deploy for each of `days`, which count from a Friday."""
    for number, (day, service) in enumerate(zip(days, SERVICES, strict=False)):
        outcome: OutcomeLabel = "failure" if day in failing else "success"
        h.reflect(deploy(f"run_{number}", FRIDAY + timedelta(days=day), outcome, service))


@pytest.fixture
def fridays(h: Hindsight, clock: FrozenClock) -> Hindsight:
    """Three deploys on Fridays, all failed, and four on other days, all well."""
    deploy_all(h, (0, 7, 14, 3, 4, 11, 12), {0, 7, 14})
    clock.set(FRIDAY + timedelta(days=28))
    return h


def test_deploys_that_fail_on_fridays_are_foreseen_on_a_friday(fridays: Hindsight) -> None:
    found = fridays.forethought("Deploy the payments service to production")
    assert "On Fridays 3 of 3 similar runs failed, otherwise 0 of 4. Today is Friday." in found.text
    pattern = next(item for item in found.items if item.kind == "pattern")
    assert pattern.confidence == pytest.approx(4 / 5)
    assert "(confidence 0.80)" in found.text
    assert {memory.outcome for memory in pattern.memories} == {"failure"}


def test_on_another_day_the_pattern_is_told_without_today(
    fridays: Hindsight, clock: FrozenClock
) -> None:
    clock.advance(days=3)
    text = fridays.forethought("Deploy the payments service to production").text
    assert "On Fridays 3 of 3" in text
    assert "Today is" not in text


def test_weekdays_are_told_in_the_time_zone_that_is_given(h: Hindsight, clock: FrozenClock) -> None:
    late = FRIDAY.replace(hour=23)
    for number, (day, service) in enumerate(zip((0, 7, 14, 2, 5, 11), SERVICES, strict=False)):
        outcome: OutcomeLabel = "failure" if day % 7 == 0 else "success"
        h.reflect(deploy(f"run_{number}", late + timedelta(days=day), outcome, service))
    clock.set(late + timedelta(days=28))
    tokyo = timezone(timedelta(hours=9))
    found = h.forethought("Deploy the payments service to production", timezone=tokyo)
    assert "On Saturdays 3 of 3" in found.text


def test_two_failures_are_no_pattern(h: Hindsight) -> None:
    deploy_all(h, (0, 7, 3, 4, 11, 12), {0, 7})
    found = h.forethought("Deploy the payments service to production")
    assert [item.kind for item in found.items if item.kind == "pattern"] == []


def test_failures_that_are_spread_evenly_are_no_weekday_pattern(h: Hindsight) -> None:
    deploy_all(h, (0, 7, 14, 3, 10, 17), {0, 3, 10})
    found = h.forethought("Deploy the payments service to production")
    assert "days 3 of" not in found.text
    assert "days 2 of" not in found.text


def test_the_closest_failure_stands_with_the_fix_its_own_run_found(h: Hindsight) -> None:
    h.reflect(csv_run(outcome="failure"))
    found = h.forethought("Load orders.csv and tell me the total")
    failure = found.items[0]
    assert failure.kind == "failure"
    assert "Closest failure, " in found.text
    assert "Fix: When read_csv fails" in found.text
    assert "gb18030" in found.text
    assert [memory.category for memory in failure.memories] == ["experience", "rule"]
    assert found.text.count("gb18030 instead of") == 1


def test_a_fix_that_another_run_found_for_the_same_error_is_told(h: Hindsight) -> None:
    h.reflect(csv_run("run_fixed", outcome="success"))
    run = csv_run("run_failed", outcome="failure")
    steps = run.steps[:3]
    h.reflect(
        Trajectory(
            run_id=run.run_id, steps=steps, outcome=run.outcome, task="Load sales.csv, tell a total"
        )
    )
    found = h.forethought("Load orders.csv and tell me the total")
    failure = next(item for item in found.items if item.kind == "failure")
    assert failure.memories[0].evidence[0].run_id == "run_failed"
    assert failure.memories[1].evidence[0].run_id == "run_fixed"


def test_a_failure_without_a_fix_says_so(fridays: Hindsight) -> None:
    assert "No fix is known yet." in fridays.forethought("Deploy the payments service").text


def test_a_rule_that_matches_is_told_with_its_condition(h: Hindsight) -> None:
    h.store(
        "Ask for the ticket number first",
        category="rule",
        applies_when="a customer wants a refund",
    )
    found = h.forethought("Refund the customer for the broken lamp")
    assert "If a customer wants a refund: Ask for the ticket number first" in found.text
    assert [item.kind for item in found.items] == ["rule"]
    assert found.confidence == pytest.approx(0.7)


@pytest.mark.parametrize(
    "task", ["Write a poem about cats", "把支付服务部署到生产环境", "🎉", "", "  ", None]
)
def test_it_is_silent_when_nothing_matches(fridays: Hindsight, task: str | None) -> None:
    found = fridays.forethought(task)
    assert not found
    assert (found.text, found.items, found.tokens, found.available) == ("", (), 0, True)
    assert str(found) == ""


def test_an_empty_memory_foresees_nothing(h: Hindsight) -> None:
    assert not h.forethought("Deploy the payments service")


def test_it_speaks_chinese_to_a_chinese_task(h: Hindsight, clock: FrozenClock) -> None:
    for number, day in enumerate((0, 7, 14, 3, 4, 11)):
        failed = day % 7 == 0
        h.store(
            f"任务：把服务{number}部署到生产环境。"
            + ("部署失败，错误为 TimeoutError。" if failed else "部署成功。"),
            kind="episodic",
            category="experience",
            task_description=f"把服务{number}部署到生产环境",
            outcome="failure" if failed else "success",
            event_time=FRIDAY + timedelta(days=day),
        )
    clock.set(FRIDAY + timedelta(days=28))
    found = h.forethought("把服务9部署到生产环境")
    assert found.language == "zh"
    assert "周五执行的 3 次类似任务中有 3 次失败，其余 3 次中有 0 次。今天是周五。" in found.text
    assert "最接近的失败" in found.text
    assert "置信度 0.80" in found.text
    assert found.tokens <= MAX_TOKENS


def test_it_never_takes_more_than_two_hundred_tokens(fridays: Hindsight) -> None:
    for number in range(5):
        fridays.store(
            f"Before a deploy of kind {number} read the checklist. " + "Look twice. " * 60,
            category="rule",
            task_description="Deploy the payments service to production",
        )
    found = fridays.forethought("Deploy the payments service to production", token_budget=5_000)
    assert 0 < found.tokens <= MAX_TOKENS
    assert found.tokens == fridays.count_tokens(found.text)
    smaller = fridays.forethought("Deploy the payments service to production", token_budget=120)
    assert 0 < smaller.tokens <= 120
    assert len(smaller.items) < len(found.items)
    assert not fridays.forethought("Deploy the payments service to production", token_budget=5)


@pytest.mark.parametrize("text", ["🎉" * 400, "x" * 2_000])
def test_what_would_not_fit_is_shortened_rather_than_left_out(h: Hindsight, text: str) -> None:
    h.store(
        text,
        category="rule",
        applies_when="🎉" * 200,
        task_description="Deploy the payments service to production",
    )
    found = h.forethought("Deploy the payments service to production")
    assert len(found.items) == 1
    assert found.text.count(" …") >= 1
    assert 0 < found.tokens <= MAX_TOKENS


@pytest.mark.parametrize("budget", [0, -1, True, 2.5])
def test_a_budget_that_can_not_be_used_is_refused(h: Hindsight, budget: Any) -> None:
    with pytest.raises(ConfigurationError, match="token_budget"):
        h.forethought("x", token_budget=budget)


def test_it_is_marked_like_a_brief_so_that_it_is_not_learned(fridays: Hindsight) -> None:
    text = fridays.forethought("Deploy the payments service to production").text
    assert strip_marked(f"before {text} after") == "before  after"


def test_the_outcome_of_the_run_is_credited_to_what_it_was_told(h: Hindsight) -> None:
    rule = h.store(
        "Ask for the ticket number first",
        category="rule",
        applies_when="a customer wants a refund",
    )
    assert h.forethought("Refund the customer for the broken lamp", run_id="run_9")
    changed = h.feedback(run_id="run_9", outcome="success", source="user")
    assert [memory.id for memory in changed] == [rule.id]
    assert changed[0].confidence == pytest.approx((rule.confidence * 4 + 1) / 5)


def test_what_a_pattern_was_counted_over_is_not_credited(fridays: Hindsight) -> None:
    found = fridays.forethought("Deploy the payments service to production", run_id="run_9")
    told = {m.id for item in found.items if item.kind != "pattern" for m in item.memories}
    changed = fridays.feedback(run_id="run_9", outcome="success", source="user")
    assert {memory.id for memory in changed} == told


async def test_the_async_twin_says_the_same(fridays: Hindsight) -> None:
    task = "Deploy the payments service to production"
    assert await fridays.aforethought(task) == fridays.forethought(task)


def test_another_namespace_is_not_spoken_of(fridays: Hindsight) -> None:
    own = fridays.namespace
    other = fridays.scoped((*own.parts[:1], "bob"))
    assert not other.forethought("Deploy the payments service to production")
    shared = fridays.scoped(other.namespace, read_namespaces=[own])
    assert shared.forethought("Deploy the payments service to production")


def test_a_store_that_fails_makes_it_empty_and_is_counted(
    fridays: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_reach(op: object) -> None:
        raise StoreUnavailableError("gone")

    before = fridays.stats().failures.get("forethought", 0)
    monkeypatch.setattr(fridays._scope.engine.store, "execute", out_of_reach)
    found = fridays.forethought("Deploy the payments service", run_id="run_9")
    monkeypatch.undo()
    assert (bool(found), found.available) == (False, False)
    assert fridays.stats().failures["forethought"] == before + 1


def test_with_strict_settings_a_store_that_fails_raises(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_reach(op: object) -> None:
        raise StoreUnavailableError("gone")

    strict = opened(strict=True)
    with monkeypatch.context() as patched:
        patched.setattr(strict._scope.engine.store, "execute", out_of_reach)
        with pytest.raises(StoreUnavailableError):
            strict.forethought("Deploy the payments service")


def run_memory(outcome: OutcomeLabel, at: datetime = FRIDAY, **values: Any) -> Memory:
    number = next(_numbers)
    given: dict[str, Any] = {
        "content": "The task was: x. It ended.",
        "task_description": "x",
        "evidence": (Evidence(f"run_{number}"),),
    }
    return Memory(
        id=f"mem_{number}",
        namespace=Namespace.of("acme"),
        kind="episodic",
        category="experience",
        outcome=outcome,
        event_time=at,
        created_at=at,
        updated_at=at,
        **(given | values),
    )


_numbers = itertools.count()


def test_a_tool_whose_runs_fail_is_a_pattern() -> None:
    shaky = Context(tools_used=("search", "scrape"))
    steady = Context(tools_used=("search",))
    days = [FRIDAY + timedelta(days=day) for day in range(8)]
    runs = [run_memory("failure", at, context=shaky) for at in days[:3]]
    runs += [run_memory("success", at, context=steady) for at in days[3:]]
    (pattern,) = patterns_of(runs, UTC)
    assert (pattern.kind, pattern.value) == ("tool", "scrape")
    assert (pattern.failed, pattern.runs, pattern.others_failed, pattern.others) == (3, 3, 0, 5)


def test_the_same_error_in_most_failures_is_a_pattern() -> None:
    texts = ["ended with HTTP 503", "ended with status 503", "got HTTP 503 again", "KeyError: a"]
    runs = [
        run_memory("failure", FRIDAY + timedelta(days=n), content=f"The task was: x. It {text}.")
        for n, text in enumerate(texts)
    ]
    (pattern,) = patterns_of(runs, UTC)
    assert (pattern.kind, pattern.value, pattern.failed, pattern.runs) == (
        "error",
        "HTTP 503",
        3,
        4,
    )


def test_the_very_same_runs_are_told_of_once() -> None:
    tool = Context(tools_used=("scrape",))
    runs = [run_memory("failure", FRIDAY + timedelta(days=7 * n), context=tool) for n in range(3)]
    runs += [run_memory("success", FRIDAY + timedelta(days=n)) for n in (1, 2, 3, 4)]
    assert len(patterns_of(runs, UTC)) == 1


def test_runs_that_nobody_judged_do_not_count() -> None:
    labels: tuple[OutcomeLabel, ...] = ("unknown", "abandoned", "incomplete")
    runs = [run_memory(label, FRIDAY + timedelta(days=7 * n)) for n, label in enumerate(labels)]
    assert patterns_of(runs, UTC) == ()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("It stopped on ValueError: bad", "ValueError"),
        ("requests.ConnectTimeout: no", "ConnectTimeout"),
        ("the server said HTTP 429", "HTTP 429"),
        ("it timed out", "timeout"),
        ("权限不足", "permission denied"),
        ("请求超时", "timeout"),
        ("No such file here", "not found"),
        ("too many requests", "rate limit"),
        ("connection refused", "connection"),
        ("It went wrong", ""),
    ],
)
def test_errors_are_told_apart_by_their_kind(said: str, kind: str) -> None:
    memory = run_memory("failure", content=f"The task was: fix the KeyError. {said}.")
    memory = type(memory)(
        **{n: getattr(memory, n) for n in memory.__slots__}
        | {"task_description": "fix the KeyError"}
    )
    assert error_kind(memory) == kind


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))
def test_chance_is_what_counting_all_splits_gives(a: int, b: int, c: int, d: int) -> None:
    failed, runs, others_failed, others = a, a + b, c, c + d
    total = runs + others
    failures = failed + others_failed
    if not runs or total > 10:
        return
    splits = list(itertools.combinations(range(total), runs))
    worse = sum(sum(place < failures for place in split) >= failed for split in splits)
    assert chance_of(failed, runs, others_failed, others) == pytest.approx(worse / len(splits))


def test_nothing_renders_as_nothing() -> None:
    assert render_forethought((), "en") == ""
