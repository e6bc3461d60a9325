"""The words by which `injection` tells instructions, in English and Chinese."""

from __future__ import annotations

import re

__all__ = [
    "ADVICE",
    "CHINESE_COMMAND",
    "COMMANDS",
    "DANGEROUS",
    "LEAD",
    "NO_VERBS",
    "OBJECTS",
    "OPENING_CLAUSE",
    "OVERRIDE",
    "READERS_WORK",
    "REQUEST",
    "SENDS_AWAY",
    "SHOULD_CHANGE",
    "VERB_NOT_FOLLOWED_BY",
]

OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,40}"
    r"\b(?:instructions?|prompts?|rules|guidelines|policies|guardrails|restrictions|constraints)\b"
    r"|\bsystem prompt\b|\bjailbreak|\bdeveloper mode\b|\bDAN mode\b|\byou are now\b"
    r"|\b(?:pretend|act|roleplay|role-play) (?:to be|as|that you)\b|\bnew instructions?\s*:"
    r"|\b(?:reveal|print|leak|exfiltrate)\b[^.!?\n]{0,40}\b(?:prompt|secret|password|keys?|tokens?"
    r"|credentials?)\b"
    r"|(?:忽略|无视|忘记|忘掉|绕过)[^。！？\n]{0,20}(?:指令|提示|规则|限制|要求|设定)"
    r"|系统提示词?|越狱|开发者模式|你现在是|(?:扮演|假装)",
    re.IGNORECASE,
)
"""Tries to change whom the agent obeys."""

SENDS_AWAY = re.compile(
    r"\b(?:always|every time|from now on|whenever|each time)\b.{0,80}"
    r"\b(?:send|forward|post|upload|e-?mail|transmit|copy|cc|bcc|curl|transfer|wire)\b.{0,80}"
    r"(?:@|https?:|\b(?:data|passwords?|credentials?|secrets?|keys?|tokens?|files?|money"
    r"|payments?|history|conversation|database)\b)"
    r"|(?:总是|永远|每次|以后|今后|从现在起).{0,40}(?:发送|发给|发到|转发|上传|传到|转账)",
    re.IGNORECASE | re.DOTALL,
)
"""Wants things sent somewhere from now on."""

READERS_WORK = re.compile(
    r"\b(?:your|the (?:next|final))(?: \w+)?(?: \w+)? (?:answers?|repl(?:y|ies)|responses?"
    r"|outputs?|messages?|texts?|writing|summar(?:y|ies)|explanations?|elucidations?|code(?:base)?"
    r"|implementations?|solutions?|algorithms?|programs?|scripts?|logic|analys[ie]s|translations?"
    r"|conclusions?|completions?|memor(?:y|ies)|instructions?|context)\b"
    r"|\byour(?: \w+)?(?: \w+)? codes?\b|\b(?:reply|respond|answer) (?:in|with|only|using|as)\b"
    r"|你的?(?:回答|回复|答复|输出|答案|代码|总结)|(?:回答|回复)(?:里|中|时|末尾|开头)",
    re.IGNORECASE,
)
"""What an agent writes, spoken of as the reader's."""

SHOULD_CHANGE = re.compile(
    r"\b(?:can|could|may|might|should|must|shall|ought to|needs? to|has to|have to)\b"
    r"(?! ?n[o']t|not\b)|\b(?:following|below|subsequent|above)\b|应该|应当|必须|需要|可以|要",
    re.IGNORECASE,
)
"""Says that it is to be otherwise."""

REQUEST = re.compile(
    r"^\W*(?:please |kindly |and |so )?(?:what|who|whom|whose|when|where|why|which|how"
    r"|(?:can|could|would|will) (?:you|i|we|anyone|someone))\b.*(?:\?|[:：]\s*$)"
    r"|(?:什么|怎么|如何|为什么|哪|谁|能否|可否|能不能|可以.{0,20}吗).{0,100}[?？]",
    re.IGNORECASE | re.DOTALL,
)
"""Asks the reader for something."""

LEAD = re.compile(
    r"^(?:\W+|(?:please|kindly|just|now|then|also|next|first|second|finally|lastly|always|never"
    r"|instead|important|attention|note|reminder|urgent|todo|warning|system|assistant|ai|agent"
    r"|hey|ok|okay|so|and|but|do not|don't|do|dont|be sure to|make sure to|remember to"
    r"|remember|try to|take (?:a moment|care|time) to|(?:don't )?(?:forget|hesitate) to"
    r"|feel free to|keep in mind to|i (?:want|need|would like|'d like) you to"
    r"|you (?:must|should|shall|may|can|need to|have to|are to|will)(?: now| also| always)?"
    r"|we (?:want|need|ask|expect|recommend|advise) you to|it is (?:\w+ )?(?:that you|to)"
    r"|(?!(?:only|early|july|family|reply|apply|supply|rely|fly|multiply|italy|daily|weekly"
    r"|monthly|yearly|assembly)\b)[a-z]+ly)\b)+",
    re.IGNORECASE,
)
"""What may stand before an imperative."""

OPENING_CLAUSE = re.compile(
    r"^\W*(?:in|to|for|if|when|whenever|before|after|at|on|once|while|as|with|from)\b"
    r"[^,.:;]{2,120},\s*(?:then )?",
    re.IGNORECASE,
)
"""A clause with a comma before an imperative."""

