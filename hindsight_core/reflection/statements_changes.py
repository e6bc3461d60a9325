"""What changed, told as what holds: "I now prefer coffee", "my new manager is Tom", 我现在…….

Words that announce a change are taken off, so that the patterns of lasting statements read the
clause, and come back at its end ("… now.", "……（现在）。"), where they don't stand between the
words that a statement shares with the one it replaces.
"""

from __future__ import annotations

import re

__all__ = ["Changed", "chinese_change", "english_change"]

Changed = tuple[str, bool]
"""A clause without the words that announce a change, and whether there were any."""

_I = re.IGNORECASE
_FIRST = re.compile(
    r"^(?:now|nowadays|these days|lately|as of (?:now|today)|currently)[\s,]+"
    r"(?=(?:i|i'm|my|we)\b)",
    _I,
)
_WITHIN = re.compile(r"^(i|i'm|i am|we|we're|we are) (?:now|nowadays|these days) (?=\w)", _I)
_IS_NOW = re.compile(
    r"^(my [\w' ]{2,40}?) now (is|are) (?=\w)|^(my [\w' ]{2,40}?) (is|are) now (?=\w)", _I
)
_LAST = re.compile(
    r"(?<!right)(?<!for)(?<!by)(?<!until)(?<!till)(?<!from)(?<!up to)(?<!just)"
    r",? (?:now|nowadays|these days)$",
    _I,
)
_NEW = re.compile(
    r"^(my) (?:new|current) (?=(?:manager|boss|job|job title|company|employer|team|department"
    r"|editor|stack|tech stack|time ?zone|home ?town|diet|nickname|operating system|occupation"
    r"|profession|favou?rite [\w ]{3,30}|preferred [\w ]{3,30}|default [\w ]{3,30}|name)"
    r" (?:is|are)\b)",
    _I,
)
_NAMED = r"[A-Z][\w&.'-]*(?: [A-Z][\w&.'-]*){0,3}"
_WHEN = r"(?: (?:now|recently|yesterday|last (?:week|month|year)))?"
_JOBS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rf"^I(?:'ve| have)? (?:just |recently )?(?:left|quit) {_NAMED},? (?:and|to)"
            r" (?:I )?(?:(?:have |just |then |now )*)(?:joined|join|work (?:at|for)|started at"
            rf"|started working (?:at|for)) (?P<new>{_NAMED}){_WHEN}$"
        ),
        (
            r"^I(?:'ve| have)? (?:just |recently )?(?:started working (?:at|for)"
            rf"|started a new job at|got a new job at) (?P<new>{_NAMED}){_WHEN}$"
        ),
    )
)

_OWN_ZH = (
    r"经理|主管|领导|导师|老板|上司|公司|单位|部门|团队|职位|职业|编辑器|操作系统|技术栈|时区"
    r"|昵称|网名"
)
_NOW_ZH = r"(?:现在|如今|目前)"
_FIRST_ZH = re.compile(rf"^({_NOW_ZH})[，,]?我")
_WITHIN_ZH = re.compile(
    rf"^我{_NOW_ZH}(?=(?:更|最|比较|很)?(?:不喜欢|喜欢|偏好|偏爱|讨厌|习惯用)(?!的)|在.+|住|定居|是"
    r"|对.{1,30}过敏|(?:只|都|改)?(?:吃|喝|用|使用)(?![不的完过]))更?"
)
_NEW_ZH = re.compile(rf"^我的?新(?:的)?({_OWN_ZH})(?=[是叫])")
_IS_NOW_ZH = re.compile(rf"^我的?({_OWN_ZH}){_NOW_ZH}(?=[是叫])")
_BECAME_ZH = re.compile(rf"^我的?({_OWN_ZH})(?:已经)?换成了?(.{{1,20}}?)了?$")
_NAMED_ZH = r"[^，,。\s这那它]{2,15}?"
_JOBS_ZH = re.compile(
    r"^我(?:已经|刚刚?|最近)?(?:(?:离开了?"
    rf"{_NAMED_ZH}|从{_NAMED_ZH}(?:离职|辞职)了?)[，,]?\s*(?:并|又|然后|现在)?(?:加入|入职|跳槽到)"
    rf"|跳槽[到去])了?(?P<new>{_NAMED_ZH})了?$"
)


def english_change(clause: str) -> Changed:
    """Take off what announces a change; a changed job reads `I work at …`."""
    for pattern in _JOBS:
        job = pattern.match(clause)
        if job is not None:
            return f"I work at {job['new']}", True
    bare, first = _FIRST.subn("", clause)
    if not re.match(r"(?:i|i'm|my|we|we're)\b", bare, _I):
        return clause, False
    bare, within = _WITHIN.subn(r"\1 ", bare)
    bare, is_now = _IS_NOW.subn(lambda m: f"{m[1] or m[3]} {m[2] or m[4]} ", bare)
    bare, new = _NEW.subn(r"\1 ", bare)
    bare, last = _LAST.subn("", bare)
    return bare, bool(first or within or is_now or new or last)


def chinese_change(clause: str) -> Changed:
    """Take off what announces a change; a changed job reads `我在……工作`."""
    job = _JOBS_ZH.match(clause)
    if job is not None:
        return f"我在{job['new']}工作", True
    became = _BECAME_ZH.match(clause)
    if became is not None:
        return f"我的{became[1]}是{became[2]}", True
    bare, within = _WITHIN_ZH.subn("我", _FIRST_ZH.sub(r"我\1", clause))
    bare, new = _NEW_ZH.subn(r"我的\1", bare)
    bare, is_now = _IS_NOW_ZH.subn(r"我的\1", bare)
    if not (within or new or is_now):
        return clause, False
    return (bare[:-1] if bare.endswith("了") else bare), True
