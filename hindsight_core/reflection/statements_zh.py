"""What a Chinese sentence says about its speaker: preferences, facts, plans, corrections.

As in English, patterns are anchored at the start of a clause, and what is wanted only this
once (我想要……) is no preference; lasting ones say so (总是、从不、喜欢、讨厌、以后请……).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hindsight_core.reflection.statements_changes import chinese_change
from hindsight_core.reflection.statements_framing import Sentence
from hindsight_core.reflection.statements_kinds import Found, Repair
from hindsight_core.reflection.statements_time import event_time_of, span_of
from hindsight_core.reflection.statements_wishes import chinese_wish

__all__ = ["read_chinese", "read_chinese_repair"]

SHORTEST = 3
"""Characters of a clause below which it says nothing."""

_FILLER = re.compile(
    r"^(?:(?:嗯+|哦|啊|好的?|对了|另外|还有|其实|顺便说?一?[下句]?|而且|并且|但是?|不过|因为|所以"
    r"|对|是的|不对"
    r"|你好|您好|谢谢|(?:请|麻烦)?(?:你|您)?(?:帮我)?(?:记住|记得|记一下|注意)|说一下|我的偏好是?"
    r"|关于我)"
    r"[\s,，:：、]*)+"
)
_STARTER = (
    r"(?:我|咱|(?:很|最|更|比较|特别|非常)?(?:不喜欢|喜欢|讨厌|偏好|偏爱|习惯|怕|受不了"
    r"|爱[吃喝看听用])"
    r"|[在住].{1,20}(?:工作|上班|任职|上学|读书|实习)|住在"
    r"|现在更?不?喜欢|总是|从不|从来|请|麻烦|以后|今后|但|不过|所以|因为|另外|而且|你|您|能|可以|帮)"
)
_BOUNDARY = re.compile(rf"\s*[，,、]\s*(?={_STARTER})|(?<=.)(?=(?:所以|因为|但是|不过))")
_UNSURE = re.compile(
    r"^(?:如果|假如|要是|假设|若|万一|比如|例如|倘若|假使|或许|也许|可能|我想知道|我觉得|我以为"
    r"|是不是|有没有)"
)
_ONCE = re.compile(
    r"这[个次份篇段张款趟条些种]?(?!样的)|那[个次份篇段张款趟条些种]|它|今天|现在|这里|你|您|本次"
)
_DEGREE = (
    "(?:比较|更|最|很|特别|非常|真的|尤其|一直|就|都|也|还是|还|一般|通常|平时|超|十分|挺"
    "|不太|不怎么)*"
)
_TASTE = re.compile(
    rf"^(?:我|本人){_DEGREE}(?:不喜欢|喜欢|偏好|偏爱|偏向|倾向于?|讨厌|厌恶|痛恨|恨|受不了|不爱"
    rf"|热爱|钟爱|爱(?!你|他|她|人)"
    r"|怕(?!是)|习惯(?:用|于)?|不习惯)(?P<object>.{1,80})$"
)
_ELIDED = re.compile(
    rf"^{_DEGREE}(?:不喜欢|喜欢|偏好|偏爱|讨厌|受不了|怕(?!是)|习惯"
    rf"|爱[吃喝看听用])(?P<object>.{{1,80}})$"
)
_HABIT = re.compile(
    r"^我(?:们)?(?:(?:总是|总(?!是)|一直都?|从来不|从不|从来都?不|一般都?|通常都?|平时都?|向来都?"
    r"|每次都|每天都|经常)"
    r"(?!想|觉得|以为|没|在|找不到|收到|失败|报错|遇|碰|出现|被|忘|不能|无法|连不上|看到|听))(?=\S).{2,80}$"
)
_BOUNDED = re.compile(r"[到至这本今明]|下(?![午班])|之?前")
_TURN = re.compile(
    r"^我(?:不再(?:喜欢|讨厌|吃|喝|用|使用|抽|穿)|(?:又|重新)开始(?:吃|喝|用|使用|抽)"
    r"|又(?:吃|喝)(?!.*[多错完坏撑饱光过])(?=.+了$)|改(?:用|吃|喝)(?=.+了$))(?![不的])"
    r"(?P<object>.{1,30})$"
)
"""A habit or a taste that began or ended."""
_NEW_HABIT = re.compile(
    r"^我(?:只|都|改)?(?:吃|喝|用|使用)(?![不的完过着])(?P<object>(?!.*(?:报错|出错|失败|时)).{1,30})$"
)
"""A habit that the word 现在 makes one."""
_STANDING = re.compile(
    r"^(?:我(?:想|希望|要求)(?:你|您))?(?:请|麻烦)?(?:(?:你|您)?(?:以后|今后|往后|从现在起"
    r"|从现在开始|从今以后|从今往后"
    r"|将来|下次|每次|永远|务必每次)(?:都|就|请|要|不要|别|不用|也|再|永远|一律|只|必须|回答|给我"
    r"|跟我|用|的)?.{2,120}"
    r"|(?:总是|永远|一律|始终)(?:要|不要|用|使用|以|按|给|把|先|别|回|保持|采用).{1,120}"
    r"|(?:不要再|别再|请勿再|再也不要|永远不要|千万不要再|不准再).{1,120})$"
)
_ATTRIBUTE = (
    r"(?:生日|职业|职位|公司|单位|部门|团队|老板|上司|经理|主管|领导|导师|老家|家乡|籍贯|时区|母语|专业|昵称|网名"
    r"|编辑器|操作系统|技术栈"
    r"|(?:最|默认|常用|首选|喜欢)[^，。]{1,12}|(?:妻子|老婆|丈夫|老公|儿子|女儿|爸爸|妈妈|父亲"
    r"|母亲|哥哥|姐姐|弟弟|妹妹"
    r"|同事|狗|猫)(?:的名字|叫))"
)
_FACTS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:我叫(?!你|他|她|车|外卖|了|的)|我的名字[叫是]|我姓|叫我)[^，。\s]{1,12}$",
        (
            r"^我(?:目前|现在)?在.{1,30}(?:工作|上班|任职|上学|读书|读研|读博|念书|实习|创业"
            r"|当.{1,10})$"
        ),
        r"^我(?:目前|现在|家)?(?:住|定居|生活|常驻)在?.{2,30}$",
        r"^我来自.{2,20}$",
        (
            r"^我是(?:一[名个位])?(?!说|想|不是|指|问|要|否|因为|从|在|来|用|通过|第|这|那|谁"
            r"|什么)[^，。的]{0,16}"
            r"(?:工程师|程序员|老师|教师|学生|医生|护士|律师|经理|总监|设计师|研究员|教授|会计|记者"
            r"|作家|产品|运营|销售"
            r"|顾问|分析师|科学家|开发者?|博士生?|研究生|素食者|素食主义者|人|会员|左撇子|新手|初学者"
            r"|程序媛)$"
        ),
        r"^我对.{1,30}过敏$",
        (
            r"^我有(?:[一两二三四\d]+[个只条位名])[^，。]{0,10}(?:孩子|儿子|女儿|狗|猫|哥哥|姐姐|弟弟"
            r"|妹妹)$"
        ),
        rf"^我的?{_ATTRIBUTE}[是叫在为](?!谁|什么|哪|怎么|多少|几).{{1,40}}$",
        r"^我今年\d{1,3}岁$",
        r"^我(?:会说|只会说|说|不会说).{1,10}(?:语|话|文)$",
        r"^我(?:上个?月|去年|上周|昨天|最近|刚)?搬[到去]了?.{2,20}$",
    )
)
_PLAN = re.compile(
    r"^我(?:们)?.{0,12}?(?:要去|会去|将去|准备去|打算去|去(?!年|过|了|掉)|飞往?|出差|出发"
    r"|旅[行游]|度假|休假|放假|请假"
    r"|搬[到去]|回(?:老家|国|家)|不在|开会|参加|考试|结婚|入职|离职).{0,40}$"
)
_WRONG = re.compile(
    r"^(?:不[,，]?\s*)?(?:不对(?!称|等|外)|不是这样|错了|搞错了|弄错了|(?:你|您)(?:又)?(?:搞|弄"
    r"|理解|算|写|说|看|记|回答|翻译)错"
    r"|(?:你|您)(?:理解|说|算|写)得?不对|(?:这|那)(?:个|样|里)?(?:答案|结果|回答|数字|翻译"
    r"|说法)?(?:是)?(?:不对|错的?|不正确|有误|有错)"
    r"|(?:答案|结果|回答|数字|翻译)(?:是)?(?:不对|错了?|不正确|有误)|不正确|有误|我要的不是"
    r"|我说的不是|我问的不是)"
)
_RIGHT = re.compile(
    r"^(?:不[,，]?\s*|不对[,，]?\s*|错了[,，]?\s*)?(?:我(?:说|指|问|要)的是.+|我的意思是.+|我是说.+"
    r"|(?:这|那|它|答案)?(?:不是|并非).{1,40}[，,]?\s*(?:而是|应该是|应为|是).+"
    r"|(?:这|那|它|答案|正确答案)?(?:应该是|应当是|应为|应该用).{1,60}[，,]?\s*(?:而不是|不是"
    r"|而非).+"
    r"|是.{1,40}[，,]\s*(?:而不是|不是|而非).+|正确的?(?:答案|结果|写法|值|数字"
    r"|说法)?(?:应该)?是.+)$"
)
_SHOULD = re.compile(
    r"^(?:这|那|它|你|您|答案|结果|正确)?.{0,6}?(?:应该是|应当是|应为|应该用|应改为).{1,80}$"
)


def read_chinese(sentence: Sentence, moment: datetime) -> tuple[Found, ...]:
    """Return the lasting preferences and the facts that a sentence states, one a clause.

    Args:
        sentence: What a person said.
        moment: When, aware; relative times are read against it.
    """
    wish = None if sentence.question else chinese_wish(sentence.text)
    text = sentence.text if wish is None else wish.rest
    clauses = [_FILLER.sub("", clause).strip() for clause in _split(text)]
    if sentence.question:
        clauses = clauses[:-1]
    found: list[Found] = []
    speaks = False
    for number, clause in enumerate(clauses):
        if _UNSURE.match(clause):
            return tuple(found)
        if speaks and (_ELIDED.match(clause) or clause.startswith(("在", "住在", "现在"))):
            clause = f"我{clause}"
        speaks = speaks or clause.startswith("我")
        statement = _statement(clause, moment) if len(clause) >= SHORTEST else None
        if statement is None and number == 0 and wish is not None and wish.sure:
            statement = _wished(clause, wish.order, moment)
        if statement is not None:
            found.append(statement)
    return tuple(found)


def read_chinese_repair(sentence: Sentence) -> Repair:
    """Return what a sentence says about the agent's last answer."""
    text = sentence.text
    if sentence.question:
        return Repair()
    clauses = [text, *_split(text)]
    return Repair(
        wrong=any(_WRONG.match(clause) for clause in clauses),
        right=any(_RIGHT.match(clause) for clause in clauses),
        hints=any(_SHOULD.match(clause) for clause in clauses),
    )


