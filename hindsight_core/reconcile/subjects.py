"""Whether two statements are about different numbered or named things; pure.

"Ticket number 12 costs 30 euros" and "Ticket number 13 costs 40 euros" are alike in every word
and say nothing about each other. What differs tells things apart where it stands in the
subject: before anything is said of it, behind "number", "ID" or 号, or right behind a noun.
What differs in the predicate is a new value. In doubt the things are two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from hindsight_core.reconcile.wording import COPULAS, NEGATIONS, STOPWORDS, TOKEN

__all__ = ["names_another"]

_LABELS = frozenset("number numbers no nos nr num id ids identifier code serial numbered".split())
_ENDINGS = (("ending", "in"), ("ending", "with"), ("ends", "in"), ("ends", "with"))
_PRONOUNS = frozenset("i we you they he she it".split())
_AUXILIARIES = frozenset(
    "can could must should shall will would may might has have had do does did cannot".split()
)
_PLAIN_VERBS = frozenset("use like love know own prefer want hate enjoy set".split())
"""Verbs that tell the predicate without an ending, and are hardly ever nouns."""
_UNITS = frozenset(
    "s ms min mins h hr hrs second seconds minute minutes hour hours day days week weeks month "
    "months year years times x euro euros eur usd dollar dollars cents % percent mb gb kb tb mib "
    "gib kib byte bytes request requests user users item items row rows line lines page pages "
    "token tokens retry retries attempt attempts core cores cpu cpus replica replicas node nodes "
    "people person persons meter meters km m kg g degrees am pm volt volts watt watts per".split()
)
_DATES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may "
    "june july august september october november december".split()
)

_CJK = re.compile(r"[㐀-䶿一-鿿]")
_CJK_LABEL = re.compile(r"(?:号|编号|号码|代码|第|id|no|nr)$", re.IGNORECASE)
_CJK_NUMBER_LABEL = re.compile(r"(?<=[一-鿿])(?:编号|号码|号) ?[:：]? ?(?=\w*\d)", re.ASCII)
_CJK_NOUNS = re.compile(
    r"用户|用例|用品|应用|信用|费用|设备|设施|设计|需求|住户|住院|买家|买方|卖家|卖方|在线|"
    r"有限|花园|共享|到货|到站|限流|位置|会议|会员|社会|协会|爱好"
)
"""Nouns that hold a character which elsewhere is a verb."""
_CJK_VERBS = re.compile(
    r"[是为叫在于到至设改用花需占有住跑买卖限达会爱等约共]|喜欢|讨厌|支持|包含|运行|写入|保存|"
    r"属于|监听|耗时|提供|负责|升级|超过|选择|预计|开放|部署"
)
_CJK_UNIT = re.compile(
    r"毫?秒|分|小?时|天|日|周|月|年|个|次|元|块|美|欧|毫|厘|米|公|千|克|度|%|人|名|位|台|条|页|份|"
    r"倍|项|种|字|点|层|楼|万|亿|件|行|核|岁|到|至|[gmkt]i?b|ms|s$"
)
_CJK_SAID = re.compile(r"的|已|未|不|没")
_CJK_ORDINALS = frozenset("一二三四五六七八九十甲乙丙丁戊")


def names_another(new: str, old: str, *, flipped: bool = False) -> bool:
    """Return whether `new` is about another thing than `old` by a number, letter or name.

    Args:
        new: The newer statement.
        old: The older one.
        flipped: Whether one denies what the other says; then any other word that stands for
            the thing tells them apart, not only a number or a name.
    """
    one, other = _pieces(old), _pieces(new)
    lowered = [piece.lower() for piece in one], [piece.lower() for piece in other]
    cjk = bool(_CJK.search(new) and _CJK.search(old))
    for i, k in _differences(*lowered):
        if cjk:
            if _said("".join(one[:i])) or _said("".join(other[:k])):
                return False
            if _tells_apart_cjk(one, i, flipped) and _tells_apart_cjk(other, k, flipped):
                return True
            continue
        if _has_predicate(lowered[0][:i]) or _has_predicate(lowered[1][:k]):
            return False
        more = lowered[0][i + 1 :] != lowered[1][k + 1 :]
        if _tells_apart(one, i, more) and _tells_apart(other, k, more):
            return True
        if flipped and _is_word_of_subject(lowered[0], i) and _is_word_of_subject(lowered[1], k):
            return True
    return False


def _differences(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places at which words of `one` stand against others of `other`, in order."""
    shared = [a == b for a, b in zip(one, other, strict=False)]
    # The first is counted off: "stage 3 takes 4" and "stage 4 takes 5" would align at the 4.
    found = [(shared.index(False), shared.index(False))] if False in shared else []
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    found += [(i, k) for tag, i, _, k, _ in codes if tag == "replace" and (i, k) not in found]
    return found


