"""What a lesson says that it replaces: only what it may, and only what is about the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Reflection, Source
from hindsight_core.reconcile.named import is_named_rightly
from hindsight_core.testing import FrozenClock, ScriptedModel
from hindsight_core.trajectory import Trajectory

Opener = Callable[..., Hindsight]

RIGHTLY = [
    ("Tickets are now tracked in the new board", "Issues are filed in the old tracker", 0.41),
    ("The service moved to region eu", "The service runs in region us", 0.71),
    ("The service moved to region eu", "service is hosted in us-east", 0.57),
    ("Checkout is deployed on Fridays", "Checkout is deployed on Tuesdays", 0.91),
    ("Checkout may be deployed freely", "Never deploy checkout without approval of Eve", 0.7),
    ("We write tests with pytest nowadays", "The test framework is unittest", 0.48),
    ("The user is a vegetarian", "The user eats meat", 0.77),
    ("Backups moved to S3", "Backups are stored on the NAS", 0.55),
    ("New customers can't pay by invoice", "New customers can pay by invoice", 0.87),
    ("服务部署在上海", "服务部署在北京机房", 0.5),
]
WRONGLY = [
    ("The deploy of checkout needs the VPN", "Checkout is deployed on Tuesdays", 0.47),
    ("The deploy of checkout needs the VPN", "Never deploy checkout without approval", 0.53),
    ("The service moved to region eu", "The service writes its logs to Loki", 0.28),
    ("The service moved to region eu", "The service answers within 200 ms", 0.43),
    ("The service moved to region eu", "The service deploys on Tuesdays", 0.35),
    ("Checkout is deployed with Argo", "Never deploy checkout without approval of Eve", 0.44),
    ("Standups are canceled", "The standup room is 4.12", 0.43),
    ("Backups moved to S3", "Backups are kept for 30 days", 0.5),
    ("Lunch is at one", "Coffee is on the third floor", 0.9),
    ("Ticket number 12 costs 30 euros", "Ticket number 13 costs 40 euros", 0.9),
    ("部署需要VPN", "部署在周二进行", 0.63),
    ("日志写入Loki", "日志保存三十天", 0.69),
    ("服务器1的内存是16GB", "服务器2的内存是32GB", 0.95),
]
SERVICE = [
    "The service runs in region us", "The service uses Postgres 15",
    "The service is owned by the payments team", "The service deploys on Tuesdays",
    "The service writes its logs to Loki", "The service answers within 200 ms",
    "The service speaks gRPC", "The service has two replicas",
    "The service is written in Go", "The service keeps backups for 30 days",
]  # fmt: skip


@pytest.mark.parametrize(("new", "known", "cosine"), RIGHTLY)
def test_what_is_about_the_same_is_named_rightly(new: str, known: str, cosine: float) -> None:
    assert is_named_rightly(new, known, cosine)


@pytest.mark.parametrize(("new", "known", "cosine"), WRONGLY)
def test_what_is_about_something_else_is_named_wrongly(new: str, known: str, cosine: float) -> None:
    assert not is_named_rightly(new, known, cosine)


def said(*texts: str) -> Trajectory:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return Trajectory.from_messages(messages, run_id="run_named")


def naming(text: str, *facts: str, category: str = "fact") -> ScriptedModel:
    """Return a model that names, under whatever number they are offered, all of `facts`."""

    def answer(prompt: Any) -> dict[str, Any]:
        offered = re.findall(r"^(m\d+): (.*)$", prompt.user, re.MULTILINE)
        named = [number for number, line in offered if any(fact in line for fact in facts)]
        assert len(named) == len(facts), prompt.user
        return {"lessons": [{"text": text, "category": category, "supersedes": named}]}

    return ScriptedModel([answer])


def reflected(
    opened: Opener, model: ScriptedModel, facts: list[str], source: Source, clock: FrozenClock
) -> tuple[Hindsight, Reflection, set[str]]:
    h = opened(model=model)
    for fact in facts:
        h.store(fact, source=source)
    clock.advance(days=1)
    asked = f"What do I have to know: {', and '.join(facts[:3])}?"
    reflection = h.reflect(said(asked, "Noted, I looked at all of it."))
    assert reflection.status == "learned"
    gone = h.list(statuses=["superseded"]).memories
    return h, reflection, {memory.content for memory in gone}


CHECKOUT = ["Never deploy checkout without approval of Eve", "Checkout is deployed on Tuesdays"]


@pytest.mark.parametrize("source", ["user_feedback", "validator", "rule", "agent_inference"])
def test_a_lesson_about_something_else_replaces_nothing_that_it_names(
    opened: Opener, clock: FrozenClock, source: Source
) -> None:
    model = naming("The deploy of checkout needs the VPN", *CHECKOUT)
    h, reflection, gone = reflected(opened, model, CHECKOUT, source, clock)
    assert gone == set()
    assert reflection.superseded == ()
    assert sum("is not replaced" in note for note in reflection.notes) == 2
    run = h._engine.journal.get_run(h.namespace, "run_named")
    assert run is not None
    assert sum("is not replaced" in note for note in run.notes) == 2


@pytest.mark.parametrize("source", ["user_feedback", "validator"])
def test_an_inferred_lesson_replaces_nothing_that_is_more_trusted(
    opened: Opener, clock: FrozenClock, source: Source
) -> None:
    model = naming("Checkout is deployed on Fridays", CHECKOUT[1])
    _, reflection, gone = reflected(opened, model, CHECKOUT, source, clock)
    assert gone == set()
    assert any("more trusted" in note for note in reflection.notes)


@pytest.mark.parametrize("source", ["rule", "agent_inference", "import"])
def test_an_inferred_lesson_replaces_what_it_names_rightly(
    opened: Opener, clock: FrozenClock, source: Source
) -> None:
    model = naming("Checkout is deployed on Fridays", CHECKOUT[1])
    _, reflection, gone = reflected(opened, model, CHECKOUT, source, clock)
    assert gone == {CHECKOUT[1]}
    assert not any("is not replaced" in note for note in reflection.notes)


@pytest.mark.parametrize("named", [(0, 4), (4, 5), (0, 4, 5)])
def test_of_what_is_named_only_what_is_about_the_same_is_replaced(
    opened: Opener, clock: FrozenClock, named: tuple[int, ...]
) -> None:
    model = naming("The service moved to region eu", *(SERVICE[n] for n in named))
    facts = [SERVICE[n] for n in dict.fromkeys((*named, *range(8)))][:8]
    _, _, gone = reflected(opened, model, facts, "rule", clock)
    assert gone == {SERVICE[0]}


def test_what_holds_since_later_is_not_replaced_by_name(opened: Opener, clock: FrozenClock) -> None:
    h = opened(model=naming("Checkout is deployed on Fridays", CHECKOUT[1]))
    later = clock() + timedelta(days=30)
    h.store(CHECKOUT[1], source="rule", event_time=later)
    h.reflect(said(f"Is it true: {CHECKOUT[1]}?", "It is not."))
    assert h.list(statuses=["superseded"]).memories == ()


def test_a_lesson_that_names_more_than_three_is_not_believed_and_told_so(
    opened: Opener, clock: FrozenClock
) -> None:
    facts = [f"Checkout is deployed on {day}s" for day in ("Monday", "Tuesday")]
    facts += ["Checkout has 12 pages", "Checkout takes cards only"]
    model = naming("Never open the old archive", *facts)
    h = opened(model=model)
    h.store_many([{"content": fact, "source": "rule", "category": "rule"} for fact in facts])
    clock.advance(days=1)
    reflection = h.reflect(said(f"Is it so: {', and '.join(facts)}?", "I looked at all of it."))
    assert reflection.superseded == ()
    assert any("4 memories are not replaced" in note for note in reflection.notes)
