"""Reflection with rules and a model together."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from hindsight_core.errors import ModelCallError, ModelReplyError
from hindsight_core.models import Lesson, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.reflection.base import ModelReply, Reflected
from hindsight_core.reflection.llm import ModelReflector
from hindsight_core.reflection.prompts import MAX_LESSONS, sample_lessons
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.settings import DEFAULT_TASK_TYPES, ModelSettings
from hindsight_core.steps import Step, ToolCall
from hindsight_core.testing import EPOCH, ScriptedModel, corrected_run, csv_run
from hindsight_core.trajectory import Outcome, Trajectory

NOTHING = '{"lessons": []}'
GREETING = Trajectory(
    run_id="run_hi", steps=(Step("user", "hi"), Step("assistant", "Hello!")), outcome=Outcome()
)


class Clock:
    """Seconds that pass only while something sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class NoRules:
    """Rules that find what they are given."""

    def __init__(self, *lessons: Lesson) -> None:
        self._lessons = lessons

    def reflect(self, trajectory: Trajectory, known: Any, now: datetime) -> Reflected:
        return Reflected(lessons=self._lessons, reason="" if self._lessons else "nothing seen")


def count(text: str) -> int:
    return -(-len(text) // 4)


def reflector(
    model: ScriptedModel, *found: Lesson, clock: Clock | None = None, **settings: Any
) -> ModelReflector:
    clock = clock or Clock()
    return ModelReflector(
        model,
        NoRules(*found),
        task_types=DEFAULT_TASK_TYPES,
        count_tokens=count,
        settings=ModelSettings(**settings),
        sleep=clock.sleep,
        monotonic=clock,
    )


def learn(
    reply: Any, *found: Lesson, run: Trajectory | None = None, known: tuple[Memory, ...] = ()
) -> Reflected:
    model = ScriptedModel([reply if isinstance(reply, (str, ModelReply)) else json.dumps(reply)])
    return reflector(model, *found).reflect(run or csv_run(), known, EPOCH)


def lesson(content: str, **fields: Any) -> dict[str, Any]:
    return {"content": content, "importance": 0.7, **fields}


def memory(memory_id: str) -> Memory:
    return Memory(
        id=memory_id,
        namespace=Namespace.of(("acme", "alice")),
        content=f"Old fact of {memory_id}",
        kind="semantic",
        category="fact",
        event_time=EPOCH,
        created_at=EPOCH,
        updated_at=EPOCH,
    )


def test_one_call_is_made_and_it_is_shown_what_the_rules_found() -> None:
    model = ScriptedModel([{"lessons": [lesson("Sales files are in GB18030", steps=[2, 4])]}])
    rules = RuleReflector()
    found = rules.reflect(csv_run(), (), EPOCH)
    reflected = ModelReflector(
        model, rules, task_types=DEFAULT_TASK_TYPES, count_tokens=count, settings=ModelSettings()
    ).reflect(csv_run(), (), EPOCH)
    assert len(model.prompts) == 1
    for one in found.lessons:
        assert " ".join(one.content.split())[:200] in model.prompts[0].user
    assert len(reflected.lessons) == len(found.lessons) + 1
    assert {one.content for one in found.lessons} < {one.content for one in reflected.lessons}


def test_a_models_lesson_carries_what_it_said_and_where_it_comes_from() -> None:
    reply = {
        "goal": "Total the sales",
        "lessons": [
            lesson(
                "**Sales files** are in `GB18030`",
                category="fact",
                task_type="Data Analysis",
                applies_when="reading *sales* files",
                not_when="exported after 2027",
                confidence="90%",
                steps=[2, 4, 99],
                tags=["CSV", "csv", "x" * 80],
                valid_until="2027-01-01",
            )
        ],
    }
    (made,) = learn(reply).lessons
    assert made.content == "Sales files are in GB18030"
    assert (made.kind, made.category, made.task_type) == ("semantic", "fact", "data_analysis")
    assert (made.applies_when, made.not_when) == ("reading sales files", "exported after 2027")
    assert (made.confidence, made.importance) == (0.9, 0.7)
    assert made.steps == (2, 4)
    assert made.tags == ("csv", "x" * 40)
    assert made.task_description == "Total the sales"
    assert made.source == "agent_inference"
    assert made.outcome == "success"
    assert made.context.tools_used == ("read_csv",)
    assert made.valid_until == datetime(2027, 1, 1, 23, 59, 59, 999999, tzinfo=UTC)


def test_an_unknown_task_type_becomes_the_first_with_a_note() -> None:
    reflected = learn({"lessons": [lesson("a b c", task_type="alchemy")]})
    assert reflected.lessons[0].task_type == "general"
    assert "task type 'alchemy' is not declared and became general" in reflected.notes


def test_the_runs_own_task_type_stands() -> None:
    run = replace(csv_run(), task_type="operations")
    assert learn({"lessons": [lesson("a", task_type="coding")]}, run=run).lessons[0].task_type == (
        "operations"
    )


@pytest.mark.parametrize("date", ["soon", "2026-13-01", "2026-02-30"])
def test_a_date_that_is_none_is_left_out_with_a_note(date: str) -> None:
    reflected = learn({"lessons": [lesson("a", valid_until=date)]})
    assert reflected.lessons[0].valid_until is None
    assert any(date in note for note in reflected.notes)


def test_a_moment_is_read_with_and_without_a_zone() -> None:
    reply = [
        lesson("One thing", valid_until="2026-02-01T10:00:00+02:00"),
        lesson("Another matter", valid_until="2026-02-01T10:00:00"),
        lesson("Third topic", valid_until="null"),
    ]
    first, second, third = learn({"lessons": reply}).lessons
    assert first.valid_until == datetime(2026, 2, 1, 8, 0, tzinfo=UTC)
    assert second.valid_until == datetime(2026, 2, 1, 10, 0, tzinfo=UTC)
    assert third.valid_until is None


@pytest.mark.parametrize("text", ["hi", "ping", "thanks!", "你好", "heartbeat check"])
def test_greetings_and_heartbeats_make_no_call(text: str) -> None:
    model = ScriptedModel([NOTHING])
    run = Trajectory(run_id="run_1", steps=(Step("user", text), Step("assistant", "Hello!")))
    reflected = reflector(model).reflect(run, (), EPOCH)
    assert model.prompts == []
    assert reflected.lessons == ()
    assert reflected.reason == "nothing seen"


def test_a_greeting_in_which_the_rules_found_something_is_reflected_on() -> None:
    model = ScriptedModel([NOTHING])
    reflector(model, Lesson(content="The user's name is Alice")).reflect(GREETING, (), EPOCH)
    assert len(model.prompts) == 1


def test_a_reply_that_repeats_the_prompts_sample_teaches_nothing() -> None:
    run = Trajectory(
        run_id="run_1", steps=(Step("user", "What can you do?"), Step("assistant", "A lot."))
    )
    for language in ("en", "zh"):
        samples = [lesson(text) for text in sample_lessons(language)]
        reflected = learn({"lessons": samples}, run=run)
        assert reflected.lessons == ()
        assert reflected.reason
        assert any("repeats the prompt" in note for note in reflected.notes)


def test_restated_system_instructions_are_not_learned() -> None:
    instructions = "You are the support agent of Acme. Never promise a refund without approval."
    run = csv_run().with_steps((Step("system", instructions), *csv_run().steps))
    reply = {"lessons": [lesson("Never promise a refund without approval"), lesson("Use GB18030")]}
    reflected = learn(reply, run=run)
    assert [one.content for one in reflected.lessons] == ["Use GB18030"]
    assert any("instructions that the agent was given" in note for note in reflected.notes)


def test_superseding_takes_offered_numbers_only_and_names_the_others() -> None:
    known = tuple(memory(f"mem_{n}") for n in range(5))
    reply = {
        "lessons": [
            lesson("New fact", supersedes=["12", None, "00000000-0000-4000-8000-000000000000", 3]),
            lesson("Other matter here", supersedes=["mem_0", "m1", "[M2]"]),
        ]
    }
    reflected = learn(reply, known=known)
    by_text = {one.content: one.supersedes for one in reflected.lessons}
    assert by_text == {"New fact": ("mem_3",), "Other matter here": ("mem_1", "mem_2")}
    skipped = [note for note in reflected.notes if "superseding" in note]
    assert len(skipped) == 4
    for name in ("'12'", "'null'", "'00000000-0000-4000-8000-000000000000'", "'mem_0'"):
        assert any(name in note and "run_csv" in note for note in skipped)


def test_nothing_may_be_superseded_when_nothing_was_offered() -> None:
    reflected = learn({"lessons": [lesson("New fact", supersedes=["m0"])]})
    assert reflected.lessons[0].supersedes == ()


def test_a_hundred_lessons_come_down_to_the_most_important_with_notes() -> None:
    words = "alpha bravo carol delta eagle fresh giant house igloo jolly".split()
    reply = [
        lesson(f"{one} {other} matters", importance=number / 100)
        for number, (one, other) in enumerate((a, b) for a in words for b in words)
    ]
    reflected = learn({"lessons": reply[:40]})
    assert len(reflected.lessons) == MAX_LESSONS
    assert [one.importance for one in reflected.lessons] == [
        pytest.approx(n / 100) for n in range(39, 39 - MAX_LESSONS, -1)
    ]
    assert any("most important were dropped" in note for note in reflected.notes)


def test_at_most_three_rules_are_kept() -> None:
    rules = [
        lesson(f"When {word}, call {word}_fix", category="rule", importance=n / 10)
        for n, word in enumerate(["uploading", "restarting", "printing", "sleeping", "billing"])
    ]
    reflected = learn({"lessons": rules})
    assert len(reflected.lessons) == 3
    assert "2 rules past the 3 most important were dropped" in reflected.notes


def test_nine_rewordings_in_one_reply_become_one_lesson_and_look_alikes_stay() -> None:
    rewordings = (
        "Interval set back to 2 s, reload done",
        "The interval was set back to 2 s and the reload is done",
        "Reload done after setting the interval back to 2 s",
        "Interval reset to 2 seconds; reloaded",
        "The interval has been restored to 2 s, and it was reloaded",
        "Set the interval back to two seconds, then reloaded",
        "After the interval went back to 2s the reload was done",
        "Interval is 2 sec again, reload completed",
        "The interval was changed back to 2 seconds and a reload followed",
    )
    reply = [lesson(text) for text in rewordings]
    reply += [lesson("Interval set to 20 s, reload done"), lesson("Interval not set to 2 s")]
    reflected = learn({"lessons": reply})
    assert len(reflected.lessons) == 3
    assert "8 rewordings of other lessons were folded" in reflected.notes


def test_a_finding_that_the_model_says_better_takes_its_words_and_keeps_its_source() -> None:
    said = Lesson(
        content="User said: I always use metric units please",
        category="preference",
        source="user_feedback",
        confidence=0.9,
        importance=0.6,
        steps=(2,),
    )
    reply = [lesson("The user wants metric units", category="preference", supersedes=["r0"])]
    (made,) = learn({"lessons": reply}, said, run=corrected_run()).lessons
    assert made.content == "The user wants metric units"
    assert (made.source, made.confidence, made.steps) == ("user_feedback", 0.9, (2,))
    assert made.importance == 0.7


def test_a_finding_is_not_given_up_for_another_matter() -> None:
    said = Lesson(content="The user uses metric units", source="user_feedback")
    reply = [lesson("Deploys need the VPN", supersedes=["r0"])]
    reflected = learn({"lessons": reply}, said)
    assert {one.content for one in reflected.lessons} == {
        "The user uses metric units",
        "Deploys need the VPN",
    }


def test_a_rule_that_says_a_finding_in_fewer_words_replaces_it() -> None:
    found = Lesson(
        content='When read_csv fails with "can\'t decode byte 0xd4", use encoding=gb18030 instead '
        "of utf-8; that made it work.",
        category="rule",
        applies_when="read_csv fails",
    )
    reply = [lesson("When read_csv fails, use encoding gb18030", category="rule")]
    (made,) = learn({"lessons": reply}, found).lessons
    assert made.content == "When read_csv fails, use encoding gb18030"
    assert made.source == "rule"


def test_the_models_story_of_the_run_takes_the_place_of_the_rules() -> None:
    story = Lesson(
        content="The task was X.", kind="episodic", category="experience", source="validator"
    )
    reply = [lesson("Totalled the sales after changing the encoding", category="experience")]
    (made,) = learn({"lessons": reply}, story).lessons
    assert made.content == "Totalled the sales after changing the encoding"
    assert (made.kind, made.source) == ("episodic", "validator")
    (alone,) = learn({"lessons": reply}).lessons
    assert alone.kind == "episodic"
    assert alone.context.tools_used == ("read_csv",)


def test_what_the_rules_found_stays_when_the_model_finds_nothing() -> None:
    found = Lesson(content="Use the VPN")
    reflected = learn(NOTHING, found)
    assert reflected.lessons == (found,)
    assert reflected.reason == ""
    assert learn(NOTHING).reason == "neither the rules nor the model found anything to keep"


@pytest.mark.parametrize("reply", ["{}", "[]"])
def test_nothing_learned_is_no_reason_to_ask_again(reply: str) -> None:
    model = ScriptedModel([reply])
    assert reflector(model).reflect(csv_run(), (), EPOCH).lessons == ()
    assert len(model.prompts) == 1


@pytest.mark.parametrize("reply", ["", "   ", None, "no JSON here", '{"answer": 1}'])
def test_an_unusable_reply_is_asked_for_once_more_in_other_words(reply: Any) -> None:
    model = ScriptedModel([ModelReply(content=reply)])
    with pytest.raises(ModelReplyError, match="run_csv") as caught:
        reflector(model).reflect(csv_run(), (), EPOCH)
    assert len(model.prompts) == 2
    assert model.prompts[0].user != model.prompts[1].user
    assert caught.value.raw_reply == (reply or "")


def test_a_second_reply_that_is_good_is_used_and_the_first_is_noted() -> None:
    model = ScriptedModel(["", {"lessons": [lesson("Use GB18030")]}])
    reflected = reflector(model).reflect(csv_run(), (), EPOCH)
    assert [one.content for one in reflected.lessons] == ["Use GB18030"]
    assert any(note.startswith("asked again") for note in reflected.notes)
    assert json.loads(reflected.raw_reply)["lessons"]


def test_a_repaired_reply_costs_no_second_call() -> None:
    model = ScriptedModel(['{"lessons":[{"content":"Team rule „build once" applies"}],}'])
    reflected = reflector(model).reflect(csv_run(), (), EPOCH)
    assert [one.content for one in reflected.lessons] == ['Team rule „build once" applies']
    assert len(model.prompts) == 1


def test_a_truncated_reply_keeps_whole_lessons_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = '{"lessons":[{"content":"First, whole"},{"content":"Second, whole"},{"content":"Third is'
    reply = ModelReply(content=text, finish_reason="length", model="tiny-1")
    with caplog.at_level(logging.WARNING, logger="hindsight_core"):
        reflected = learn(reply)
    assert [one.content for one in reflected.lessons] == ["First, whole", "Second, whole"]
    note = next(note for note in reflected.notes if "was cut" in note)
    for part in ("tiny-1", f"{len(text)} characters", "'length'"):
        assert part in note
        assert part in caplog.text
    assert "run_csv" in caplog.text


def test_a_reply_cut_before_the_first_lesson_is_asked_for_with_more_room() -> None:
    cut = ModelReply(content='{"goal":"x","lessons":[{"content":"Half a', finish_reason="length")
    model = ScriptedModel([cut, {"lessons": [lesson("Use GB18030")]}])
    reflected = reflector(model).reflect(csv_run(), (), EPOCH)
    assert len(reflected.lessons) == 1
    first, second = model.prompts
    assert second.max_output_tokens == 2 * first.max_output_tokens
    again = ScriptedModel([cut])
    with pytest.raises(ModelReplyError, match="cut after"):
        reflector(again).reflect(csv_run(), (), EPOCH)
    assert len(again.prompts) == 2


def test_a_rate_limit_is_waited_out_as_told() -> None:
    clock = Clock()
    busy = ModelCallError("429", status=429, retry_after=3.0, retryable=True)
    model = ScriptedModel([busy, busy, {"lessons": [lesson("Use GB18030")]}])
    reflected = reflector(model, clock=clock).reflect(csv_run(), (), EPOCH)
    assert len(reflected.lessons) == 1
    assert clock.sleeps == [3.0, 3.0]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    clock = Clock()
    model = ScriptedModel([ModelCallError("no", status=status)])
    with pytest.raises(ModelCallError):
        reflector(model, clock=clock).reflect(csv_run(), (), EPOCH)
    assert len(model.prompts) == 1
    assert clock.sleeps == []


def test_the_waits_of_one_run_are_bounded_altogether() -> None:
    clock = Clock()
    model = ScriptedModel([ModelCallError("503", status=503, retryable=True)])
    with pytest.raises(ModelCallError, match="given up after 4 attempts") as caught:
        reflector(model, clock=clock).reflect(csv_run(), (), EPOCH)
    assert caught.value.status == 503
    assert len(clock.sleeps) == 3
    assert clock.sleeps == sorted(clock.sleeps)
    late = ScriptedModel([ModelCallError("429", status=429, retry_after=900, retryable=True)])
    with pytest.raises(ModelCallError, match="next attempt is 900 s away"):
        reflector(late, max_total_wait=60).reflect(csv_run(), (), EPOCH)
    assert len(late.prompts) == 1


def test_no_call_is_begun_when_the_time_is_used_up() -> None:
    clock = Clock()

    def slow(_: Any) -> str:
        clock.now += 100
        return ""

    model = ScriptedModel([slow])
    with pytest.raises(ModelCallError, match="are used up") as caught:
        reflector(model, clock=clock, max_total_wait=50).reflect(csv_run(), (), EPOCH)
    assert len(model.prompts) == 1
    assert caught.value.raw_reply == ""


def long_run() -> Trajectory:
    steps = [Step("user", "Check every invoice")]
    for n in range(150):
        steps.append(Step("assistant", tool_calls=(ToolCall(f"c{n}", "get", {"page": n}),)))
        text = " ".join(f"invoice{n}x{word}" for word in range(80))
        steps.append(Step("tool_result", text, tool_call_id=f"c{n}", tool_name="get"))
    return Trajectory(run_id="run_long", steps=(*steps, Step("assistant", "All are paid.")))


def overflow_above(limit: int) -> Callable[[Any], Any]:
    def answer(prompt: Any) -> Any:
        if count(prompt.system) + count(prompt.user) > limit:
            return ModelCallError("maximum context length is smaller", status=400)
        return {"lessons": [lesson("Invoices are paged")]}

    return answer


def test_a_prompt_that_is_too_long_is_halved_and_never_sent_unchanged() -> None:
    model = ScriptedModel([overflow_above(4_000)])
    reflected = reflector(model).reflect(long_run(), (), EPOCH)
    assert len(reflected.lessons) == 1
    sizes = [count(prompt.user) for prompt in model.prompts]
    assert len(sizes) >= 2
    assert all(later < earlier for earlier, later in pairwise(sizes))
    assert "All are paid." in model.prompts[-1].user
    assert any("too long for the model" in note for note in reflected.notes)


def test_a_model_whose_context_is_too_small_gives_up() -> None:
    model = ScriptedModel([overflow_above(10)])
    with pytest.raises(ModelCallError, match="maximum context length"):
        reflector(model).reflect(long_run(), (), EPOCH)
    assert len(model.prompts) <= 4
    short = ScriptedModel([overflow_above(10)])
    with pytest.raises(ModelCallError, match="use a model with a longer context"):
        reflector(short).reflect(csv_run(), (), EPOCH)
    assert len(short.prompts) == 1


@pytest.mark.parametrize("budget", [2_500, 4_000, 8_000])
def test_a_prompt_is_never_over_its_budget(budget: int) -> None:
    model = ScriptedModel([NOTHING])
    known = tuple(replace(memory(f"m{n}"), content="Old fact " * 100) for n in range(500))
    reflector(model, max_input_tokens=budget).reflect(long_run(), known, EPOCH)
    (prompt,) = model.prompts
    assert count(prompt.system) + count(prompt.user) <= budget
    assert "All are paid." in prompt.user


def test_a_budget_that_holds_no_run_is_refused_without_a_call() -> None:
    model = ScriptedModel([NOTHING])
    known = tuple(memory(f"mem_{n}") for n in range(5))
    with pytest.raises(ModelCallError, match="max_input_tokens=300 leaves 0 tokens"):
        reflector(model, max_input_tokens=300).reflect(csv_run(), known, EPOCH)
    assert model.prompts == []


def test_an_unknown_exception_of_a_model_is_translated_without_the_key() -> None:
    model = ScriptedModel([RuntimeError("bad key k-123456 given")])
    with pytest.raises(ModelCallError, match="RuntimeError") as caught:
        reflector(model, api_key="k-123456").reflect(csv_run(), (), EPOCH)
    assert "k-123456" not in str(caught.value)


def test_an_interrupt_is_passed_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        reflector(ScriptedModel([KeyboardInterrupt()])).reflect(csv_run(), (), EPOCH)


def test_tokens_are_added_up_as_told_or_counted() -> None:
    told = learn(ModelReply(content=NOTHING, tokens_in=900, tokens_out=5))
    assert (told.tokens_in, told.tokens_out) == (900, 5)
    model = ScriptedModel(["", NOTHING])
    counted = reflector(model).reflect(csv_run(), (), EPOCH)
    assert counted.tokens_in == sum(count(p.system) + count(p.user) for p in model.prompts)
    assert counted.tokens_out == count(NOTHING)


def test_a_chinese_run_is_asked_about_in_chinese() -> None:
    run = Trajectory(
        run_id="run_zh",
        steps=(
            Step("user", "请把报表发给财务部，以后都用 PDF 格式"),
            Step("assistant", "已发送。"),
        ),
    )
    reply = {"lessons": [lesson("用户希望报表用 PDF 格式"), lesson("Use PDF files")]}
    model = ScriptedModel([reply])
    reflected = reflector(model).reflect(run, (), EPOCH)
    assert "你要回顾" in model.prompts[0].system
    assert len(reflected.lessons) == 2
    assert "a lesson is not in the language of the run (zh)" in reflected.notes


def test_text_in_a_run_that_names_special_tokens_is_kept_as_text() -> None:
    text = "why does <|endoftext|> break <|fim_prefix|> parsing?"
    run = Trajectory(run_id="run_1", steps=(Step("user", text), Step("assistant", "It is text.")))
    model = ScriptedModel([{"lessons": [lesson("<|endoftext|> is plain text in {x} and {}")]}])
    reflected = reflector(model).reflect(run, (), EPOCH)
    assert text in model.prompts[0].user
    assert reflected.lessons[0].content == "<|endoftext|> is plain text in {x} and {}"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("# Use the **VPN**", "Use the VPN"),
        ("- Use `deploy.sh`", "Use deploy.sh"),
        ("See [the guide](https://a.example/x)", "See the guide (https://a.example/x)"),
        ("Use *.py and src/*.ts", "Use *.py and src/*.ts"),
        ("__init__ takes **kwargs and *args", "__init__ takes **kwargs and *args"),
        ("It is *very* slow", "It is very slow"),
        ("```json\nx = 1\n```", "x = 1"),
        ("2 * 3 * 4 is 24", "2 * 3 * 4 is 24"),
        ("先连**测试**网", "先连测试网"),
        ('use {"city": "Oslo"} and {x}', 'use {"city": "Oslo"} and {x}'),
    ],
)
def test_markdown_goes_and_code_stays(written: str, plain: str) -> None:
    assert learn({"lessons": [lesson(written)]}).lessons[0].content == plain


def test_a_lesson_of_markup_alone_is_skipped() -> None:
    reflected = learn({"lessons": [lesson("```\n```")]})
    assert reflected.lessons == ()
    assert "lesson 1: skipped, it has no text" in reflected.notes
