"""Whether two short texts say the same thing, judged by their words alone.

Used within one reply of a model, where nine rewordings of one fact should become one lesson.
Numbers with their units, negation, opposites and conditions keep look-alikes apart; where the
words can't tell, two texts count as different, since a duplicate costs less than a lost fact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from hindsight_core.models import Lesson

__all__ = ["Wording", "fold_rewordings", "same_fact", "wording_of"]

_TOKEN = re.compile(r"[^\W\d_]*\d[\w.,:]*%?|[^\W\d_]+(?:['’][^\W\d_]+)?")
_HAN = re.compile(r"[\u3400-\u9fff]")
_STOPWORDS = frozenset(
    "a an the is are was were be been being to of in on at for and or as it its this that these "
    "those with by from into then than so if when while after will would should must can could "
    "has have had do does did done back again please now user agent we you they he she i "
    "complete completed finish finished successful successfully".split()
)
_HAN_STOPWORDS = frozenset("的了是在把被就都也和与及已于并且后时完成到为将其会要")
_NEGATIONS = frozenset("not no never without cannot avoid neither nor nothing none".split())
_HAN_NEGATION = re.compile(r"[不没未无勿]|别(?!人|的|处)|禁止")
_HAN_NOT_NEGATION = re.compile(r"不错|不断|不同|不过|无线|未来|特别|分别|区别|级别|类别|性别")
_SYNONYMS = {
    **dict.fromkeys("reset restored reverted returned changed put restore revert".split(), "set"),
    **dict.fromkeys("reloading reloaded reloads".split(), "reload"),
}
_HAN_SETTING = re.compile(r"(?:重新)?(?:改回|恢复|设回|设为|设置|调回|回到|改为|还原)[为到成]?")
_UNITS = {
    **dict.fromkeys("s sec secs second seconds 秒".split(), "s"),
    **dict.fromkeys("ms millisecond milliseconds 毫秒".split(), "ms"),
    **dict.fromkeys("min mins minute minutes 分钟".split(), "min"),
    **dict.fromkeys("h hr hrs hour hours 小时".split(), "h"),
    **dict.fromkeys("day days 天".split(), "d"),
    **dict.fromkeys("% percent".split(), "%"),
}
_UNIT_PATTERN = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_AMOUNT = re.compile(rf"(\d+(?:[.,]\d+)*)\s*({_UNIT_PATTERN})(?![a-z])")
_COUNTED = re.compile(
    rf"\b(one|two|three|four|five|six|seven|eight|nine|ten)\s+(?=(?:{_UNIT_PATTERN})\b)"
)
_HAN_COUNTED = re.compile(r"([一二两三四五六七八九十])\s*(?=毫秒|秒|分钟|小时|天)")
_COUNTS = {
    **{
        word: str(value)
        for value, word in enumerate(
            "one two three four five six seven eight nine ten".split(), start=1
        )
    },
    **{word: str(value) for value, word in enumerate("一二三四五六七八九十", start=1)},
    "两": "2",
}
_OPPOSITES = (
    ("enable disable", "disable"),
    ("before", "after"),
    ("increase raise", "decrease lower"),
    ("success succeed work", "fail failure"),
    ("like love prefer", "hate dislike"),
    ("allow", "deny forbid"),
    ("add", "remove delete"),
    ("on", "off"),
)
_HAN_OPPOSITES = (
    ("喜欢", "讨厌"),
    ("之前", "之后"),
    ("开启", "关闭"),
    ("启用", "禁用"),
    ("增加", "减少"),
    ("成功", "失败"),
)


@dataclass(frozen=True, slots=True)
class Wording:
    """What is compared of a text.

    Attributes:
        text: The text in lower case with single spaces.
        words: Content words in order: English ones stemmed, Chinese ones as characters.
        numbers: Amounts with their units, and names that hold digits, in order.
        negated: Whether it negates.
        poles: Which side of known opposites it takes.
    """

    text: str
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    negated: bool
    poles: frozenset[str]


def wording_of(text: str) -> Wording:
    """Return what is compared of `text`."""
    lowered = " ".join(text.lower().replace("’", "'").split())
    counted = _COUNTED.sub(lambda match: _COUNTS[match[1]] + " ", lowered)
    counted = _HAN_COUNTED.sub(lambda match: _COUNTS[match[1]], counted)
    counted = _HAN_SETTING.sub("设", counted)
    amounts = _AMOUNT.sub(lambda match: f" {match[1]}{_UNITS[match[2]]} ", counted)
    words: list[str] = []
    numbers: list[str] = []
    seen: set[str] = set()
    for token in _TOKEN.findall(amounts):
        for part in _parts(token):
            seen.add(part)
            if any(letter.isdigit() for letter in part):
                numbers.append(part.rstrip(".,:"))
            elif _is_content(part):
                words.append(_SYNONYMS.get(part) or _stem(part))
    return Wording(
        text=lowered,
        words=tuple(words),
        numbers=tuple(numbers),
        negated=_is_negated(lowered, seen),
        poles=_poles(lowered, seen | set(words)),
    )


def same_fact(first: str | Wording, second: str | Wording) -> bool:
    """Return whether two texts say the same thing in other words.

    With equal numbers, 0.6 of the shorter text's content words (0.5 of its characters in
    Chinese) must be shared; without numbers 0.75, and 0.6 of all of them.
    """
    one = wording_of(first) if isinstance(first, str) else first
    two = wording_of(second) if isinstance(second, str) else second
    if one.text == two.text:
        return True
    if one.numbers != two.numbers or one.negated != two.negated or _oppose(one, two):
        return False
    if _differ_in_one_slot(one.words, two.words):
        return False
    mine, theirs = set(one.words), set(two.words)
    shared = len(mine & theirs)
    smaller = min(len(mine), len(theirs))
    if smaller < 2:
        return mine == theirs and bool(mine)
    if one.numbers:
        return shared / smaller >= (0.5 if _is_han(one) and _is_han(two) else 0.6)
    return shared / smaller >= 0.75 and shared / len(mine | theirs) >= 0.6


def fold_rewordings(lessons: Sequence[Lesson]) -> tuple[tuple[Lesson, ...], int]:
    """Fold lessons that say the same thing into one each.

    The most important wording stays, at the place of the first; it takes over what the others
    supersede, their steps and their tags. Confidence does not rise, since repetition inside
    one run proves nothing.

    Returns:
        The lessons that are left, and how many were folded away.
    """
    groups: list[list[tuple[Lesson, Wording]]] = []
    for lesson in lessons:
        wording = wording_of(lesson.content)
        group = next((g for g in groups if _belongs(lesson, wording, g)), None)
        if group is None:
            groups.append([(lesson, wording)])
        else:
            group.append((lesson, wording))
    kept = tuple(_fold([lesson for lesson, _ in group]) for group in groups)
    return kept, len(lessons) - len(kept)


def _belongs(lesson: Lesson, wording: Wording, group: list[tuple[Lesson, Wording]]) -> bool:
    return any(
        same_fact(wording, other_wording)
        and _same_condition(lesson.applies_when, other.applies_when)
        and _same_condition(lesson.not_when, other.not_when)
        for other, other_wording in group
    )


def _same_condition(first: str, second: str) -> bool:
    return first == second or (bool(first and second) and same_fact(first, second))


def _fold(group: list[Lesson]) -> Lesson:
    best = max(group, key=lambda lesson: lesson.importance)
    if len(group) == 1:
        return best
    return replace(
        best,
        supersedes=tuple(dict.fromkeys(i for lesson in group for i in lesson.supersedes)),
        steps=tuple(sorted({step for lesson in group for step in lesson.steps})),
        tags=tuple(dict.fromkeys(tag for lesson in group for tag in lesson.tags)),
    )


def _parts(token: str) -> list[str]:
    if not _HAN.search(token):
        return [token]
    parts: list[str] = []
    for piece in re.findall(r"[\u3400-\u9fff]|[^\u3400-\u9fff]+", token):
        parts.append(piece)
    return parts


def _is_content(word: str) -> bool:
    return not (
        word in _STOPWORDS or word in _HAN_STOPWORDS or word in _NEGATIONS or word.endswith("n't")
    )


def _stem(word: str) -> str:
    for ending in ("'s", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            if ending != "s" and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            return _SYNONYMS.get(word, word)
    return word


def _is_negated(text: str, words: set[str]) -> bool:
    if words & _NEGATIONS or any(word.endswith("n't") for word in words):
        return True
    return bool(_HAN_NEGATION.search(_HAN_NOT_NEGATION.sub("", text)))


def _poles(text: str, words: set[str]) -> frozenset[str]:
    poles: set[str] = set()
    for sides in _OPPOSITES:
        for side in sides:
            if words & set(side.split()):
                poles.add(side)
    for sides in _HAN_OPPOSITES:
        poles.update(side for side in sides if side in text)
    return frozenset(poles)


def _oppose(first: Wording, second: Wording) -> bool:
    """Whether two texts take different sides of a known pair."""
    return any(
        {one, other} <= first.poles ^ second.poles
        and (one in first.poles) != (other in first.poles)
        for one, other in (*_OPPOSITES, *_HAN_OPPOSITES)
    )


def _differ_in_one_slot(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether two texts are one sentence with another name in one place."""
    if abs(len(first) - len(second)) > 2 or min(len(first), len(second)) < 2:
        return False
    changes = [
        change
        for change in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    return len(changes) == 1 and changes[0][0] == "replace"


def _is_han(wording: Wording) -> bool:
    return 2 * sum(bool(_HAN.match(word)) for word in wording.words) > len(wording.words)
