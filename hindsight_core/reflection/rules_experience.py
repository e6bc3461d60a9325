"""The one episode of a run: what was asked, what was done, how it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_core.models import Context, Lesson, Source
from hindsight_core.reflection.rules_calls import Attempt, attempts_of, is_silent
from hindsight_core.reflection.rules_errors import error_of, is_telling
from hindsight_core.reflection.rules_lessons import RunFacts
from hindsight_core.reflection.rules_text import json_safe, plain
from hindsight_core.reflection.rules_wording import Wording, wording_of
from hindsight_core.steps import Step
from hindsight_core.trajectory import OutcomeSource, Trajectory

__all__ = ["VALIDATOR_BACKED", "experience_of", "is_small_talk", "is_trivial"]

TASK_LENGTH = 300
"""Characters of the task in the sentence."""

REASON_LENGTH = 200
SAMPLE_LENGTH = 200
MOST_TOOLS = 8
"""Entries of the folded sequence of tools that are named."""

MOST_STEPS = 40
"""Steps that are named as evidence."""

IMPORTANCE_FLOOR = 0.3
"""Least importance of an experience: a failure has none of the described signals, and is still
what the next run should know."""

VALIDATOR_BACKED = 0.8
"""Confidence of an experience whose outcome a validator determined; others take the profile's."""

SOURCES: dict[OutcomeSource, Source] = {"validator": "validator", "user": "user_feedback"}

_SMALL_TALK = re.compile(
    r"(?:\[?(?:cron|system|scheduled)\]?[\s:]*)?(?:"
    r"h(?:i|ello|ey|iya)(?: there| all| everyone| again| bot)?|yo|good (?:morning|afternoon"
    r"|evening|"
    r"night|day)|greetings|howdy|how are you(?: doing)?(?: today)?|what'?s up|sup"
    r"|thanks?(?: you)?(?: (?:so|very) much| a lot)?|thx|ty|cheers|ok(?:ay)?|cool|great|nice"
    r"|bye|good ?bye|see you(?: later| soon)?|ping|pong|test(?:ing)?(?: test)?|heart ?beat"
    r"(?: (?:check|ok|ping))?|health ?check|keep-?alive|are you (?:there|alive|up|ok)|noop|no-op"
    r"|yes|no|yep|nope|continue|go on|start"
    r"|你好啊?|您好|嗨|哈喽|哈啰|在吗|在么|早上好|上午好|中午好|下午好|晚上好|早安|晚安|谢谢你?"
    r"|多谢"
    r"|好的?|嗯+|再见|拜拜|测试一?下?|心跳(?:检测|检查)?|收到|继续|辛苦了|明白了?|是的?"
    r")",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:reward|result|score|exit status)\W*[\w.]+|answer is (?:in)?correct|\W*", re.IGNORECASE
)
"""Reasons that say no more than the label."""

_STOPS = re.compile(r"[\s!.,?~。！，？、…:：;\-–#*()\d\U0001F300-\U0001FAFF\u2600-\u27bf]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?|\d\d?:\d\d(?::\d\d)?")
_HEARTBEAT = re.compile(r"heart ?beat|health ?check|keep-?alive|心跳|^\W*ping\b", re.IGNORECASE)
REAL_WORK = 3
"""Calls from which on a run is work, whatever set it off."""

BEAT_LENGTH = 80
"""Longest message that counts as a heartbeat when it speaks of one."""


def is_small_talk(text: str) -> bool:
    """Whether a message is a greeting, a thank-you, a ping or a heartbeat and nothing else."""
    stripped = _TIME.sub(" ", text[:400]).strip()
    if len(text) > 400:
        return False
    if len(stripped) <= BEAT_LENGTH and _HEARTBEAT.search(stripped):
        return True
    rest = _STOPS.sub(" ", stripped).strip()
    while rest:
        match = _SMALL_TALK.match(rest)
        if not match or not match.group():
            return False
        after = rest[match.end() :]
        if after and after[0].isascii() and after[0].isalnum() and rest[match.end() - 1].isascii():
            return False
        rest = after.strip()
    return True


def is_trivial(trajectory: Trajectory, attempts: Sequence[Attempt] | None = None) -> bool:
    """Whether a run holds nothing worth an episode.

    A run is trivial if nobody asked for anything: people said only small talk and hardly a tool
    was used, or nothing was said and no tool used. What failed is never trivial.

    Args:
        trajectory: The run.
        attempts: Its calls, where they were paired already.
    """
    calls = attempts_of(trajectory.steps) if attempts is None else attempts
    words = [s.text for s in trajectory.steps if s.kind == "user" and not s.agent]
    said = [text for text in words or [trajectory.task] if text.strip()]
    if not said:
        return not calls
    if not all(is_small_talk(text) for text in said):
        return False
    beats = all(_HEARTBEAT.search(text[:BEAT_LENGTH]) for text in said)
    if any(call.error for call in calls) or (len(calls) >= REAL_WORK and not beats):
        return False
    outcome = trajectory.outcome
    return outcome.label != "failure" or outcome.source not in {"validator", "user"}


