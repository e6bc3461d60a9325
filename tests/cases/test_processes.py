"""A second process beside the owner of the store, forks, and scripts that end at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from children import Start, line_of, tell

from hindsight_core.errors import SchemaMismatchError, StoreLockedError
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import HashingEmbedder, csv_run

TASK = "Load orders.csv and tell me the total"

Opened = Callable[..., Hindsight]

OWNS_THE_STORE = """
h = opened()
say("open")
for line in sys.stdin:
    say(h.stats().journal.done)
"""


@pytest.fixture
def opens(folder: Path) -> Opened:
    def open_memory(**options: Any) -> Hindsight:
        given: dict[str, Any] = {
            "namespace": ("acme", "alice"),
            "settings": Settings(poll_seconds=0.05, drain_seconds=1.0),
            "embedder": HashingEmbedder(),
        }
        return Hindsight.open(folder, **(given | options))

    return open_memory


def test_a_second_process_is_told_who_has_the_store_and_what_to_do(
    start: Start, opens: Opened
) -> None:
    owner = start(OWNS_THE_STORE)
    assert line_of(owner) == "open"
    with pytest.raises(StoreLockedError, match=rf"process {owner.pid} .*HINDSIGHT_MEMORY_URL"):
        opens()


def test_beside_the_owner_a_process_submits_and_the_owner_reflects(
    start: Start, opens: Opened
) -> None:
    owner = start(OWNS_THE_STORE)
    assert line_of(owner) == "open"
    with opens(wait_for_store=True) as second:
        second.submit(csv_run())
        brief = second.brief(TASK)
        assert (brief.text, brief.available) == ("", False)
        # A run that the owner holds is not due here, so the journal says when it is done.
        while not second.stats().journal.learned:
            second.flush(0.1)
        tell(owner)
        assert line_of(owner) == "1"
        stats = second.stats()
        assert (stats.journal.learned, stats.journal.failed) == (1, 0)
        assert stats.failures["recall"] == 1


def test_when_the_owner_is_killed_the_one_who_waits_takes_over(start: Start, opens: Opened) -> None:
    owner = start(
        """
class Stuck:
    def reflect(self, trajectory, known, now):
        say("begun")
        threading.Event().wait()

h = opened(reflector=Stuck())
say("open")
h.submit(csv_run("run_owner", task="Load the table of the owner and tell me the total"))
sys.stdin.readline()
"""
    )
    assert line_of(owner) == "open"
    assert line_of(owner) == "begun"
    with opens(wait_for_store=True) as second:
        second.submit(csv_run())
        assert not second.brief(TASK).available
        owner.kill()
        owner.wait(30)
        # Both its own run and the one that the dead owner held.
        while second.stats().journal.learned < 2:
            second.flush(0.1)
        assert second.brief(TASK)


def test_reflecting_without_the_store_is_made_up_for_when_it_is_there(
    start: Start, opens: Opened
) -> None:
    owner = start("class Idle:\n    pass\nh = opened()\nh._engine.worker.close()\nsay('open')\n"
                  "sys.stdin.readline()\nh.close()\n")  # fmt: skip
    assert line_of(owner) == "open"
    with opens(wait_for_store=True) as second:
        reflection = second.reflect(csv_run())
        assert reflection.status == "failed"
        assert f"process {owner.pid}" in reflection.reason
        tell(owner)
        owner.wait(30)
        while not second.stats().journal.learned:
            second.flush(0.1)
        assert second.brief(TASK)


@pytest.mark.parametrize("wait_for_store", [False, True])
@pytest.mark.parametrize(
    "other", [HashingEmbedder("another"), HashingEmbedder("hashing", 32)], ids=["name", "width"]
)
def test_another_embedder_is_refused_at_open_with_both_names_and_the_data_untouched(
    opens: Opened, other: HashingEmbedder, wait_for_store: bool
) -> None:
    with opens() as h:
        memory = h.store("The deploy needs the VPN")
    with pytest.raises(SchemaMismatchError) as error:
        opens(embedder=other, wait_for_store=wait_for_store)
    said = str(error.value)
    assert f"'hashing' of {HashingEmbedder().dimension}" in said
    assert f"{other.name!r} of {other.dimension}" in said
    assert "choose another folder or collection and reflect the runs again" in said
    assert other.calls == []
    with opens() as again:
        assert again.get(memory.id) == memory
        assert [r.memory.id for r in again.retrieve("what does the deploy need")] == [memory.id]


FORKS = """
import time, warnings
h = opened()
kept = h.store("The deploy needs the VPN")
{before}
pid = os.fork()
if pid == 0:
    status = 1
    try:
        brief = h.brief("what does the deploy need?")
        assert not brief.available, brief
        try:
            h.store("Written by a fork")
        except Exception as error:
            assert type(error).__name__ == "StoreError" and "fork" in str(error), error
        else:
            raise AssertionError("a fork wrote to the store of its parent")
        h.submit(csv_run("run_child", task="Load the table of the child and tell me the total"))
        h.close()
        status = 0
    finally:
        os._exit(status)
deadline = time.monotonic() + 60
while True:
    gone, status = os.waitpid(pid, os.WNOHANG)
    if gone:
        break
    if time.monotonic() > deadline:
        os.kill(pid, 9)
        say("the child hangs")
        os._exit(1)
    time.sleep(0.02)
say(os.waitstatus_to_exitcode(status))
{after}
while h.stats().journal.learned < 1:
    h.flush(0.1)
h.store("The build needs Python 3.12")
h.close()
say("closed")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system does not fork")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "", id="idle"),
        pytest.param(
            "taken, let_go = threading.Event(), threading.Event()\n"
            "def hold():\n"
            "    with h._engine.writer.lock:\n"
            "        taken.set()\n"
            "        let_go.wait()\n"
            "threading.Thread(target=hold, daemon=True).start()\n"
            "assert taken.wait(30)",
            "let_go.set()",
            id="while another thread writes",
        ),
    ],
)
def test_a_fork_is_refused_the_store_can_submit_and_never_hangs(
    start: Start, opens: Opened, before: str, after: str
) -> None:
    parent = start(FORKS.format(before=before, after=after))
    assert line_of(parent) == "0"
    assert line_of(parent) == "closed"
    assert parent.wait(30) == 0
    with opens() as h:
        contents = {memory.content for memory in h.list(kinds=["semantic"]).memories}
        assert {"The deploy needs the VPN", "The build needs Python 3.12"} <= contents
        assert "Written by a fork" not in contents
        assert h.stats().journal.learned == 1


@pytest.mark.skipif(sys.platform == "win32", reason="this system does not fork")
def test_a_worker_forked_from_a_preloaded_memory_can_open_its_own(start: Start) -> None:
    parent = start(
        """
h = opened()
h.store("The deploy needs the VPN")
h.close()
pid = os.fork()
if pid == 0:
    status = 1
    try:
        with opened() as own:
            assert own.retrieve("what does the deploy need?")
            own.store("Written by the child")
        status = 0
    finally:
        os._exit(status)
say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
with opened() as h:
    say(len(h.list().memories))
"""
    )
    assert line_of(parent) == "0"
    assert line_of(parent) == "2"


def test_a_script_that_ends_at_once_loses_nothing(start: Start, opens: Opened) -> None:
    script = start("opened().submit(csv_run())\n")
    assert script.wait(60) == 0
    with opens() as h:
        assert h.flush(60)
        assert h.stats().journal.learned == 1
        assert h.brief(TASK)
