"""The type of a task, chosen from the declared list by the words of the task and its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["task_type_of"]

_WORDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "coding": (
            r"\b(?:bugs?|code|coding|refactor\w*|compil\w+|unit tests?|pytest|repositor\w+|repo"
            r"|pull request|commit|stack ?trace|traceback|functions?|class method|implement\w*"
            r"|debug\w*|python|javascript|typescript|rust|golang|java)\b"
            r"|\.(?:py|js|ts|rs|go|java|cpp)\b|代码|函数|编译|重构|单元测试|程序|脚本|仓库|调试"
        ),
        "data_analysis": (
            r"\b(?:csv|xlsx?|parquet|dataset|data ?frame|pandas|sql|statistics?|average|median"
            r"|correlat\w+|regression|charts?|plots?|histogram|pivot|aggregate|sales figures)\b"
            r"|数据集|数据分析|统计|图表|平均|报表|分析.{0,6}数据|表格"
        ),
        "information_retrieval": (
            r"\b(?:find out|look up|search (?:for|the)|who (?:is|was|are|were|wrote|won)"
            r"|which (?:of|\w+ (?:is|was|has|did))|when (?:was|did|were)|where (?:is|was|did)"
            r"|what (?:year|is the (?:name|capital)|nationality)|in what|in which|research)\b"
            r"|查一下|查询|搜索|检索|查找|是谁|哪一?年|哪里|资料"
        ),
        "writing": (
            r"\b(?:write (?:an?|the|me) (?:\w+ ){0,2}(?:e-?mail|essay|article|letter|poem|story"
            r"|report|post|blog|summary|speech)|draft|rewrite|proofread\w*|paraphrase|translat\w+"
            r"|summari[sz]e|summari[sz]ing|essay|blog post|recipe)\b"
            r"|写一[篇封首份个]|翻译|润色|改写|总结|摘要|作文|起草"
        ),
        "planning": (
            r"\b(?:plan (?:a|an|the|my|our|for)|itinerary|road ?map|schedule (?:a|an|the|my)"
            r"|agenda|time ?line|to-?do list|travel plan|milestones?)\b"
            r"|计划|行程|日程|规划|安排|路线图"
        ),
        "customer_support": (
            r"\b(?:refunds?|my (?:order|booking|reservation|subscription|account|flight|ticket)s?"
            r"|reservations?|cancel (?:my|the|a)|cancellation|compensation|complain\w*|invoices?"
            r"|book (?:a|the|me|my)|delayed flight|baggage|exchange my|return my|warranty"
            r"|(?:flights?|rooms?|tickets?) (?:to|from|on|for))\b"
            r"|退款|订单|退货|换货|投诉|客服|改签|退票|发票|航班|预订|机票"
        ),
        "operations": (
            r"\b(?:deploy\w*|servers?|restart\w*|kubernetes|k8s|docker|back-?ups?|outage|incident"
            r"|cluster|nginx|systemd|monitoring|disk space|rollback|pipeline|ci/cd|ssh|database"
            r" migration)\b"
            r"|部署|服务器|重启|运维|备份|上线|回滚|集群|磁盘|告警|日志"
        ),
        "web_navigation": (
            r"\b(?:web ?sites?|web ?pages?|browser|click\w*|log ?in to|log into|navigate to|url"
            r"|home ?page|add to (?:the |my )?cart|fill (?:in|out) the form|shopping cart)\b"
            r"|网页|网站|浏览器|点击|登录|购物车|页面"
        ),
        "conversation": (
            r"\b(?:let's (?:chat|talk)|tell me (?:a joke|about yourself)|how are you)\b"
            r"|聊聊|聊天|讲个笑话|你好吗"
        ),
    }.items()
}
_TOOLS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "coding": r"str_replace|edit|pytest|compile|run_tests|lint|(?:^|_)git(?:_|$)|find_file",
        "data_analysis": r"csv|sql|dataframe|plot|chart",
        "information_retrieval": r"^search$|lookup|retriev|wikipedia|web_?search",
        "writing": r"translate|proofread",
        "customer_support": r"reservation|refund|order|booking|user_details|flight",
        "operations": r"deploy|restart|kubectl|docker|backup",
        "web_navigation": r"click|browse|goto|navigate|scroll",
    }.items()
}
TOOL_WEIGHT = 2
"""What a tool's name counts against one word of the task."""

MOST_WORDS = 3
"""Words of one kind that count, so that a long task is not decided by one repeated word."""


def task_type_of(task: str, tools: Sequence[str], declared: Sequence[str], given: str = "") -> str:
    """Return a declared task type for a run.

    Args:
        task: What was asked.
        tools: Names of the tools that were used.
        declared: The declared task types; the first takes whatever does not fit.
        given: What the caller says it is; kept if it is declared.
    """
    wanted = given.strip().lower().replace("-", "_").replace(" ", "_")
    if wanted in declared:
        return wanted
    if given in declared:
        return given
    best, most = declared[0], 0
    for name in declared[1:]:
        score = _score(name, task[:2_000], tools)
        if score > most:
            best, most = name, score
    return best


def _score(name: str, task: str, tools: Sequence[str]) -> int:
    words = _WORDS.get(name)
    if words is None:
        words = re.compile(re.escape(name.replace("_", " ")), re.IGNORECASE)
    named = {found.lower() for found in words.findall(task)}
    pattern = _TOOLS.get(name)
    tool = pattern is not None and any(pattern.search(tool) for tool in tools[:50])
    return min(len(named), MOST_WORDS) + TOOL_WEIGHT * tool