def _pieces(text: str) -> tuple[str, ...]:
    """Return the words of `text`, every label of a number in one form."""
    found = TOKEN.findall(_CJK_NUMBER_LABEL.sub("", unicodedata.normalize("NFKC", text)))
    follows_number = [any(map(str.isdigit, piece)) for piece in (*found[1:], "")]
    return tuple(
        "number" if numbered and piece.lower() in _LABELS else piece
        for piece, numbered in zip(found, follows_number, strict=True)
    )


def _tells_apart(pieces: Sequence[str], at: int, more: bool) -> bool:
    """Whether the piece at `at`, before any predicate, says which thing is spoken of.

    Args:
        pieces: The statement.
        at: Where it differs from the other one.
        more: Whether it differs further on as well.
    """
    value, before = pieces[at], [piece.lower() for piece in pieces[:at]]
    after = [piece.lower() for piece in pieces[at + 1 :]]
    is_number = any(map(str.isdigit, value)) or (len(value) == 1 and value.isupper())
    is_name = at > 0 and value[0].isupper() and value.lower() not in _DATES
    if value.lower() in _PRONOUNS or not (is_number or is_name) or not after:
        return False
    if before and (before[-1] in _LABELS or tuple(before[-2:]) in _ENDINGS):
        return True
    if after[0] in _UNITS:
        return False
    return more or _has_predicate_behind(after)


def _is_word_of_subject(words: Sequence[str], at: int) -> bool:
    """Whether a word of its own stands at `at` and a copula follows."""
    word = words[at]
    if word in STOPWORDS or word in NEGATIONS or word in _PRONOUNS:
        return False
    return any(later in COPULAS for later in words[at + 1 :])


def _has_predicate(words: Sequence[str]) -> bool:
    """Whether something is said of the subject in the words before a difference."""
    if words and words[0] in _PRONOUNS:
        return True
    first = next((i for i, word in enumerate(words) if word not in STOPWORDS), len(words))
    for i, word in enumerate(words):
        if word in COPULAS or word in _AUXILIARIES or word in _PLAIN_VERBS:
            return True
        following = words[i + 1] if i + 1 < len(words) else "on"
        linked = following in STOPWORDS and following != "of" and following not in COPULAS
        if i > first and linked and _looks_like_verb(word):
            return True
    return False


def _has_predicate_behind(words: Sequence[str]) -> bool:
    """Whether something is said in the words behind a difference."""
    return any(
        word in COPULAS
        or word in _AUXILIARIES
        or (i + 1 < len(words) and word not in _UNITS and _looks_like_verb(word))
        for i, word in enumerate(words)
    )


def _looks_like_verb(word: str) -> bool:
    if len(word) > 3 and word.endswith("s"):
        return not word.endswith(("ss", "us", "is"))
    return len(word) > 4 and word.endswith("ed")


def _said(before: str) -> bool:
    """Whether Chinese words hold a predicate."""
    return bool(_CJK_VERBS.search(_CJK_NOUNS.sub("", before)))


def _tells_apart_cjk(pieces: Sequence[str], at: int, flipped: bool) -> bool:
    value, before, after = pieces[at], "".join(pieces[:at]), "".join(pieces[at + 1 :]).lower()
    if not after:
        return False
    labeled = bool(_CJK_LABEL.search(before)) or after.startswith("号")
    if value in _CJK_ORDINALS:
        return labeled
    if _CJK.match(value):
        return False
    if labeled:
        return True
    if any(map(str.isdigit, value)) or len(value) == 1:
        return not _CJK_UNIT.match(after)
    return flipped or bool(_CJK_SAID.match(after))
