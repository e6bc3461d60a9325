"""The plainest wish there is: "remember that …", "for the future: …", 记住…….

What follows such words is kept even if no other pattern knows it. A question whether something is
remembered, a wish not to remember, and words that point at something outside ("remember that
bug we had", "note that this …") say nothing to keep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hindsight_core.reflection.statements_person import third_person

__all__ = ["Wish", "chinese_wish", "english_wish", "refuses", "reports", "told_wish"]

_I = re.IGNORECASE
LONGEST = 250
"""Characters of what is to be kept; more is a document."""

_LEAD = (
    r"(?:(?:oh|well|so|also|and|but|hi|hello|hey|ok(?:ay)?|sure|yes|no|thanks|thank you|great"
    r"|actually|just|by the way|btw|important)\b[\s,:!.–-]*)*"
)
_ASKING = (
    r"(?:please |kindly )?(?:i (?:want|need|would like) you to |i'd like you to "
    r"|you (?:should|must|need to) )?(?:please )?(?:always )?"
)
_REMEMBER = (
    r"(?:remember|(?:keep|bear) in mind|make a note|(?:don't|do not|never) forget|memori[sz]e)"
)
_WISH = re.compile(
    rf"^{_LEAD}(?:{_ASKING}(?:(?P<note>(?:take )?note that\b[\s,:]*)|{_REMEMBER}"
    r"(?: for (?:the future|later|next time|future reference)| from now on)?"
    r"(?:(?P<that> that\b[\s,:]*)| (?:this|the following)\s*[:,]\s*|(?P<comma>\s*,\s*)|\s*:\s*"
    r"|(?P<bare> (?=(?:my|our|the|i|i'm|we) ))))"
    r"|(?P<future>for (?:the future|future reference)\s*[:,–-]\s*))(?P<rest>.+)$",
    _I,
)
_UNSURE = re.compile(
    r"^(?:if|suppose|supposing|imagine|assum(?:e|ing)|in case|unless|maybe|perhaps|i think|i guess"
    r"|i believe|i thought|i wonder|what|how|who|why|where|which|whether)\b",
    _I,
)
_POINTS = re.compile(
    r"^(?:it|this|that|these|those|he|she|they|them|here|there(?! (?:is|are) (?:a|an|no)\b))\b"
    r"(?! (?:project|team|company|repo|repository|client|customer|user)\b)"
    r"|^(?:time|day|night|one|guy|thing|moment|place)\b(?! zone)"
    r"|^[\w-]+ (?:we|i|you|he|she|they|when|where|about)\b(?<!^and i)",
    _I,
)
"""Begins what can't be understood without what it points at."""
_SPEAKER = re.compile(r"^(?:i|i'm|i've|i'll|we|we're|my|our)\b", _I)
_OF_THIS_TASK = re.compile(
    r"\b(?:this|these|those|above|below|attached|following|given|it|example|sample|you"
    r"|the (?:input|output|answer|question|task|problem|function|method|file|solution"
    r"|command)s?)\b",
    _I,
)
"""Makes "note that …" a hint on the task at hand."""
_AGENT = re.compile(r"^you\b", _I)
_SHOULD = re.compile(r"^you (?:should|must|need to|have to|may not|can't|cannot) ", _I)
_OF_THINGS = re.compile(r"^(?:the|our|my|all|every) ", _I)
_SAID_BEFORE = re.compile(r"^(?:i|we) (?:asked|told|said|mentioned|wanted|meant|already)\b", _I)
_FINITE = re.compile(
    r"\b(?:is|isn't|are|aren't|was|were|has|have|had|can|can't|cannot|will|won't|must|should|may"
    r"|do|don't|does|doesn't|need|go|\w{2,}(?:s|ed))\b",
    _I,
)
_NO_VERB = re.compile(
    r"^(?:i|i'm|i've|we|we're|my|our|the|an?|all|every|each|no|some|most|it|this|that|these|those"
    r"|there|he|she|they|his|her|their|you|your|what|how|who|why|where|which|one|two|\d\S*)\b",
    _I,
)
_STATES = re.compile(
    r"^(?:[\w'-]+ ){1,4}(?:is|are|was|were|has|have|can|will|must|costs?|lives?|starts?|ends?"
    r"|needs?|belongs?|expires?|works?|uses?)\b",
    _I,
)
_REPORTS = re.compile(
    r"\b(?:said|says|told|tells|wrote|writes|asked|asks|reads|goes|replied|shouted|sang|sings)\b"
    r"[^,;]{0,20}$",
    _I,
)
_REFUSES = re.compile(
    r"(?:^|[,;:]\s*|\b(?:but|and|so)\s+)(?:(?:please|ok|okay|but|and|so|no|actually)[\s,]+)*"
    r"(?:don't|do not|never|no need to|there(?:'s| is) no need to|stop"
    r"|you (?:(?:don't|do not) (?:have|need) to|needn't|shouldn't|should not|must not|mustn't)"
    r"|i (?:don't|do not) want you to) (?:ever )?"
    r"(?:remember(?:ing)?|memori[sz](?:e|ing)|make a note|note (?:that|this|it)|keep (?:that|this"
    r"|it) in mind)\b"
    r"|(?:^|[，,。；;]\s*|但是?|不过|所以)(?:请|你|您)*(?:不要|别|不用|不必|无需|不需要|勿|不许)再?"
    r"(?:帮我|给我)?(?:记住|记下|记一下|记着|记(?=[这那它我])|记录(?=[这那它我]))",
    _I,
)
_WISH_ZH = re.compile(
    r"^(?:(?:嗯+|哦|好的?|对了|另外|还有|你好|您好|谢谢|顺便说一下|而且|但是?)[\s,，、]*)*"
    r"(?P<polite>(?:请|麻烦|拜托)?(?:你|您)?(?:一定要?|务必)?(?:帮我|给我|替我)?)"
    r"(?:记住|记一下|记下来?|记好|牢记)(?![了过的得不没])(?P<apart>[\s,，:：、]*)(?P<rest>.+)$"
)
_ASKS_ZH = re.compile(
    r"怎么|怎样|如何|为什么|为何|什么|哪|谁|几[个点号]|多少|是否|有没有|能不能|是不是|可不可以"
)
_UNSURE_ZH = re.compile(
    r"^(?:如果|假如|要是|假设|若|万一|比如|例如|倘若|或许|也许|可能|我觉得|我以为)"
)
_POINTS_ZH = re.compile(
    r"^(?:[这那](?!个项目|家公司|位客户)|它|他|她|你(?!要|必须|应该|得)|您|密码|登录|账号)"
)
_SAYS_ZH = re.compile(r"[是在要不会有从叫为住给能得]|喜欢|习惯|必须|只|需")
_ORDER_ZH = re.compile(
    r"^(?:(?:你|您)?(?:要|不要|别|请|务必|必须|应该|得|总是|永远|一律|每次|始终|不准|不许|千万)|用|先|使用|按)|不要|务必|禁止"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants to be remembered.

    Attributes:
        rest: The words that are to be remembered.
        order: Whether they say how to work rather than what is so.
        sure: Whether they are worth keeping even if no other pattern knows them.
    """

    rest: str
    order: bool
    sure: bool


def english_wish(text: str) -> Wish | None:
    """Return the wish that a sentence or clause begins with, `None` if there is none."""
    match = _WISH.match(text)
    if match is None:
        return None
    rest = match["rest"].strip()
    order = bool(_SHOULD.match(rest)) or not (
        match["that"] or match["note"] or match["bare"] or _NO_VERB.match(rest)
        or _STATES.match(rest)
    )  # fmt: skip
    return Wish(rest, order, _is_kept(rest, match, order))


def chinese_wish(text: str) -> Wish | None:
    """Return the wish that a Chinese sentence begins with, `None` if there is none."""
    match = _WISH_ZH.match(text)
    if match is None:
        return None
    rest = match["rest"].strip()
    kept = 4 <= len(rest) <= LONGEST and not any(
        pattern.search(rest) for pattern in (_ASKS_ZH, _UNSURE_ZH, _POINTS_ZH)
    )
    plain = bool(match["apart"]) or len(rest) >= 6
    return Wish(rest, bool(_ORDER_ZH.search(rest)), kept and plain and bool(_SAYS_ZH.search(rest)))


def refuses(text: str) -> bool:
    """Whether a sentence wants that something is not remembered."""
    return bool(_REFUSES.search(text))


def reports(clause: str) -> bool:
    """Whether a clause ends by saying that somebody said what follows."""
    return bool(_REPORTS.search(clause))


def told_wish(rest: str) -> str:
    """Return what is so, as a sentence: of the user where it is safe, else in their words.

    What speaks of nobody stands as it is, so that it can be compared with what was said before.
    """
    told = third_person(rest)
    if told is not None:
        return f"{told}."
    if re.search(r"\b(?:i|i'm|i've|we|us|our|ours|my|me)\b", rest, _I):
        return f'The user said: "{rest}".'
    return f"{rest[0].upper()}{rest[1:]}."


def _is_kept(rest: str, match: re.Match[str], order: bool) -> bool:
    if not 6 <= len(rest) <= LONGEST or rest.count(" ") < 1 or _UNSURE.match(rest):
        return False
    asked = re.search(r"\bplease\b", match.string[: match.start("rest")], _I)
    if match["comma"] and not asked and not _SPEAKER.match(rest):
        return False  # "Remember, practice makes perfect" is a figure of speech
    if order:
        return True
    if match["future"] and not _OF_THINGS.match(rest):
        return False
    if _SAID_BEFORE.match(rest) or _AGENT.match(rest) or _POINTS.match(rest):
        return False
    if match["note"] and _OF_THIS_TASK.search(rest):
        return False
    return rest.count(" ") >= 2 and bool(_FINITE.search(rest) or _SPEAKER.match(rest))
