"""What a message holds, read leniently: text, content blocks, arguments, signs of failure.

Shared by everything that reads messages. Three documented rules live here:

* *Clean text*: a NUL and every half of a surrogate pair without its other half become U+FFFD;
  halves that belong together are joined. All else is kept as it is.
* *Block text*: texts of blocks stand on lines of their own; pictures and other media become a
  note such as `[image]`; thinking is left out, because it is not what was said.
* *Failure*: see `looks_like_error`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Content",
    "RawCall",
    "RawResult",
    "as_mapping",
    "as_text",
    "clean_text",
    "clean_value",
    "looks_like_error",
    "read_arguments",
    "read_call",
    "read_content",
]

MAX_DEPTH = 40
"""Levels of nesting that are kept of a value; what lies deeper becomes a note."""

HIDDEN_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "tool_call", "function_call"})
RESULT_BLOCKS = frozenset({"tool_result", "function_call_output"})
ATTRIBUTES = (
    *("role", "content", "blocks", "refusal", "name", "agent", "metadata"),
    *("tool_calls", "function_call", "tool_call_id", "tool_call_ids", "status", "is_error"),
    *("timestamp", "created_at", "id", "type", "function", "args", "arguments"),
)
"""Attributes that are read of an object that stands for a message or a call."""

NOTES = {
    "image": "[image]",
    "image_url": "[image]",
    "input_image": "[image]",
    "audio": "[audio]",
    "input_audio": "[audio]",
    "video": "[video]",
    "video_url": "[video]",
    "file": "[file]",
    "input_file": "[file]",
    "document": "[file]",
}


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as found, before it has an id of its own.

    Attributes:
        id: The id as given, `""` if none.
        name: The tool's name, `""` if none.
        arguments: The arguments, JSON-safe.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RawResult:
    """A tool result as found, before it is paired with its call.

    Attributes:
        id: Id of the call as given, `""` if none.
        name: The tool's name, `""` if none.
        text: What the tool returned.
        is_error: Whether it reports a failure.
    """

    id: str
    name: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Content:
    """What the content of one message holds.

    Attributes:
        text: All that is text.
        calls: Tool calls that stand as blocks.
        results: Tool results that stand as blocks.
    """

    text: str = ""
    calls: tuple[RawCall, ...] = field(default=())
    results: tuple[RawResult, ...] = field(default=())


_MAPPINGS = (dict, Mapping)
"""The plain type first: asking the abstract one takes several times as long."""


def clean_text(text: str) -> str:
    """Return `text` such that it can be encoded as UTF-8 and holds no NUL."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def clean_value(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON-safe data: texts cleaned, keys as text, no NaN, no strange type."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return "[nested too deep]"
    if isinstance(value, _MAPPINGS):
        return {clean_text(str(key)): clean_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, bytes | bytearray):
        return f"[{len(value)} bytes]"
    if isinstance(value, Sequence | set | frozenset):
        return [clean_value(item, depth + 1) for item in value]
    return clean_text(str(value))


def as_text(value: Any) -> str:
    """Return any value as text: `""` for nothing, JSON for data."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean_text(value)
    return json.dumps(clean_value(value), ensure_ascii=False)


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """Return a message or a call as a mapping, `None` if it is neither.

    Takes mappings, objects with `model_dump()`, and objects with the attributes of a message
    (`role`) or of a call (`function`, or `name` and `arguments`).
    """
    if isinstance(value, _MAPPINGS):
        return value
    dump = getattr(value, "model_dump", None)
    dumped = dump() if callable(dump) and not isinstance(value, type) else None
    if isinstance(dumped, Mapping):
        return dumped
    found = {name: getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)}
    is_told = "role" in found or "function" in found or {"name", "arguments"} <= found.keys()
    return found if is_told else None


def read_arguments(value: Any) -> Mapping[str, Any]:
    """Return tool arguments as a mapping; what is not a JSON object stands under `"_raw"`."""
    if isinstance(value, _MAPPINGS):
        cleaned: Mapping[str, Any] = clean_value(value)
        return cleaned
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    parsed = _parse(value) if isinstance(value, str) else None
    if isinstance(parsed, Mapping):
        return read_arguments(parsed)
    return {"_raw": as_text(value)}


def read_content(content: Any) -> Content:
    """Read the `content` of a message: text, `None`, one block or a list of blocks."""
    if isinstance(content, str):
        return Content(text=clean_text(content))
    if isinstance(content, Mapping) and _block_type(content):
        content = [content]
    if not _is_blocks(content):
        return Content(text=as_text(content))
    texts: list[str] = []
    calls: list[RawCall] = []
    results: list[RawResult] = []
    for block in content:
        kind = _block_type(block)
        if kind in CALL_BLOCKS:
            calls.append(read_call(block))
        elif kind in RESULT_BLOCKS:
            results.append(_read_result(block))
        else:
            texts.append(_block_text(block, kind))
    return Content("\n".join(t for t in texts if t), tuple(calls), tuple(results))


def read_call(call: Mapping[str, Any]) -> RawCall:
    """Read a tool call in the form of OpenAI, Anthropic, LangChain or LlamaIndex."""
    inner = as_mapping(call.get("function") or call.get("custom")) or call
    name = inner.get("name") or inner.get("tool_name") or call.get("name")
    keys = ("arguments", "args", "input", "kwargs", "tool_kwargs")
    value = next((inner[key] for key in keys if inner.get(key) is not None), None)
    if isinstance(value, str) and inner is call.get("custom"):
        value = {"input": value}
    given = call.get("id") or call.get("tool_id") or call.get("tool_call_id") or call.get("call_id")
    return RawCall(as_text(given), as_text(name), read_arguments(value))


def _read_result(block: Mapping[str, Any]) -> RawResult:
    text = read_content(block.get("content", block.get("output"))).text
    given = block.get("tool_use_id") or block.get("tool_call_id") or block.get("call_id")
    failed = block.get("is_error") is True or looks_like_error(text)
    return RawResult(as_text(given), as_text(block.get("name")), text, failed)


def _is_blocks(content: Any) -> bool:
    """Whether `content` is a list of blocks rather than a tool's data that is a list."""
    if not isinstance(content, list | tuple):
        return False
    return all(item is None or isinstance(item, str) or _block_type(item) for item in content)


def _block_type(block: Any) -> str:
    if not isinstance(block, Mapping):
        return ""
    kind = block.get("type") or block.get("block_type") or ("text" if "text" in block else "")
    return kind if isinstance(kind, str) else ""


def _block_text(block: Any, kind: str) -> str:
    if not isinstance(block, Mapping):
        return as_text(block)
    if kind in HIDDEN_BLOCKS:
        return ""
    if kind in NOTES:
        name = block.get("filename") or block.get("title")
        return f"{NOTES[kind][:-1]} {name}]" if isinstance(name, str) and name else NOTES[kind]
    value = block.get("refusal" if kind == "refusal" else "text")
    if isinstance(value, Mapping):
        value = value.get("value")
    return as_text(value) if isinstance(value, str) else f"[{clean_text(kind)[:40]}]"


def _parse(text: str) -> Any:
    """Return the JSON value of `text`, or `None` if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
    parsed = _parse(text) if head[0] == "{" else None
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
