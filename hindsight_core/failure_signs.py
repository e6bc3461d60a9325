"""Whether what a tool returned is itself a failure report, by how programs tell of failures.

One documented rule lives here, see `looks_like_error`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hindsight_core.json_text import read_json

__all__ = ["looks_like_error"]

_ERROR_START = re.compile(
    r"(?:"
    r"(?:fatal |internal |tool |runtime |execution |encountered )?errors?[:：]"
    r"|error (?:executing|invoking|calling|running|in tool|while)\b"
    r"|(?:fatal|exception|failure|failed)[:：]"
    r"|(?:tool|command|process|execution|request)[^\n:]{0,60} (?:failed|exited) with "
    r"(?:non-?zero |an? )?(?:exit |error |status )?(?:code|status|error)\b(?!:? *0\b)"
    r"|<(?:tool_)?error>"
    r"|http(?:/\d(?:\.\d)?)?[ :]+(?:error |status |code )*[45]\d\d\b"
    r"|(?:status(?:[ _]?code)?[:=]? *)[45]\d\d\b"
    r"|[45]\d\d (?:client error|server error|bad request|unauthorized|forbidden|not found"
    r"|conflict|too many requests|internal server error|bad gateway|service unavailable"
    r"|gateway time-?out)\b"
    r"|(?:错误|出错|异常|失败|报错)(?:了)?[:：]"
    r")",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"[A-Za-z_][\w.]{0,120}(?:Error|Exception|Exit|Interrupt|Timeout)(?:[:(]|$)"
)
_TRACEBACK = re.compile(
    r"^[ \t]*(?:Traceback \(most recent call last\):|File \"[^\"\n]{1,400}\", line \d)",
    re.MULTILINE,
)
_SHELL = re.compile(
    r"[^\n]{1,300}(?:command not found|no such file(?: or directory)?|permission denied"
    r"|connection refused|timed out)\)?\.?",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"(?:[A-Za-z_]\w{0,60}\.){1,8}(?:[A-Z]\w{0,80}(?:Error|Exception)"
    r"|(?<=\.exc\.)[A-Z]\w{0,80}|(?<=\.errors\.)[A-Z]\w{0,80}"
    r"|(?<=\.exceptions\.)[A-Z]\w{0,80}): "
    r"|npm (?:ERR!|error )"
    r"|curl: \(\d{1,3}\) "
    r"|make(?:\[\d{1,3}\])?: \*\*\* "
    r"|ERROR \d{3,5}(?: \(\w{1,8}\))?: "
    r"|fatal: "
    r"|(?:[\w./-]{1,80}(?: \d{1,6})?: ){1,4}command not found"
    r"(?:\s*$|: \S{1,80}\s*$)"
)
"""What programs put before their own complaints at the start of a line; case counts."""

_EXIT_CODE = re.compile(
    r"^[ \t]*(?:"
    r"[\[(<]?(?:(?:process|command|program)[ \t]+)?"
    r"(?:(?:exit|return)[ _]?(?:code|status)|exited[ \t]+with(?:[ \t]+(?:code|status))?)"
    r"[ \t]*[:=]?[ \t]*(?P<told>-?\d{1,10})[\])>]?\.?[ \t]*$"
    r"|[\[(](?:exit|exited|rc)[ :=](?:code[ :=])?(?P<marked>-?\d{1,10})[\])](?=\s|$)"
    r"|<returncode>(?P<tagged>-?\d{1,10})</returncode>[ \t]*$"
    r")",
    re.IGNORECASE | re.MULTILINE,
)
_REFUSED = re.compile(
    r"(?:(?:permission|access) denied|rate limit (?:exceeded|reached)|not authori[sz]ed)"
    r"(?:\s*[.!:;,(\[\u2014-][^\n]{0,200}| (?:to|for|by|on|while|when) [^\n]{0,120})?"
    r"|too many requests(?:[.!:;,(][^\n]{0,200})?"
    r"|(?:unauthori[sz]ed|forbidden)[.!]?"
    r"|(?:文件|目录|路径|用户|订单|记录|资源|页面|账号|账户|表|接口|命令|模块|函数|主机|对象)"
    r"[^\n，。,:：]{0,40}(?:不存在|未找到|找不到)[。！!]?"
    r"|(?:请求|操作|执行|调用|连接|登录|认证|验证|查询|下载|上传|解析|读取|写入|创建|删除|更新"
    r"|打开|加载|支付)(?:失败|超时|出错|被拒绝)(?:了)?(?:[，,。！!；（(:：][^\n]{0,120})?"
    r"|(?:权限不足|没有权限|无权访问|拒绝访问|未授权)(?:[，,。！!；（(:：][^\n]{0,120})?",
    re.IGNORECASE,
)
"""A refusal that is the whole answer, in one line."""

EDGE_LINES = 3
"""Lines at the end of an answer in which a program's complaint counts."""

