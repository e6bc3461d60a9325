"""What one tenant stored never reaches another, by whatever verb."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.errors import HindsightError, MemoryNotFoundError, NamespaceError
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.steps import Step
from hindsight_core.store.base import Search
from hindsight_core.testing import FaultyStore, HashingEmbedder, ScriptedModel, csv_run
from hindsight_core.trajectory import Trajectory

MARKER = "xyzzyplugh"
ABOUT = "the vault code of the bank"
RUN = "run_shared_name"
NEW = "Oslo is the capital of Norway"
"""What the other tenant writes itself."""


def secret_run(run_id: str) -> Trajectory:
    return Trajectory.from_messages(
        [
            {"role": "user", "content": f"Please remember that {ABOUT} is {MARKER}."},
            {"role": "assistant", "content": f"I will. {MARKER} it is."},
            {"role": "user", "content": f"No, that's wrong. I always write it as {MARKER}!"},
        ],
        run_id=run_id,
        outcome="failure",
        outcome_reason=f"{MARKER} was misspelled",
    )


def own_run(run_id: str) -> Trajectory:
    return csv_run(run_id, task=f"Load the table about {ABOUT} and tell me the total")


def calls(memory_id: str) -> dict[str, list[dict[str, Any]]]:
    """Return how every verb is called by the other tenant, in an order that ends with `close`."""
    by_id = [{"memory_id": memory_id}]
    return {
        "get": by_id,
        "history": by_id,
        "why": by_id,
        "versions": by_id,
        "release": by_id,
        "restore": by_id,
        "rollback": [*by_id, {"run_id": RUN}, {"run_id": RUN, "dry_run": True}],
        "feedback": [
            {"memory_id": memory_id, "helpful": False},
            {"run_id": RUN, "outcome": "failure"},
        ],
        "forget": [*by_id, {"run_id": RUN}, {"tags": ["private"]}],
        "store": [
            {"content": f"Nobody knows {ABOUT}"},
            {"content": NEW, "memory_id": memory_id},
        ],
        "store_many": [{"items": [{"content": f"{ABOUT} was changed"}]}],
        "retrieve": [
            {"query": ABOUT, "top_k": 100, "statuses": ["active", "superseded", "forgotten"]},
            {"query": MARKER},
            {"query": ""},
            {"query": ABOUT, "tags": ["private"]},
        ],
        "contradictions": [{"statement": f"{ABOUT} is not known", "least": 0.0}],
        "brief": [{"query": ABOUT, "run_id": RUN}, {"query": "", "session_id": "chat"}],
        "forethought": [{"task": f"Please remember {ABOUT}"}],
        "list": [{}, {"statuses": ["active", "superseded", "forgotten"]}, {"run_id": RUN}],
        "search_log": [{"text": MARKER}, {"text": "vault"}],
        "submit": [{"trajectory": own_run("run_of_b")}],
        "reflect": [{"trajectory": own_run("run_of_b_2")}, {"trajectory": own_run(RUN)}],
        "retry": [{}, {"run_ids": [RUN]}],
        "flush": [{"timeout": 20}],
        "maintain": [{"dry_run": True, "everything": True}, {"everything": True}],
        "consolidate": [{"dry_run": True, "everything": True}, {"everything": True}],
        "review": [{}],
        "session": [{"session_id": "chat"}],
        "count_tokens": [{"text": ABOUT}],
        "scoped": [{"namespace": ("bank", "carol")}],
        "for_user": [{"user_id": "carol"}],
        "note_failure": [{"what": "capture", "error": ValueError("no span")}],
        "stats": [{}],
        "close": [{}],
    }


class Opened:
    """A tenant whose secret is everywhere that a secret can be, and what the model was sent."""

    def __init__(self, folder: Path) -> None:
        # A reply that can't be used has its beginning quoted in the failure.
        self.model = ScriptedModel([f"{MARKER}!", f"{MARKER}?", '{"lessons": []}'])
        self.alice = Hindsight.open(
            folder,
            namespace=("bank", "alice"),
            settings=Settings(poll_seconds=0.05, drain_seconds=1.0),
            embedder=HashingEmbedder(),
            model=self.model,
        )
        assert self.alice.reflect(secret_run("run_failed")).status == "failed"
        assert self.alice.reflect(secret_run(RUN)).status == "learned"
        self.secret = self.alice.store(
            f"{ABOUT} is {MARKER}",
            tags=["private", MARKER],
            task_description=f"{ABOUT}: {MARKER}",
            metadata={"note": MARKER},
            category="preference",
        )
        self.alice.brief(ABOUT, run_id=RUN)
        self.alice.forget(self.alice.store(f"Until May {ABOUT} was {MARKER}2").id)
        self.alice.session("chat").add(Step("user", text=f"It is {MARKER}"), f"{MARKER} noted")
        self.before = self.kept()

    def kept(self) -> list[Any]:
        statuses: Any = ("active", "superseded", "archived", "forgotten", "quarantined")
        memories = self.alice.list(limit=500, statuses=statuses).memories
        return sorted((m.id, m.content, m.status, m.confidence, m.version) for m in memories)


def everything_in(result: Any) -> str:
    """Return a result as text, with what only its methods tell."""
    if isinstance(result, Hindsight):
        return f"{result!r} {result.list(limit=500)!r} {result.stats()!r}"
    if hasattr(result, "steps") and hasattr(result, "end"):
        return f"{result.steps()!r}"
    return repr(result)


def public_verbs() -> set[str]:
    return {name for name, _ in inspect.getmembers(Hindsight, callable) if name[0] != "_"}


def asked(h: Hindsight, name: str, options: dict[str, Any]) -> str:
    verb: Callable[..., Any] = getattr(h, name)
    try:
        result = verb(**options)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
    except HindsightError as error:
        return f"{error} {error.__cause__}"
    return everything_in(result)


@pytest.mark.parametrize("twin", ["", "a"], ids=["sync", "async"])
def test_a_secret_of_one_tenant_reaches_another_by_no_verb(
    folder: Path, twin: str, caplog: pytest.LogCaptureFixture
) -> None:
    opened = Opened(folder)
    bob = opened.alice.scoped(("bank", "bob"))
    ways = calls(opened.secret.id)
    # A verb that is new has to be called here, too.
    assert {name for name in public_verbs() if name != "open"} <= {
        *ways, *(f"a{name}" for name in ways)
    }  # fmt: skip
    prompts_before = len(opened.model.prompts)
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    for name, all_options in ways.items():
        verb = f"{twin}{name}" if f"{twin}{name}" in public_verbs() else name
        if name == "close":
            assert opened.kept() == opened.before
        for options in all_options:
            said = asked(bob, verb, options)
            echoed = MARKER in repr(options)
            assert MARKER not in (said.replace(repr(MARKER), "") if echoed else said), verb
    prompts = opened.model.prompts[prompts_before:]
    assert prompts
    assert all(MARKER not in prompt.system + prompt.user for prompt in prompts)
    assert MARKER not in caplog.text
    opened.alice.close()


def test_what_is_granted_is_read_and_nothing_else(folder: Path) -> None:
    opened = Opened(folder)
    with opened.alice:
        carol = opened.alice.scoped(("bank", "carol"), read_namespaces=[("bank", "alice")])
        assert MARKER in repr(carol.retrieve(ABOUT))
        assert MARKER not in repr(opened.alice.scoped(("bank",)).retrieve(ABOUT))
        with pytest.raises(MemoryNotFoundError):
            opened.alice.scoped("bank").why(opened.secret.id)


def test_a_crowd_next_door_pushes_nothing_out(folder: Path) -> None:
    settings = Settings(drain_seconds=1.0)
    with Hindsight.open(
        folder, namespace="a", settings=settings, embedder=HashingEmbedder()
    ) as crowd:
        crowd.store_many(
            {"content": f"The report number {n} of the team is due", "memory_id": f"m{n}"}
            for n in range(500)
        )
        own = crowd.scoped("b")
        memory = own.store("The report of sales, by the team, may be due some day")
        found = own.retrieve("the report of the team is due", top_k=3)
        assert [result.memory.id for result in found] == [memory.id]
        assert own.stats().by_status == {"active": 1}
        # And of several pages all are erased, next door nothing.
        assert len(crowd.forget(kinds=["semantic"])) == 500
        assert crowd.list().memories == ()
        assert own.get(memory.id) == memory


def test_a_store_that_fails_answers_with_nothing_and_not_with_an_earlier_answer(
    folder: Path,
) -> None:
    with Hindsight.open(folder, namespace="a", embedder=HashingEmbedder()) as h:
        h.store(f"{ABOUT} is {MARKER}", tags=["private"])
        away = {"now": False}
        inner = h._engine.store
        broken = FaultyStore(inner, lambda op, _: away["now"] and isinstance(op, Search))
        failing = Hindsight.open(
            folder.with_name("other"), namespace="a", embedder=HashingEmbedder(), store=broken
        )
        assert MARKER in repr(failing.retrieve(ABOUT, tags=["private"]))
        away["now"] = True
        brief = failing.brief(ABOUT)
        assert (brief.text, brief.retrieved, brief.available) == ("", (), False)
        away["now"] = False
        failing.close()


@pytest.mark.parametrize(
    "namespace",
    [1.0, True, b"a", ("a", None), ("a", ""), ("a", "\x00"), "a\ud800", "{user_id}", "x" * 300,
     ("a",) * 9, {}, {"user": "a"}, {"a", "b"}, object()],
)  # fmt: skip
def test_a_namespace_that_could_be_mistaken_is_refused_with_the_rule(
    folder: Path, namespace: Any
) -> None:
    with pytest.raises(NamespaceError, match="a namespace has 1 to"):
        Hindsight.open(folder, namespace=namespace)
    assert not folder.exists()


def test_namespaces_are_kept_apart_however_alike_they_look(folder: Path) -> None:
    names: list[Any] = [
        ("a", "b"), "a/b", "a", "A", "a%2Fb", ("a", "b", "c"), "团队", "ab", 7, ("a", "7"),
    ]  # fmt: skip
    with Hindsight.open(folder, namespace="x", embedder=HashingEmbedder()) as h:
        views = [h.scoped(name) for name in names]
        for number, view in enumerate(views):
            view.store(f"The number of this view is {number * 7919}")
        for number, view in enumerate(views):
            (memory,) = view.list().memories
            assert str(number * 7919) in memory.content
        assert h.list().memories == ()
        # One and its text are the same on purpose: ids come as either.
        assert h.scoped("7").list().memories == h.scoped(7).list().memories


def test_tenants_who_write_at_once_keep_to_themselves(folder: Path) -> None:
    with Hindsight.open(folder, namespace="x", embedder=HashingEmbedder()) as h:

        def write(tenant: int) -> None:
            view = h.scoped(("t", tenant))
            for number in range(10):
                view.store(f"Machine {tenant}x{number} has serial {tenant}y{number}")

        threads = [threading.Thread(target=write, args=(tenant,)) for tenant in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for tenant in range(4):
            contents = [m.content for m in h.scoped(("t", tenant)).list().memories]
            assert len(contents) == 10
            assert all(content.startswith(f"Machine {tenant}x") for content in contents)