def experience_of(
    trajectory: Trajectory, attempts: Sequence[Attempt], facts: RunFacts, importance: float
) -> Lesson:
    """Return the episode of a run that is not trivial.

    Args:
        trajectory: The run.
        attempts: Its calls.
        facts: What the lessons of the run share; `task` is what was asked, in full.
        importance: Importance by the run's signals, 0–1.
    """
    outcome = trajectory.outcome
    wording = wording_of(facts.language)
    asked = _position_of_task(trajectory, facts.task)
    last = next((a for a in reversed(attempts) if a.worked and not is_silent(a.tool)), None)
    return Lesson(
        content=_content(trajectory, attempts, facts, wording),
        kind="episodic",
        category="experience",
        task_type=facts.task_type,
        task_description=facts.task,
        context=Context(
            tools_used=tuple(plain(tool, 80) for tool in trajectory.tools_used if tool.strip()),
            parameters=json_safe(last.arguments) if last else {},
            input_sample=plain(facts.task, SAMPLE_LENGTH),
            output_sample=_answer(trajectory.steps, SAMPLE_LENGTH),
        ),
        outcome=outcome.label,
        confidence=VALIDATOR_BACKED if outcome.source == "validator" else None,
        importance=max(IMPORTANCE_FLOOR, importance),
        source=SOURCES.get(outcome.source, "rule") if outcome.label != "unknown" else "rule",
        steps=_evidence(trajectory.steps, asked),
    )


def _content(
    trajectory: Trajectory, attempts: Sequence[Attempt], facts: RunFacts, wording: Wording
) -> str:
    outcome = trajectory.outcome
    task = _sentence(plain(facts.task, TASK_LENGTH))
    ending = wording.ending(outcome.label, outcome.source)
    reason = plain(outcome.reason, REASON_LENGTH).rstrip("。. ")
    if reason and outcome.label not in {"success", "unknown"} and not _BARE.fullmatch(reason):
        ending += wording.say("reason", reason=reason)
    tools = _folded(attempts, wording)
    done = wording.say("tools" if tools else "no_tools", tools=tools, ending=ending)
    opening = wording.say("task", task=task) if task else wording.say("no_task")
    return opening + _sentence(done) + _closing(trajectory, attempts, wording, bool(tools))


def _closing(
    trajectory: Trajectory, attempts: Sequence[Attempt], wording: Wording, used_tools: bool
) -> str:
    """Return what went wrong last, or else what was answered where that tells something."""
    label = trajectory.outcome.label
    raised = next((error_of(s) for s in reversed(trajectory.steps) if s.kind == "error"), "")
    if raised and label != "success" and raised not in trajectory.outcome.reason:
        return wording.say("run_error", error=wording.quote(raised))
    last = _open_error(attempts)
    if last is not None and label not in {"success", "abandoned"}:
        error = wording.quote(last.error)
        if last.error not in trajectory.outcome.reason:
            return wording.say("last_error", error=error, tool=plain(last.tool, 80))
    answer = _answer(trajectory.steps, SAMPLE_LENGTH)
    if answer and (not used_tools or label in {"failure", "partial"}):
        return wording.say("answer", answer=_sentence(answer))
    return ""


def _open_error(attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the last call that failed tellingly, if its tool did not work after it."""
    worked: set[str] = set()
    for attempt in reversed(attempts):
        if attempt.error and attempt.tool not in worked and is_telling(attempt.error):
            return attempt
        if attempt.worked:
            worked.add(attempt.tool)
    return None


def _sentence(text: str) -> str:
    """Return `text` with a full stop, in the script of its last character."""
    if not text or text[-1] in ".!?。！？…":
        return text
    return text + ("。" if ord(text[-1]) > 0x2E80 else ".")


def _folded(attempts: Sequence[Attempt], wording: Wording) -> str:
    """Return the tools in order, repeats in a row folded with a count."""
    folded: list[tuple[str, int]] = []
    for attempt in attempts:
        if is_silent(attempt.tool):
            continue
        if folded and folded[-1][0] == attempt.tool:
            folded[-1] = (attempt.tool, folded[-1][1] + 1)
        else:
            folded.append((attempt.tool, 1))
    named = [
        wording.say("times", tool=plain(tool, 80), count=count) if count > 1 else plain(tool, 80)
        for tool, count in folded[:MOST_TOOLS]
    ]
    more = sum(count for _, count in folded[MOST_TOOLS:])
    if more:
        named.append(wording.say("more", count=more))
    return wording.listed(named)


def _answer(steps: Sequence[Step], limit: int) -> str:
    """Return the last thing the agent said that was more than small talk."""
    for step in reversed(steps):
        if step.kind == "assistant" and not step.agent and step.text.strip():
            said = plain(step.text, limit)
            if said and not _is_farewell(said):
                return said
    return ""


_FAREWELL = re.compile(
    r"\byou'?re (?:very )?welcome\b|\bhave a (?:great|good|nice|wonderful|safe)\b"
    r"|\bfeel free to (?:reach out|ask|contact)|\bgoodbye\b|\bsafe travels\b|不客气|祝您|再见",
    re.IGNORECASE,
)


def _is_farewell(said: str) -> bool:
    return len(said) < SAMPLE_LENGTH and bool(_FAREWELL.search(said))


def _position_of_task(trajectory: Trajectory, task: str) -> int:
    start = task[:40]
    for position, step in enumerate(trajectory.steps):
        if step.kind == "user" and not step.agent and plain(step.text, 1_000)[:40] == start:
            return position
    return -1


def _evidence(steps: Sequence[Step], asked: int) -> tuple[int, ...]:
    """Return the steps that show it: the task, the calls, the errors, the answer."""
    shown = [p for p, step in enumerate(steps) if step.tool_calls or step.kind == "error"]
    last = [p for p, step in enumerate(steps) if step.kind == "assistant" and step.text][-1:]
    first = [asked] if asked >= 0 else []
    return tuple(sorted({*first, *shown[: MOST_STEPS - 2], *last}))