_STATUS_WORDS = frozenset({"error", "failed", "failure"})
_EXIT_KEYS = ("exit_code", "exitCode", "returncode", "return_code")


def looks_like_error(text: str) -> bool:
    """Tell whether what a tool returned is itself a failure report.

    Conservative: the text has to *be* an error, not to speak of one. It is one if it

    * starts like one: `Error: …`, `ValueError: …`, `HTTP 503`, `404 Not Found`, `错误：…`,
      `Command failed with exit code 1`;
    * holds a Python traceback and ends with the exception's line;
    * is one line that ends like a shell's complaint (`command not found`) or is a refusal
      (`Permission denied (publickey).`, `rate limit exceeded`, `文件不存在`);
    * starts or ends with a line as programs begin their complaints: `npm ERR!`, `curl: (7)`,
      `make: ***`, `fatal:`, `package.errors.Name:`;
    * tells an exit code other than 0 on a line of its own; of several the last one counts;
    * is a JSON object whose `error` is text, an object or true, whose `status` is an error word
      or an HTTP status of 400–599, or that says `"isError": true`, `"success": false` or
      an exit code other than 0.

    Args:
        text: What the tool returned.
    """
    head = text.lstrip()[:400]
    if not head:
        return False
    parsed = read_json(text) if head[0] == "{" else None
    if isinstance(parsed, Mapping):
        return _is_error_object(parsed)
    if _ERROR_START.match(head) or _EXCEPTION.match(head.partition("\n")[0]):
        return True
    stripped = text.strip()
    if len(stripped) <= 400 and (_SHELL.fullmatch(stripped) or _REFUSED.fullmatch(stripped)):
        return True
    if _complains(stripped) or _exited_badly(stripped):
        return True
    last = stripped[-2_000:].rpartition("\n")[2].strip()
    return bool(_EXCEPTION.match(last)) and bool(_TRACEBACK.search(text))


def _complains(stripped: str) -> bool:
    """Whether the first line or one of the last ones is a program's own complaint."""
    first = stripped[:400].partition("\n")[0]
    last = stripped[-2_000:].splitlines()[-EDGE_LINES:]
    return any(_COMPLAINT.match(line[:400]) for line in (first, *last))


def _exited_badly(stripped: str) -> bool:
    """Whether the last exit code that stands on a line of its own is not 0."""
    code = "0"
    for found in _EXIT_CODE.finditer(stripped):
        code = found[found.lastgroup or 0]
    return int(code) != 0


def _is_error_object(value: Mapping[str, Any]) -> bool:
    error = value.get("error")
    if error is True or (isinstance(error, str | Mapping) and error):
        return True
    if value.get("isError") is True or value.get("is_error") is True:
        return True
    if value.get("success") is False or value.get("ok") is False:
        return True
    codes = [value.get(key) for key in _EXIT_KEYS]
    if any(isinstance(code, int) and code != 0 for code in codes):
        return True
    status = value.get("status", value.get("status_code", value.get("statusCode")))
    if isinstance(status, str):
        return status.strip().lower() in _STATUS_WORDS
    return isinstance(status, int) and 400 <= status <= 599
