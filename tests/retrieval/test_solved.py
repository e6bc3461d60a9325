"""What failed is not called unsolved where a success is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Evidence, Memory
from hindsight_core.retrieval.solved import UNSOLVED, same_task, success_at
from hindsight_core.testing import FrozenClock, csv_run
from hindsight_core.trajectory import OutcomeLabel, Trajectory

TASK = "Restore the database backup"
NO_FIX = "No fix is known"


def run(h: Hindsight, content: str, outcome: OutcomeLabel, task: str = TASK) -> Memory:
    return h.store(
        content, category="experience", kind="episodic", task_description=task, outcome=outcome
    )


FAILED = "Restored the backup with pg_restore --jobs 1; it timed out"
WORKED = "Restored the backup with pg_restore --jobs 8; done"


@pytest.mark.parametrize("later", [True, False])
def test_a_success_at_the_same_task_is_told_as_what_solved_it(
    h: Hindsight, clock: FrozenClock, later: bool
) -> None:
    told: list[tuple[str, OutcomeLabel]] = [(FAILED, "failure"), (WORKED, "success")]
    for content, outcome in told if later else reversed(told):
        run(h, content, outcome)
        clock.advance(days=1)
    found = h.forethought(TASK)
    day = "2026-01-06" if later else "2026-01-05"
    assert f"The same task succeeded on {day}: {WORKED}." in found.text
    assert NO_FIX not in found.text
    assert [memory.content for memory in found.items[0].memories] == [FAILED, WORKED]


def test_it_is_told_in_chinese_too(h: Hindsight) -> None:
    task = "恢复数据库备份"
    run(h, "用单线程恢复数据库备份，超时失败", "failure", task)
    run(h, "用八个线程恢复数据库备份，顺利完成", "success", task)
    text = h.forethought(task).text
    assert "同一任务在 2026-01-05 成功：用八个线程恢复数据库备份，顺利完成。" in text
    assert "尚无解决办法" not in text


def test_the_task_is_the_same_in_nearly_the_same_words(h: Hindsight) -> None:
    run(h, FAILED, "failure")
    run(h, WORKED, "success", "Please restore database  backup.")
    assert "jobs 8" in h.forethought(TASK).text


def test_the_latest_of_several_successes_is_told(h: Hindsight, clock: FrozenClock) -> None:
    for jobs in (2, 4, 8):
        run(h, f"Restored the backup with pg_restore --jobs {jobs}; done", "success")
        clock.advance(days=1)
    run(h, FAILED, "failure")
    assert "--jobs 8" in h.forethought(TASK).text


def test_a_success_at_another_task_solves_nothing(h: Hindsight) -> None:
    run(h, FAILED, "failure", "Restore the database backup of shop 1")
    run(h, WORKED, "success", "Restore the database backup of shop 2")
    assert NO_FIX in h.forethought("Restore the database backup of shop 1").text


def unmended(h: Hindsight, task: str = "") -> Trajectory:
    """Reflect on a run that failed and found no way around it."""
    whole = csv_run("run_failed", outcome="failure")
    failed = Trajectory(
        run_id="run_failed", steps=whole.steps[:3], outcome=whole.outcome, task=task or whole.task
    )
    h.reflect(failed)
    return failed


def warning_in(h: Hindsight, task: str) -> str:
    lines = h.brief(task, top_k=10).text.splitlines()
    return next(line for line in lines if "found no way around it" in line)


def test_a_warning_without_a_success_says_that_it_is_unsolved(h: Hindsight) -> None:
    failed = unmended(h)
    line = warning_in(h, failed.task)
    assert "not solved yet" in line
    assert "When:" not in line  # "read_csv failed with" says it already


def test_a_warning_whose_case_a_rule_mends_names_the_rule(h: Hindsight) -> None:
    failed = unmended(h)
    h.reflect(csv_run("run_mended", outcome="success"))
    brief = h.brief(failed.task, top_k=10)
    mended = next(n for n, r in enumerate(brief.retrieved, 1) if "mended" in r.memory.tags)
    assert "not solved yet" not in brief.text
    assert "disagree" not in brief.text
    assert f"found no way around it; [{mended}] tells what worked." in warning_in(h, failed.task)
    assert "not solved yet" not in h.forethought(failed.task).text


def test_a_warning_whose_task_succeeded_names_the_run(h: Hindsight) -> None:
    failed = unmended(h)
    run(h, "Loaded sales.csv after asking for an export in UTF-8; the total is 12", "success",
        failed.task)  # fmt: skip
    brief = h.brief(failed.task, top_k=10)
    worked = next(n for n, r in enumerate(brief.retrieved, 1) if r.memory.outcome == "success")
    assert "not solved yet" not in brief.text
    assert f"[{worked}] tells what worked." in warning_in(h, failed.task)


def test_a_forethought_tells_of_the_success_in_a_warning_too(h: Hindsight) -> None:
    task = "Load sales.csv and tell me the total"
    h.store(
        f"read_csv failed with an error and the run found no way around it{UNSOLVED[0]}",
        category="rule",
        task_description=task,
        outcome="failure",
        tags=("open", "warning"),
    )
    assert "not solved yet" in h.forethought(task).text
    run(h, "Loaded sales.csv with another encoding", "success", task)
    text = h.forethought(task).text
    assert "no way around it; the same task succeeded on 2026-01-05." in text
    assert "not solved yet" not in text


def test_what_reflection_calls_unsolved_is_known_in_both_languages(h: Hindsight) -> None:
    failed = unmended(h, "读取 sales.csv 并告诉我总额")
    steps = [replace(step, text="读取 sales.csv") if step.kind == "user" else step
             for step in failed.steps]  # fmt: skip
    h.reflect(replace(failed, run_id="run_zh", steps=tuple(steps)))
    open_ends = [m.content for m in h.list().memories if "open" in m.tags]
    assert all(content.endswith(UNSOLVED) for content in open_ends)
    assert all(any(content.endswith(end) for content in open_ends) for end in UNSOLVED)


def test_a_run_does_not_solve_its_own_failure(h: Hindsight) -> None:
    failed, worked = run(h, FAILED, "failure"), run(h, WORKED, "success")
    assert success_at(failed, [failed, worked]) == worked
    own = (Evidence("run_1"),)
    assert success_at(replace(failed, evidence=own), [replace(worked, evidence=own)]) is None


def test_without_a_task_nothing_is_the_same(h: Hindsight) -> None:
    failed, worked = run(h, FAILED, "failure", ""), run(h, WORKED, "success", "")
    assert not same_task(failed, worked)