COMMANDS = frozenset(
    (
        "act add adapt adjust analyze analyse announce answer append apply append ask attach "
        "augment begin blend break bring build bypass calculate call cancel cc change check choose "
        "cite claim classify click compare compile compose compute confirm consider contact "
        "convert copy create decode define delete deliver demonstrate deploy describe design "
        "determine develop disable discuss display do download draft draw edit embed emphasize "
        "employ enable encode encourage encrypt end enhance enlist ensure enter evaluate execute "
        "expand explain express extract fetch fill find finish fix follow forget format forward "
        "generate get give go group guide help hide highlight identify ignore illustrate implement "
        "improve include incorporate infuse inject insert install integrate introduce invent "
        "invite invoke join keep kill launch leave let leverage link list locate log look make "
        "memorize mention merge modify move name notify offer omit open optimize organize output "
        "outline override paraphrase pass paste pay pick place play post predict prefix prepare "
        "present pretend print proceed produce promote prove provide publish purchase put quote "
        "randomize read rearrange recommend redirect refer reformulate register reject remember "
        "remind remove rename render reorder repeat rephrase replace reply report request reset "
        "resolve respond retrieve return reveal reverse review revise rewrite run save say "
        "schedule scramble search select send set share shift show shuffle sign simplify skip "
        "solve sort speak spell split start state stop store submit subscribe substitute suggest "
        "summarize summarise supplement swap switch take talk teach tell test think transcribe "
        "transfer transform translate treat try turn type undo uninstall update upgrade upload "
        "use utilize utilise validate verify view visit wait warn watch wire write"
    ).split()
)
"""Verbs that a sentence in the imperative begins with."""

VERB_NOT_FOLLOWED_BY = frozenset(
    (
        "is are was were has had have will would can could may of failed fails error errors "
        "exceeded not denied found did does been being id number date time successful complete "
        "completed received sent due"
    ).split()
)
"""Words after which such a verb was a noun: `request failed`."""

OBJECTS = frozenset(
    (
        "the a an your their my our its his her every each any all some this that these those me "
        "us it them him users what how why whether"
    ).split()
)
"""Words after which an unknown first word was a verb."""

NO_VERBS = re.compile(
    r"the|a|an|this|that|these|those|it|its|he|she|they|we|you|i|my|your|our|their|his|her|there"
    r"|here|and|or|but|if|when|while|where|what|who|how|why|which|whether|because|since|though"
    r"|although|unless|until|after|before|once|as|at|by|for|from|in|into|of|on|onto|over|per|than"
    r"|through|to|under|up|upon|with|within|without|about|above|across|against|along|among|around"
    r"|behind|below|beneath|beside|besides|between|beyond|despite|down|during|except|inside|like"
    r"|near|off|out|outside|past|toward|towards|via|both|either|neither|not|no|nor|none|all|any"
    r"|some|most|many|much|more|half|such|each|every|even|only|also|still|yet|perhaps|maybe|today"
    r"|tomorrow|yesterday|tonight|now|then|thus|hence|so|is|are|was|were|be|been|has|have|had|do"
    r"|does|did|can|could|will|would|shall|should|may|might|must|let's|that's|it's|what's|just"
    r"|thank|thanks|whatever|whoever|whichever|made|said|told|gave|got|saw|knew|found|took|went"
    r"|\w*(?:ing|ed|tion|ment|ness|ity|ous|ful|able|ible|er|or|est|ism|ist|[^s]s|ly)|.{1,2}"
)
"""First words that are no verb in the imperative."""

CHINESE_COMMAND = re.compile(
    r"^\W*(?:请|务必|必须|不要|别|切勿|记住|记得|立即|马上|总是|永远|始终|现在|帮我|给我|麻烦|把"
    r"|将)?(?:你)?(?:翻译|解释|写|提供|列出|总结|概括|描述|分析|推荐|告诉|回答|回复|添加|加入|插入"
    r"|包含|提到|替换|修改|删除|执行|运行|下载|点击|访问|发送|转发|打开|安装|忽略|输出|使用|说明"
    r"|计算|生成|创建)|^\W*(?:请|务必|切勿|必须|千万)",
)
"""An imperative in Chinese."""

ADVICE = re.compile(
    r"`[^`]+`|(?<!\w)--?[a-z][\w-]+|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\(?|\b\w+\(\)|<[\w-]+>"
    r"|\b[\w/-]{1,80}\.(?:py|js|ts|json|ya?ml|toml|cfg|ini|txt|csv|md|sh|sql|xml|html|log)\b"
    r"|(?i:\b(?:in)?valid\b|\b(?:format|parameters?|arguments?|fields?|values?|syntax|quoting"
    r"|permissions?|options?|flags?|columns?|index|indices|schema|encoding|path"
    r"|filename|keyword|identifier|ids?|integer|boolean|time-?out|retry|again|later|required"
    r"|missing|instead|version|dependency|module|package|limit|endpoint|header|method|query"
    r"|queries|indentation|tools?)\b)"
    r"|参数|格式|字段|类型|权限|重试|稍后|路径|文件名|编码|语法|日期",
)
"""Speaks of calls, values and files."""

DANGEROUS = re.compile(
    r"https?:|\bwww\.|@[\w-]{1,63}\.|\b[\w-]{1,63}\.(?:com|net|org|io|xyz|ru|cn|info|biz|top|site|online)\b"
    r"|\b(?:curl|wget|sudo|eval|exec|base64|chmod|nc|ssh|scp|rsync|powershell|invoke-expression)\b"
    r"|\brm -\w*[rf]|\b(?:passwords?|credentials?|secrets?|api[ _-]?keys?|private keys?|bank"
    r"|wallet|payment|transfer|upload|forward|e-?mail|newsletter|download|subscribe|users?)\b"
    r"|密码|密钥|凭据|转账|上传|下载|转发",
    re.IGNORECASE,
)
"""Fetches, sends or runs something, or speaks of secrets, money or other people."""