def _split(text: str) -> list[str]:
    return [part.strip() for part in _BOUNDARY.split(text) if part.strip()] or [""]


def _statement(clause: str, moment: datetime) -> Found | None:
    bare, changed = chinese_change(clause)
    if any(pattern.match(bare) for pattern in _FACTS):
        return _fact(clause, _told(bare, changed), moment)
    taste = _TASTE.match(bare) or _TURN.match(clause) or (changed and _NEW_HABIT.match(bare))
    if (taste and not _ONCE.search(taste.group("object"))) or _HABIT.match(bare):
        return Found("preference", _told(bare, changed))
    if _STANDING.match(clause):
        return Found("preference", f"用户要求：{clause}。", _end(clause, moment))
    if _PLAN.match(clause) and span_of(clause, moment) is not None:
        return _fact(clause, _told(clause), moment)
    return None


def _wished(clause: str, order: bool, moment: datetime) -> Found:
    """Return what a person wants to be remembered, though no pattern knows it."""
    if order:
        # 在周五 bounds no order, 到周五 does.
        until = _end(clause, moment) if _BOUNDED.search(clause) else None
        return Found("preference", f"用户要求：{clause}。", until)
    told = _told(clause) if "我" in clause or "咱" in clause else f"{clause}。"
    if not _BOUNDED.search(clause):
        return Found("fact", told, None, event_time_of(clause, moment), names=True)
    return _fact(clause, told, moment)


def _end(clause: str, moment: datetime) -> datetime | None:
    span = span_of(clause, moment)
    return span.end if span else None


def _fact(clause: str, content: str, moment: datetime) -> Found:
    span = span_of(clause, moment)
    if span is not None:
        last_day = (span.end - timedelta(days=1)).date().isoformat()
        content = f"{content[:-1]}（至 {last_day}）。"
    return Found(
        "fact",
        content,
        span.end if span else None,
        event_time_of(clause, moment),
        names=True,
    )


def _told(clause: str, changed: bool = False) -> str:
    """Return a clause as a sentence about the user, in their own words where that is safer.

    Args:
        clause: The clause, without what announces a change.
        changed: Whether something announced one.
    """
    now = "（现在）" if changed else ""
    rest = clause[1:] if clause.startswith("我") else ""
    if not rest or rest.startswith("们") or "我" in rest:
        return f"用户说：“{clause}”{now}。"
    return f"用户{rest}{now}。"
