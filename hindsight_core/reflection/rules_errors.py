"""Whether a tool's answer reports a failure, and what the failure says in one line.

A recorder's own flag is trusted. Without one, what counts is what `looks_like_error` sees, and
short refusals such as `Wrong password!` or an editor that turned an edit down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hindsight_core.failure_signs import looks_like_error
from hindsight_core.json_text import read_json
from hindsight_core.reflection.rules_text import bounded, plain
from hindsight_core.safety.injection import without_instructions
from hindsight_core.steps import Step

__all__ = ["error_of", "essence", "is_telling", "is_transient"]

ESSENCE_LENGTH = 160
"""Characters of an error that a lesson quotes."""

SHORT_ANSWER = 300
"""Longest answer, in characters, in which a refusal counts as the whole answer."""

JSON_LENGTH = 9_000
"""Longest answer, in characters, that is read as JSON."""

_REFUSAL = re.compile(r"\s*(?:wrong|invalid|illegal|unsupported)\b", re.IGNORECASE)
_REFUSED_EDIT = re.compile(r"introduced new syntax error", re.IGNORECASE)
_RAISED = re.compile(
    r"^[ \tE]*([A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Exit|Timeout)(?::.*)?)$",
    re.MULTILINE,
)
_COMPLAINT = re.compile(
    r"error|exception|fail|fatal|denied|refused|invalid|not found|no such|timed? ?out|错误|失败"
    r"|异常",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"timed out|^time-?out\W*$|time-?out (?:error|exceeded|expired|after|while|waiting|reached)"
    r"|(?:connect|connection|read|request|gateway|response)[ _]?time-?out|TimeoutError"
    r"|connection (?:reset|refused|aborted|closed|error|failed|lost)|connection_?error"
    r"|(?:could not|failed to|unable to|can(?:no|')t) connect\b|network is unreachable"
    r"|temporar(?:y|ily) (?:failure|unavailable)|too many requests|rate[ -]?limit"
    r"|bad gateway|service unavailable|internal server error|server disconnected"
    r"|(?:^|(?:http|status|code|error)\W{0,3})(?:429|50[0-4])\b"
    r"|超时|连接(?:失败|被拒绝|被?重置|中断|错误)|请求(?:过多|过于频繁)|限流|服务(?:暂时)?不可用"
    r"|状态码\W{0,3}(?:429|50[0-4])",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(
    r"[\[(<]?\b(?:exit(?:ed)?|return)[ _]?(?:with )?(?:code|status)?\W{0,3}\d{1,10}[\])>]?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{2,}|[\u3400-\u9fff]{3,}|\d{3,}")
_EMPTY_WORDS = frozenset(
    (
        "an the is are was has error errors exception failed failure fail happens happened nothing "
        "something went wrong unknown invalid action occurred no none null observation result "
        "please try again unexpected internal results matches match found not"
    ).split()
)
"""Words that an error can be made of without saying what is wrong."""

_PREFIX = re.compile(r"^\s*(?:\[?(?:error|错误|exception)\]?\s*[:：]\s*)+", re.IGNORECASE)
_ADDRESS = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>|\bat 0x[0-9a-f]{6,}")


def error_of(step: Step) -> str:
    """Return what a `tool_result` or `error` step says went wrong, `""` if nothing did."""
    if step.is_error or step.kind == "error":
        return essence(step.text) or "error"
    text = step.text
    refused = _REFUSED_EDIT.search(text[:SHORT_ANSWER]) or (
        len(text) <= SHORT_ANSWER and _REFUSAL.match(text)
    )
    return essence(text) if refused or looks_like_error(text) else ""


def is_telling(error: str) -> bool:
    """Whether an error says anything about its cause."""
    words = _WORD.findall(_EXIT_CODE.sub("", error).lower())
    return bool(set(words) - _EMPTY_WORDS)


def is_transient(error: str) -> bool:
    """Whether an error is of the moment, of a network or a busy service, and not of the call."""
    return bool(_TRANSIENT.search(error))


def essence(text: str) -> str:
    """Return the line of an error that says most, without its `Error:` in front.

    What in it instructs its reader, other than in how to call a tool, is left out.
    """
    short = bounded(text)
    told = _message_in(short)
    if told:
        return without_instructions(plain(told, ESSENCE_LENGTH))
    raised = _RAISED.findall(short)
    line = raised[-1] if raised else _telling_line(short)
    said = plain(_ADDRESS.sub("", line), ESSENCE_LENGTH)
    return without_instructions(_PREFIX.sub("", said) or said)


def _telling_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip(" \t-=*#`~")]
    # An exit code alone says that something failed and not what.
    lines = [line for line in lines if not _EXIT_CODE.fullmatch(line.strip())] or lines
    return next((line for line in lines if _COMPLAINT.search(line)), lines[0] if lines else "")


def _message_in(text: str) -> str:
    """Return the message of an error told as a JSON object, `""` if it is not one."""
    if not text.lstrip().startswith("{") or len(text) > JSON_LENGTH:
        return ""
    found = read_json(text)
    return _message_of(found) if isinstance(found, Mapping) else ""


def _message_of(found: Mapping[str, Any]) -> str:
    error = found.get("error")
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("type")
    told = (error, found.get("message"), found.get("detail"), found.get("reason"))
    return next((t for t in told if isinstance(t, str) and t.strip()), "")
