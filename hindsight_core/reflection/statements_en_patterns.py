"""How English speakers say what lasts: the patterns behind `statements_en`.

Every pattern is anchored at the start of a clause, so that questions, suppositions, negations
and what others said don't match. A wish for this once ("I'd like the window seat") is no
preference; lasting ones say so (always, never, prefer, love, from now on).
"""

from __future__ import annotations

import re

__all__ = [
    "APPROVES",
    "ASKS_STANDING",
    "BOUNDARY",
    "ELIDED",
    "ELIDED_NOW",
    "FACTS",
    "FAN",
    "FILLER",
    "FORBIDS",
    "HABIT",
    "HABIT_AGAIN",
    "LIKES_WHEN",
    "NEW_HABIT",
    "NOWADAYS",
    "NO_MORE",
    "ONCE",
    "PLAN",
    "REMEMBER_TO",
    "RIGHT",
    "SHOULD",
    "STANDING",
    "TASTE",
    "UNSURE",
    "WHILE",
    "WRONG",
]

_I = re.IGNORECASE
FILLER = re.compile(
    r"^(?:(?:(?:please )?(?:note|remember|keep in mind)(?: that\b|(?=\s*[:,]))|oh|well|so|also"
    r"|and|but|hi|hello|hey|hmm|ok(?:ay)?|sure|yes|yeah|no|thanks|thank you"
    r"|great|please|actually|i(?:'ve| have)? changed my mind|by the way|btw|fyi"
    r"|just so you know|for the record|as i said"
    r"|for (?:future )?reference|in general|generally|personally|honestly|to be honest"
    r"|(?:my )?preferences?|about me|reminder|unfortunately|as you know)\b[\s,:!.–-]*)+",
    _I,
)
_STARTER = (
    r"(?:i|i'm|i am|i've|i'll|we|my|please|always|never|from now on|don't|do not|hate|hates|love"
    r"|prefer|dislike|can't stand|don't like|so|because|since|but|as|though|although|unless|when"
    r"|can you|could you|would you|do you|is|are|what|how|which|thanks|thank you|ok|okay|right)\b"
)
BOUNDARY = re.compile(
    rf"\s*[,;–—]+\s+(?:and\s+|but\s+|so\s+)?(?={_STARTER})"
    r"|\s+(?:and|but)\s+(?=(?:i|i'm|i've|my|we|please|hate|love|prefer|dislike|can't stand|don't"
    r" like"
    r"|always|never|live in|work (?:at|for|in|as))\b)"
    r"|\s*,?\s+(?:and|but)\s+(?=now (?:prefer|like|love|hate|use|eat|drink|live|work)\b)"
    r"|\s+(?=(?:because|since|so that|although|though|unless)\b)"
    r"|\s+(?=so (?:please|can|could|i|don't|we)\b)",
    _I,
)
UNSURE = re.compile(
    r"^(?:if|suppose|supposing|imagine|assume|assuming|let's say|say|pretend|hypothetically|what if"
    r"|in case|unless|would|should|could|do|does|did|is|are|am|was|were|can|will|when i was"
    r"|maybe|perhaps|i think|i guess|i believe|i thought|i wonder|let me)\b",
    _I,
)
WHILE = re.compile(r"^(?:until|till|for the next|this|next|today|tomorrow)\b[^,]{0,30}$", _I)
NOWADAYS = re.compile(r"^(?:now|nowadays|these days|lately|as of (?:now|today))$", _I)
ASKS_STANDING = re.compile(
    r"^(?:can|could|would|will) you (?:please )?(?=(?:always|never|from now on)\b)", _I
)
ONCE = re.compile(
    r"\b(?:this|that(?! (?:are|is|have|has|don't|do not)\b)|these|those|it|them|instead|today|now"
    r"|here|options?|one|yours?|you"
    r"|the (?:first|second|third|last|other|same|cheapest|earliest|latest|new|above|following"
    r"|flight|reservation|booking|order|refund|payment)|if possible)\b(?! (?:you|when)\b)",
    _I,
)
_MANNER = (
    r"(?:really |strongly |much |generally |usually |always |typically |personally |also |still "
    r"|absolutely |no longer )*"
)
TASTE = re.compile(
    rf"^i {_MANNER}(?:prefer|love|like|enjoy|hate|dislike|loathe|adore|detest|can't stand"
    r"|cannot stand|can not stand|don't (?:really )?like|do not like|don't enjoy|don't care for)\s+"
    r"(?P<object>.{2,200})$",
    _I,
)
LIKES_WHEN = re.compile(
    rf"^i {_MANNER}(?:like|love|hate|prefer|dislike|don't like) it when .{{3,}}$", _I
)
ELIDED = re.compile(
    r"^(?:hates?|loves?|prefers?|dislikes?|can't stand|don't like)\s+(?P<object>.{2,200})$", _I
)
ELIDED_NOW = re.compile(r"^now (?:prefer|like|love|hate|use|eat|drink|live|work)\b", _I)
FAN = re.compile(
    r"^i(?:'m| am) (?:not )?(?:a (?:big |huge )?fan of|fond of|keen on) (?P<object>.{2,})$", _I
)
HABIT = re.compile(
    r"^(?:i|we) (?:(?:almost |nearly )?(?:always|never)|usually|typically|normally|generally|rarely"
    r"|mostly|tend to|only ever) (?:use|eat|drink|fly|sit|order|book|take|choose|write"
    r"|work"
    r"|read|go|travel|stay|prefer|like|pay|buy|run|deploy|test|wear|cook|watch|listen|play|pick"
    r"|store"
    r"|name|format|commit|push|merge|review|sign|spell|get up|wake|sleep|answer"
    r"|speak"
    r"|code|indent|schedule|train|shop|drive|walk|type|document)\b"
    r".{1,200}$",
    _I,
)
_LASTING = r"(?:eat|drink|use|wear|smoke|drive|work with|cook with|code in|program in|write in)"
_WHAT = r"(?!(?:the|to|breakfast|lunch|dinner)\b).{2,120}"
NEW_HABIT = re.compile(
    rf"^(?:i|we) (?:only |mostly |also )?(?:(?:don't|do not|no longer) )?{_LASTING} {_WHAT}$", _I
)
"""A habit that the word "now" makes one."""
HABIT_AGAIN = re.compile(
    rf"^(?:i|we) (?:no longer {_LASTING} {_WHAT}|(?:don't |do not ){_LASTING} {_WHAT} any ?more"
    rf"|{_LASTING} {_WHAT} again)$",
    _I,
)
"""A habit that began or ended, by its own words."""
APPROVES = re.compile(
    r"^i (?:\w+ )?(?:(?:like|love|enjoy|hate|dislike) the\b|prefer (?:to|the)\b)", _I
)
"""Approves of what the agent has done, if it is so only now."""
FORBIDS = re.compile(r"^do not\b", _I)
STANDING = re.compile(
    r"^(?:(?:until|till|for the next|this|next|today|tomorrow)\b[^,]{0,30}, )?"
    r"(?:i (?:want|need|would like|'d like|expect) you to |you (?:should|must|need to|can) )?"
    r"(?:please )?(?:(?:always|never) (?!mind|heard|been|had|seen|again|knew|thought|got|ever\b"
    r"|happened|received|worked|said|did|was|were|the\b|a\b|in\b|know)[a-z]+(?:\s.{2,250})"
    r"|(?:from now on|going forward|from here on|henceforth|in (?:the )?future|every time"
    r"|next time|for all future \w+)\b[\s,:]*.{5,250})$",
    _I,
)
NO_MORE = re.compile(
    r"^(?:please )?(?:(?:don't|do not|never|stop|quit) .{3,200}?\b(?:again|any ?more|ever|in"
    r" (?:the )?"
    r"future|from now on)|stop [a-z]+ing\b.{2,200})$",
    _I,
)
REMEMBER_TO = re.compile(
    r"^(?:please )?(?:remember|don't forget|make sure) to always .{4,200}$", _I
)
FACTS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (
            (
                r"^(?:[Mm]y (?:full |first |last )?name is|[Cc]all me|I go by|I'm called) "
                r"[A-Z\u00c0-\u024f][\w'.-]+(?: [A-Z\u00c0-\u024f][\w'.-]+){0,3}$"
            ),
            0,
        ),
        (
            (
                r"^(?:I'm|I am) (?!Sorry|Sure|Afraid|Happy|Not|Going)[A-Z][a-z'-]+"
                r"(?:(?: [A-Z][a-z'-]+){1,2}|(?: [A-Z][a-z'-]+)?, an? .{3,160})$"
            ),
            0,
        ),
        (
            (
                r"^i (?:currently |now |also |no longer )?work (?:at|for|in|as|with|remotely"
                r"|from home)\b"
                r"(?! (?:this|that|it|the same)).{2,120}$"
            ),
            _I,
        ),
        (
            (
                r"^i (?:currently |now |also |no longer )?(?:live|reside)"
                r" (?:in|at|near|with|on)\b.{2,80}$"
            ),
            _I,
        ),
        (r"^i(?:'m| am) (?:currently |originally )?(?:based|located) (?:in|at|near)\b.{2,80}$", _I),
        (r"^i(?:'m| am| come) (?:originally )?from [A-Z].{1,60}$", _I),
        (r"^i (?:just |recently )?moved (?:to|from) [A-Za-z].{1,80}$", _I),
        (
            (
                r"^i(?:'m| am) (?:currently |also )?(?:a|an) (?!bit\b|little\b|few\b|lot\b|couple\b"
                r"|big fan"
                r"|huge fan|fan\b|customer\b|user\b)[\w'-]{3,}(?: [\w'/&-]+){0,10}$"
            ),
            _I,
        ),
        (
            (
                r"^i(?:'m| am) (?:allergic to .{2,80}|(?:a )?(?:strict )?(?:vegetarian|vegan"
                r"|lactose intolerant"
                r"|gluten intolerant|diabetic|colou?r ?blind|left-handed|right-handed|dyslexic"
                r"|retired|deaf"
                r"|hard of hearing|blind|pregnant|married|single|divorced)(?: .{2,60})?)$"
            ),
            _I,
        ),
        (
            (
                r"^i(?:'m| am) (?:no longer (?:an? )?|not (?:an? )?(?=.{3,40} any ?more$))"
                r"(?:vegetarian|vegan|diabetic|retired|pregnant|married|single|student)\b.{0,20}$"
            ),
            _I,
        ),
        (r"^i(?:'m| am) \d{1,3} years old$", _I),
        (
            (
                r"^i have (?:an? |one |two |three |four |\d+ )(?:\w+ ){0,3}(?:kids?|child(?:ren)?"
                r"|sons?|daughters?|dogs?|cats?|wife|husband|brothers?|sisters?|degree|allergy|intolerance"
                r"|dietary restrictions?)\b.{0,80}$"
            ),
            _I,
        ),
        (r"^i (?:only |also )?speak (?!to\b|with\b|for\b)[A-Z][a-z]+.{0,60}$", _I),
        (r"^i(?:'m| am) (?:studying|majoring in|learning) [\w' -]{3,80}$", _I),
        (
            (
                r"^my (?:birthday|job|occupation|profession|job title|company|employer|team"
                r"|department|boss"
                r"|manager|time ?zone|native language|first language|mother tongue|home ?town|home"
                r" airport"
                r"|nickname|preferred [\w ]{3,30}|default [\w ]{3,30}|favou?rite [\w ]{3,30}"
                r"|operating system"
                r"|tech stack|stack|editor|diet) (?:is|are) (?!not\b|wrong|in\b|on it|what|also\b"
                r"|the same).{1,100}$"
            ),
            _I,
        ),
        (r"^my pronouns are .{2,30}$", _I),
        (
            (
                r"^my (?:wife|husband|partner|son|daughter|mother|father|mom|dad|brother|sister|dog"
                r"|cat|boss"
                r"|manager|colleague)(?:'s name is| is (?:called|named)) .{2,60}$"
            ),
            _I,
        ),
        (
            (
                r"^(?:our|we use|we run|we work with|our (?:team|company|repo|project)"
                r" (?:uses|runs)) .{3,120}"
                r" (?:in production|for (?:all|everything|every)\b.{0,60})$"
            ),
            _I,
        ),
    )
)
PLAN = re.compile(
    r"^(?i:i'm|i am|we're|we are|i'll be|i will be|i have to be) (?:currently )?(?:going (?:to"
    r" (?:the )?[A-Z]"
    r"|on (?:vacation|holiday|leave|a trip|a business trip|parental leave))|(?:travell?ing|flying"
    r"|moving"
    r"|heading|relocating|driving) (?:to|from|through|abroad|for)\b|visiting\b|(?:on|taking)"
    r" (?:vacation"
    r"|holiday|leave|parental leave|sick leave|a (?:business )?trip|a break|call)\b|away\b|off\b"
    r"|abroad"
    r"|out of (?:the )?office|in [A-Z]|staying (?:in|at|with)\b|starting (?:a|my|at|as)\b|getting"
    r" married"
    r"|attending\b|working (?:from|in|at)\b).{0,160}$"
)
WRONG = re.compile(
    r"^(?:no[,.!]? )?(?:sorry,? )?(?:but )?(?:(?:that|this|it|your (?:last |previous )?(?:answer"
    r"|reply"
    r"|response|result|calculation|code|solution|translation|summary|number|total|output"
    r"|assumption)"
    r"|you|the (?:answer|result|total|calculation|translation|number))(?:'s| is| was|'re| are)"
    r" (?:still |just |completely |totally |simply |also )?(?:wrong|incorrect|not (?:right"
    r"|correct|true"
    r"|accurate|what i (?:asked|meant|said|want|wanted|need|was asking)\b.*)|mistaken|inaccurate"
    r"|false)"
    r"|(?:that|this|it) (?:isn't|wasn't) (?:right|correct|true|accurate|what i .*)"
    r"|you(?:'ve)? (?:misunderstood|got (?:it|that|this|the \w+) wrong|made a mistake|have it wrong"
    r"|mixed up)|(?:wrong|incorrect)(?=$|\s*[,.!:–-]))(?:\b.{0,200})?$",
    _I,
)
RIGHT = re.compile(
    r"^(?:no[,.!]? )?(?:actually,? )?(?:sorry,? )?"
    r"(?:i (?:actually )?(?:said|asked for|wanted) .{1,200}?(?:, not | instead of | rather than ).+"
    r"|i (?:actually )?meant (?!that as\b|no\b).{2,200}"
    r"|(?:it|this|that)(?:'s| is| was) .{1,120}?(?:, not |, rather than | and not ).+"
    r"|(?:it|this|that|the [\w ]{2,40}) should (?:be|have been) .{1,120}?(?:, not | instead of ).+"
    r"|(?:it|this|that)(?:'s| is) not .{1,80}, (?:but )?(?:it's|it is|rather) .+"
    r"|the (?:correct|right|actual) \w+ (?:is|was|would be|should be) .+)$",
    _I,
)
SHOULD = re.compile(
    r"^(?:no[,.!]? )?(?:actually,? )?(?:it|this|that|you|the [\w ]{2,40}) (?:should|must|ought to"
    r"|needs? to)"
    r"(?: have)? .{2,200}$",
    _I,
)
