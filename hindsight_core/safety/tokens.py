"""Secrets that are known by their own shape: keys and tokens of providers, headers, URLs.

Every pattern starts at a place that is tried once and repeats only within bounds or within one
run of characters, so that hostile text can't make it slow.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["RULES", "TokenRule", "is_placeholder"]


def _always(found: re.Match[str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class TokenRule:
    """One kind of secret.

    Attributes:
        kind: Name that stands in the mark.
        pattern: What to find; its group `secret` is what is replaced, else the whole match.
        hints: At least one of these stands in every text that holds such a secret; lower case.
        accepts: Looks at a match more closely.
    """

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    accepts: Callable[[re.Match[str]], bool] = _always


_PLACEHOLDER = re.compile(
    r"(?:"
    r"[*x.•…#?_-]+"
    r"|<[^<>]*>?|\$\{?[\w.]+\}?|\{+[^{}]*\}*|%\(?\w*\)?s?|\[[^\[\]]*\]?"
    r"|(?:your|my|the|an?|some|new|old|test|dummy|fake|sample|example)[-_ ].*"
    r"|none|null|nil|true|false|yes|no|undefined|empty|string|str|bytes|int|required|optional"
    r"|invalid|missing|expired|incorrect|wrong|hidden|masked|redacted|removed|changed|unknown"
    r"|placeholder|example|changeme|change[-_]me|todo|tbd|n/?a|secret|password|passwd|token"
    r"|api[-_]?key|default|default_factory|disabled|enabled|rejected|accepted|failed|denied"
    r"|self|os|env|process|config|settings|getpass|input"
    r")",
    re.IGNORECASE,
)


def is_placeholder(value: str) -> bool:
    """Whether `value` stands for a secret instead of being one: `***`, `${TOKEN}`, `None`."""
    return bool(_PLACEHOLDER.fullmatch(value.strip("\"'`,;: ")))


def _has_digit(found: re.Match[str]) -> bool:
    return any(char.isdigit() for char in found.group("secret"))


def _is_url_password(found: re.Match[str]) -> bool:
    return not is_placeholder(found.group("secret"))


def _is_credential(found: re.Match[str]) -> bool:
    value = found.group("secret")
    return not is_placeholder(value) and (_has_digit(found) or len(value) >= 20)


def _is_basic(found: re.Match[str]) -> bool:
    """Whether the text after `Basic` decodes to `user:password`."""
    value = found.group("secret")
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii()


def _is_login(found: re.Match[str]) -> bool:
    value = found.group("secret")
    return not value.isdigit() and not is_placeholder(value)


def _rule(
    kind: str,
    pattern: str,
    *hints: str,
    accepts: Callable[[re.Match[str]], bool] = _always,
    flags: int = 0,
) -> TokenRule:
    return TokenRule(kind, re.compile(pattern, flags | re.ASCII), hints, accepts)


_START = r"(?<![A-Za-z0-9_-])"
_END = r"(?![A-Za-z0-9_-])"
_WORD = r"[A-Za-z0-9]"
_WIDE = r"[A-Za-z0-9_-]"
_Q = r"[ \t]*(?:\\{0,4}[\"'])?[ \t]*"

RULES: tuple[TokenRule, ...] = (
    _rule(
        "aws_key",
        r"(?<![A-Za-z0-9/+])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9/+])",
        *("akia", "asia", "abia", "acca"),
    ),
    _rule(
        "aws_secret",
        r"(?:aws[_-]?)?secret[_-]?(?:access[_-]?)?key"
        + _Q
        + r"(?:=>|[:=])"
        + _Q
        + r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "secret",
        flags=re.IGNORECASE,
    ),
    _rule(
        "github_token",
        rf"{_START}(?:gh[pousr]_{_WORD}{{30,}}|github_pat_[A-Za-z0-9_]{{22,}}){_END}",
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    _rule("gitlab_token", rf"{_START}gl(?:pat|dt|rt|cbt|ptt|soat)-{_WIDE}{{20,}}", "gl"),
    _rule(
        "slack_token",
        rf"{_START}(?P<secret>(?:xox[a-z]|xapp)-{_WIDE}{{10,}})",
        *("xox", "xapp-"),
        accepts=_has_digit,
    ),
    _rule(
        "slack_webhook",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
        "hooks.slack.com",
    ),
    _rule("anthropic_key", rf"{_START}sk-ant-{_WIDE}{{16,}}", "sk-ant-"),
    _rule(
        "openai_key",
        rf"{_START}(?P<secret>sk-(?:(?:proj|svcacct|admin|None)-{_WIDE}{{16,}}"
        rf"|(?:[a-z0-9]{{1,10}}-){{0,3}}{_WORD}{{20,}}))",
        "sk-",
        accepts=_has_digit,
    ),
    _rule("google_key", rf"{_START}AIza{_WIDE}{{35}}{_END}", "aiza"),
    _rule("google_token", rf"{_START}ya29\.{_WIDE}{{20,}}", "ya29."),
    _rule("google_secret", rf"{_START}GOCSPX-{_WIDE}{{20,60}}", "gocspx-"),
    _rule(
        "stripe_key",
        rf"{_START}(?:(?:sk|rk)_(?:live|test)_{_WORD}{{16,}}|whsec_{_WORD}{{24,}})",
        *("_live_", "_test_", "whsec_"),
    ),
    _rule(
        "api_token",
        rf"{_START}(?P<secret>npm_{_WORD}{{36}}|pypi-{_WIDE}{{50,}}|hf_{_WORD}{{30,60}}"
        rf"|gsk_{_WORD}{{32,80}}|xai-{_WORD}{{40,120}}|r8_{_WORD}{{32,60}}|dop_v1_[a-f0-9]{{64}}"
        rf"|SG\.{_WIDE}{{16,32}}\.{_WIDE}{{16,64}}|tvly-(?:dev-)?{_WORD}{{20,64}}"
        rf"|\d{{8,10}}:AA{_WIDE}{{33}}){_END}",
        *("npm_", "pypi-", "hf_", "gsk_", "xai-", "r8_", "dop_v1_", "sg.", "tvly-", ":aa"),
        accepts=_has_digit,
    ),
    _rule("jwt", rf"{_START}eyJ{_WIDE}{{5,}}\.eyJ{_WIDE}{{5,}}(?:\.{_WIDE}*)?", "eyj"),
    _rule(
        "authorization",
        r"(?<![A-Za-z])authorization"
        + _Q
        + r"(?:=>|[:=])"
        + _Q
        + r"(?:(?:bearer|basic|token|digest|"
        r"apikey|key|negotiate)[ \t]+)?(?P<secret>[^\s\"'\\,;<>{}()\[\]$*]{8,})",
        "authorization",
        accepts=_is_credential,
        flags=re.IGNORECASE,
    ),
    _rule(
        "authorization",
        r"(?<![A-Za-z])bearer[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
        "bearer",
        accepts=_has_digit,
        flags=re.IGNORECASE,
    ),
    _rule(
        "authorization",
        r"(?<![A-Za-z])basic[ \t]+(?P<secret>[A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9+/=])",
        "basic",
        accepts=_is_basic,
        flags=re.IGNORECASE,
    ),
    _rule(
        "url_password",
        r"://[^\s:/?#@\"'<>\[\]()]{0,100}:(?P<secret>[^\s/\"'<>\[\]]{1,200})@(?=[\w\[$%{.-])",
        "://",
        accepts=_is_url_password,
    ),
    _rule(
        "password",
        r"(?<!\S)(?:-u|--user|--proxy-user)[ \t=]{1,4}[\"']?[\w.@-]{1,64}:"
        r"(?P<secret>[^\s\"'/$<{\[\]]{3,200})",
        *("-u", "--user", "--proxy-user"),
        accepts=_is_login,
    ),
)
"""The rules in the order in which they are tried; a narrower kind stands before a wider one."""
