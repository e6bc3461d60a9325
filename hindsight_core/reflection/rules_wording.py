"""The sentences of the rule reflector, in English and Chinese.

Values come ready for a sentence: plain, short and on one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindsight_core.language import Language
from hindsight_core.trajectory import OutcomeLabel, OutcomeSource

__all__ = ["WORDING", "Wording", "quoted", "wording_of"]


class Wording:
    """The sentences of one language.

    Args:
        templates: Sentence by name, with `str.format` fields.
        endings: How a run ended, by outcome.
        judges: Who says so, by source of the outcome.
        quotes: Opening and closing quotation mark.
        comma: What joins items of a list.
        last: What joins the last two.
    """

    def __init__(
        self,
        *,
        templates: Mapping[str, str],
        endings: Mapping[OutcomeLabel, str],
        judges: Mapping[OutcomeSource, str],
        quotes: tuple[str, str],
        comma: str,
        last: str,
    ) -> None:
        self._templates = templates
        self._endings = endings
        self._judges = judges
        self._quotes = quotes
        self._comma = comma
        self._last = last

    def say(self, name: str, /, **values: object) -> str:
        """Return the sentence `name` with its values filled in."""
        return self._templates[name].format(**values)

    def ending(self, label: OutcomeLabel, source: OutcomeSource) -> str:
        """Return how a run ended and who says so."""
        judge = "" if label == "unknown" else self._judges[source]
        return self._endings[label] + judge

    def quote(self, text: str) -> str:
        """Return `text` in this language's quotation marks."""
        return quoted(text, self._quotes)

    def listed(self, items: Sequence[str]) -> str:
        """Return `items` as a list in a sentence."""
        if len(items) < 2:
            return "".join(items)
        return self._comma.join(items[:-1]) + self._last + items[-1]


def quoted(text: str, quotes: tuple[str, str]) -> str:
    """Return `text` in quotation marks, those inside it made single."""
    return quotes[0] + text.replace('"', "'") + quotes[1]


_EN = Wording(
    templates={
        "task": "The task was: {task}",
        "no_task": "A run without a stated task.",
        "tools": " The agent used {tools}; {ending}",
        "no_tools": " The agent answered without tools; {ending}",
        "reason": " ({reason})",
        "last_error": " The last error was {error} from {tool}.",
        "run_error": " It stopped on {error}.",
        "answer": " Its answer was: {answer}",
        "times": "{tool} {count} times",
        "more": "{count} more calls",
        "set": "use {name}={new} instead of {old}",
        "add": "add {name}={new}",
        "add_only": "give {name}",
        "another": "use another {kind} as {name}",
        "add_keys": "give {name} with {keys}",
        "change_keys": "change {keys} in {name}",
        "remove": "leave out {name}",
        "change": "change {name}",
        "mended": "When {tool} fails with {error}, {changes}; that made it work.",
        "got_past": "When {tool} fails with {error}, {changes}; that got past this error.",
        "mended_when": "{tool} fails with {error}",
        "prepared": "When {tool} fails with {error}, call {fix} first; the same call then worked.",
        "unstable": (
            "{tool} is unstable: the same call failed {count} with {error} and then worked "
            "unchanged. Try it again before changing anything."
        ),
        "once": "once",
        "count": "{count} times",
        "loop": (
            "Calling {tool} {count} times with the same arguments ({arguments}) gave the same "
            "result each time; change the arguments or the approach instead."
        ),
        "loop_error": (
            "Calling {tool} {count} times with the same arguments ({arguments}) failed each time "
            "with {error}; change the arguments or the approach instead."
        ),
        "loop_when": "{tool} gave nothing new",
        "open": "{tool} failed with {error} and the run found no way around it; not solved yet.",
        "open_times": (
            "{tool} failed {count} times, last with {error}, and the run found no way around it; "
            "not solved yet."
        ),
        "no_arguments": "none",
        "rejected": "The user rejected the answer {claim}: {words}",
        "corrected": "The user corrected the agent: {words}",
        "then": " The agent then answered: {answer}",
        "said": "The user said: {words}",
        "asked": "The user asks: {words}",
    },
    endings={
        "success": "the run succeeded",
        "failure": "the run failed",
        "partial": "the run succeeded in part",
        "incomplete": "the run did not finish",
        "abandoned": "the run was abandoned before its end",
        "unknown": "nobody judged the result",
    },
    judges={
        "validator": ", as a validator found",
        "user": ", as the user said",
        "exception": " with an exception",
        "llm_judge": ", as a judging model found",
        "rule": "",
    },
    quotes=('"', '"'),
    comma=", ",
    last=" and ",
)

