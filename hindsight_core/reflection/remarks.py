"""What the agent itself says about the memories it was given to read, by their numbers.

A brief asks the agent to say by its number why a memory does not apply. Here such remarks are
found in what it wrote: English and Chinese, by number as the brief shows it or by id. Errs on
the side of finding nothing: questions, conditions and plans are no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hindsight_core.trajectory import Trajectory

__all__ = ["MAX_REMARKS", "REASON_LENGTH", "Remark", "find_remarks", "names_in"]

MAX_REMARKS = 20
"""Remarks of one run that are heard, the first ones."""
REASON_LENGTH = 240
"""Characters of a reason."""
_LONGEST = 600
"""Characters of a sentence that is looked at."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What an agent said about one memory.

    Attributes:
        named: The memory as it was named: a number from 1 on, or an id.
        helpful: Whether it was of use; `False` if it does not apply or is wrong.
        reason: The sentence, or why.
        step: Position of the step in which it was said, -1 if not known.
    """

    named: str
    helpful: bool
    reason: str
    step: int = -1


_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_SENTENCE = re.compile(r"[^.!?。！？；;\n]+(?:\.(?=\S)[^.!?。！？；;\n]*)*[.!?。！？；;]?")
_HAN = "一二三四五六七八九十"
_KIND = (
    r"(?:memory|memories|notes?|items?|entry|entries|rules?|points?|lessons?|experiences?|"
    r"hints?|number|no\.|numbers)"
)
_REFERENCE = re.compile(
    r"(?<![A-Za-z0-9_\])])\[(?P<bracket>\d{1,2})\](?![\[(A-Za-z0-9_])"
    rf"|\b{_KIND}\s+#?\[?(?P<word>\d{{1,2}})\b\]?"
    r"|(?<![\w&])#(?P<hash>\d{1,2})\b"
    rf"|第\s*(?P<zh>\d{{1,2}}|[{_HAN}])\s*[条项个]"
    r"|(?:编号|记忆|经验|条目|提示)\s*(?:为|是)?\s*[\[【]?(?P<kind>\d{1,2})[\]】]?"
    r"|(?P<id>\bmem_[0-9a-f]{8,64}\b)",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\s*(?:,|，|、|and|&|or|和|与|及)+\s*(?:and\s+)?"
    rf"(?:[\[【#]?(?P<number>\d{{1,2}})[\]】]?(?![\w.%])|第\s*(?P<zh>\d{{1,2}}|[{_HAN}])\s*[条项个])",
    re.IGNORECASE,
)
"""A further number after a reference: `[2] and [3]`, `memories 2, 3`."""
_SINGULAR = re.compile(
    r"\s*(?:is|was|has|does|seems|looks|proved|turned|appears)(?:n[’'o]?t)?\b", re.I
)
"""Begins what is said of the last of several names only."""
_DOUBT = re.compile(
    r"\b(?:if|whether|unless|might|may|could|perhaps|maybe|possibly|suppose|assuming|check|"
    r"verify|would)\b|如果|是否|若|可能|也许|假如|除非|检查|确认一下",
    re.IGNORECASE,
)
_BE = (
    r"(?:is|was|are|were|seems?|looks?|proved|turned\s+out|appears?|(?:has|have)\s+(?:been|become))"
)
_NOT = r"(?:do(?:es)?\s*n[o'’]t|do(?:es)?\s+not|did\s*n[o'’]?t|did\s+not|no\s+longer|"
_NOT += (
    r"(?:is|was|are|were)\s*n[o'’]t|(?:is|was|are|were)\s+not|(?:is|was|are|were)\s+no\s+longer)"
)
_WRONG_AFTER = re.compile(
    rf"(?:\b{_NOT}|^not)\s+(?:\w+\s+){{0,2}}?(?:appl(?:y|ies|icable)|relevant|hold|true|help(?:ful)?|useful|"
    r"correct|right|fit|match|valid|accurate|needed|work)\b"
    rf"|\b{_BE}\s+(?:to\s+be\s+)?(?:(?!not\b|never\b)\w+\s+)?(?:wrong|incorrect|outdated|stale|obsolete|irrelevant|"
    r"inapplicable|misleading|unhelpful|useless|false|inaccurate|not\s+applicable)\b"
    r"|不适用|不相关|无关|不成立|不正确|不准确|已过时|过时了|已失效|有误|是错的|错误|没有帮助|没用|帮不上",
    re.IGNORECASE,
)
_WRONG_BEFORE = re.compile(
    r"(?:\b(?:ignor(?:e|ed|ing)|skip(?:ped|ping)?|disregard(?:ed|ing)?|set(?:ting)?\s+aside)"
    rf"(?:\s+(?:the|{_KIND}))*|(?:忽略|不采用|不考虑|跳过)(?:了|掉)?)\s*$",
    re.IGNORECASE,
)
_HELPED_AFTER = re.compile(
    rf"\b(?:helped|{_BE}\s+(?:\w+\s+)?(?:helpful|useful|right|correct|valuable|spot\s+on)|"
    r"solved|saved)\b|有帮助|帮了|很有用|有用|是对的|正确|管用|起了作用",
    re.IGNORECASE,
)
_BECAUSE = re.compile(
    r"(?:\bbecause\b|\bsince\b|\bas\b(?=\s+(?:the|this|it|there|we|our|i)\b)|因为|由于|原因是|[:：—–])"
    r"\s*(?P<why>.+)",
    re.IGNORECASE | re.DOTALL,
)
_BETWEEN = re.compile(
    r"(?:[\s,，]|\([^)]*\)|（[^）]*）|\"[^\"]*\"|“[^”]*”|\b(?:which|that|here|clearly|also|really|actually|"
    r"simply|both|all|just|still|therefore|however|it|they|rule|one|in\s+this\s+(?:case|run)|"
    r"for\s+this\s+(?:case|run|task))\b|在?这里|此处|这次|本次|对此|对这次任务|在本次任务中|都|均|也|并|其实|"
    r"的|这一?条|规则|经验|记忆|建议|说法|内容)*",
    re.IGNORECASE,
)
"""What may stand between a name and what is said of it; anything else has a subject of its own."""
_OTHER_CLAUSE = re.compile(r"\bbecause\b|\bsince\b|\bbut\b|因为|由于|但|[:：—–]", re.IGNORECASE)


def find_remarks(run: Trajectory) -> tuple[Remark, ...]:
    """Return what the agent said about memories, in order, at most `MAX_REMARKS`.

    Whether there are memories of those names is for the caller to say. Only the outermost
    agent's own words count: a brief was given to it.
    """
    found: list[Remark] = []
    for position, step in enumerate(run.steps):
        if step.kind != "assistant" or step.agent or not step.text:
            continue
        text = _CODE.sub(" ", step.text)
        for sentence in _SENTENCE.findall(text):
            if len(sentence) <= _LONGEST:
                found += _in_sentence(" ".join(sentence.split()), position)
    return tuple(found[:MAX_REMARKS])


def names_in(run: Trajectory) -> frozenset[str]:
    """Return every number and id by which the agent may speak of a memory, in any sentence."""
    return frozenset(
        name
        for step in run.steps
        if step.kind == "assistant" and not step.agent
        for names, _, _ in _groups(_CODE.sub(" ", step.text))
        for name in names
    )


def _in_sentence(sentence: str, position: int) -> Iterator[Remark]:
    """Yield the verdicts of one sentence; each holds for the names right before it."""
    groups = list(_groups(sentence))
    if not groups or sentence.endswith(("?", "？")):
        return
    for number, (names, start, end) in enumerate(groups):
        following = groups[number + 1][1] if number + 1 < len(groups) else len(sentence)
        before = sentence[groups[number - 1][2] if number else 0 : start]
        after = sentence[end:following]
        verdict = _verdict(before, after)
        if verdict is None or _DOUBT.search(before) or _DOUBT.search(_head(after)):
            continue
        why = _BECAUSE.search(after)
        reason = (why["why"] if why else sentence).strip()[:REASON_LENGTH]
        for name in names:
            yield Remark(name, verdict, reason, position)


def _groups(sentence: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield names that stand together with where they begin and end."""
    at = 0
    while match := _REFERENCE.search(sentence, at):
        names, end = [_name(match)], match.end()
        while more := _MORE.match(sentence, end):
            names.append(_number(more["number"] or more["zh"]))
            end = more.end()
        yield names[-1:] if _SINGULAR.match(sentence, end) else names, match.start(), end
        at = end


def _name(match: re.Match[str]) -> str:
    if match["id"]:
        return match["id"]
    return _number(next(filter(None, match.group("bracket", "word", "hash", "zh", "kind"))))


def _number(text: str) -> str:
    return str(_HAN.index(text) + 1 if text in _HAN else int(text))


def _verdict(before: str, after: str) -> bool | None:
    """Return whether what stands around names says that they were of use."""
    if _WRONG_BEFORE.search(before):
        return False
    head = _head(after)
    for pattern, helpful in ((_WRONG_AFTER, False), (_HELPED_AFTER, True)):
        said = pattern.search(head)
        if said and _BETWEEN.fullmatch(head[: said.start()]):
            return helpful
    return None


def _head(after: str) -> str:
    """Return the clause that follows the names; what comes after it is about other things."""
    return _OTHER_CLAUSE.split(after.lstrip(" :：-—–"), maxsplit=1)[0]