_ZH = Wording(
    templates={
        "task": "任务：{task}",
        "no_task": "没有说明任务的一次运行。",
        "tools": "智能体依次使用了 {tools}，{ending}",
        "no_tools": "智能体没有使用工具，直接作答，{ending}",
        "reason": "，原因：{reason}",
        "last_error": "最后的错误是 {tool} 报的{error}。",
        "run_error": "运行因{error}而中断。",
        "answer": "回答是：{answer}",
        "times": "{tool}（{count} 次）",
        "more": "另外 {count} 次调用",
        "set": "把 {name} 设为 {new}，不要用 {old}",
        "add": "加上 {name}={new}",
        "add_only": "提供 {name}",
        "another": "把 {name} 换成另一个 {kind}",
        "add_keys": "提供带有 {keys} 的 {name}",
        "change_keys": "修改 {name} 里的 {keys}",
        "remove": "去掉 {name}",
        "change": "修改 {name}",
        "mended": "当 {tool} 报错{error}时，{changes}；这样就成功了。",
        "got_past": "当 {tool} 报错{error}时，{changes}；这样就不再报这个错。",
        "mended_when": "{tool} 报错{error}",
        "prepared": "当 {tool} 报错{error}时，先调用 {fix}，之后同样的调用就成功了。",
        "unstable": (
            "{tool} 不稳定：同样的调用失败{count}（{error}），原样重试后成功。先重试，再考虑改动。"
        ),
        "once": "一次",
        "count": "{count} 次",
        "loop": (
            "用相同参数（{arguments}）连续调用 {tool} {count} 次，结果每次都一样；"
            "应改变参数或换一种做法。"
        ),
        "loop_error": (
            "用相同参数（{arguments}）连续调用 {tool} {count} 次，每次都报错{error}；"
            "应改变参数或换一种做法。"
        ),
        "loop_when": "{tool} 没有给出新结果",
        "open": "{tool} 报错{error}，这次运行没有找到解决办法，尚未解决。",
        "open_times": (
            "{tool} 失败 {count} 次，最后报错{error}，这次运行没有找到解决办法，尚未解决。"
        ),
        "no_arguments": "无",
        "rejected": "用户否定了回答{claim}：{words}",
        "corrected": "用户纠正了智能体：{words}",
        "then": "智能体随后回答：{answer}",
        "said": "用户说：{words}",
        "asked": "用户要求：{words}",
    },
    endings={
        "success": "最终成功",
        "failure": "最终失败",
        "partial": "部分成功",
        "incomplete": "没有完成",
        "abandoned": "中途被放弃",
        "unknown": "结束时没有人判定结果",
    },
    judges={
        "validator": "（由验证程序判定）",
        "user": "（用户这样说）",
        "exception": "（出现异常）",
        "llm_judge": "（由评判模型判定）",
        "rule": "",
    },
    quotes=("“", "”"),
    comma="、",
    last="和",
)

WORDING: Mapping[Language, Wording] = {"en": _EN, "zh": _ZH}
"""The wording of each language."""


def wording_of(language: Language) -> Wording:
    """Return the wording of `language`."""
    return WORDING[language]
