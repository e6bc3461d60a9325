from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_core.reconcile.compare import relation
from hindsight_core.reflection.statements import statements_of
from hindsight_core.steps import Step

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)
CLOSE = 0.8
"""Cosine of two statements about the same thing."""


def contents(text: str) -> list[tuple[str, str]]:
    found = statements_of([Step("user", text)], NOW).found
    return [(statement.category, statement.content) for statement in found]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I prefer coffee now.", "The user prefers coffee now."),
        ("I now prefer coffee.", "The user prefers coffee now."),
        ("Now I prefer coffee.", "The user prefers coffee now."),
        ("These days I prefer coffee", "The user prefers coffee now."),
        ("I prefer coffee these days", "The user prefers coffee now."),
        ("I changed my mind: I prefer coffee.", "The user prefers coffee."),
        ("Actually, I prefer coffee.", "The user prefers coffee."),
        ("I no longer like coffee", "The user no longer likes coffee."),
        ("I always use tabs now", "The user always uses tabs now."),
        ("Nowadays, I drink coffee", "The user drinks coffee now."),
        ("I now use Vim", "The user uses Vim now."),
        ("We now use pnpm", 'The user said: "We use pnpm now".'),
        ("I eat meat again.", "The user eats meat again."),
        ("I no longer eat meat", "The user no longer eats meat."),
        ("I don't eat meat anymore", "The user does not eat meat anymore."),
        ("我现在更喜欢喝咖啡。", "用户喜欢喝咖啡（现在）。"),
        ("I used to prefer tea but now prefer coffee", "The user prefers coffee now."),
        ("我以前喜欢茶，现在喜欢咖啡", "用户喜欢咖啡（现在）。"),
        ("现在我更喜欢喝咖啡了", "用户喜欢喝咖啡（现在）。"),
        ("我现在用Vim", "用户用Vim（现在）。"),
        ("我不再吃肉了", "用户不再吃肉了。"),
        ("我又开始吃肉了", "用户又开始吃肉了。"),
        ("我改喝咖啡了", "用户改喝咖啡了。"),
    ],
)
def test_a_changed_taste_or_habit_is_a_preference(text: str, content: str) -> None:
    assert contents(text) == [("preference", content)]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("My new manager is Tom.", "The user's manager is Tom now."),
        ("My manager is Tom now.", "The user's manager is Tom now."),
        ("My manager is now Tom.", "The user's manager is Tom now."),
        ("I left Acme and joined Globex.", "The user works at Globex now."),
        ("I've left Acme and now work at Globex Labs", "The user works at Globex Labs now."),
        ("I started working at Globex last month", "The user works at Globex now."),
        ("I now work at Globex", "The user works at Globex now."),
        ("I no longer work at Acme", "The user no longer works at Acme."),
        ("I'm now vegan", "The user is vegan now."),
        ("I'm vegetarian now", "The user is vegetarian now."),
        ("I'm no longer vegetarian", "The user is no longer vegetarian."),
        ("I'm not a vegetarian anymore", "The user is not a vegetarian anymore."),
        ("我的新经理是Tom", "用户的经理是Tom（现在）。"),
        ("我的经理现在是Tom", "用户的经理是Tom（现在）。"),
        ("我的经理换成Tom了", "用户的经理是Tom（现在）。"),
        ("我离开了Acme，加入了Globex", "用户在Globex工作（现在）。"),
        ("我跳槽到Globex了", "用户在Globex工作（现在）。"),
        ("我现在住在上海", "用户住在上海（现在）。"),
    ],
)
def test_a_changed_fact_says_what_holds_now(text: str, content: str) -> None:
    assert contents(text) == [("fact", content)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I prefer tea.", "I prefer coffee now."),
        ("I prefer tea.", "I now prefer coffee."),
        ("I like tea.", "I like coffee now."),
        ("I like coffee.", "I no longer like coffee."),
        ("My manager is Eve.", "My new manager is Tom."),
        ("I work at Acme.", "I left Acme and joined Globex."),
        ("I am vegetarian.", "I'm no longer vegetarian."),
        ("I live in Oslo.", "I now live in Rome."),
        ("我喜欢喝茶。", "我现在更喜欢喝咖啡。"),
        ("我的经理是Eve", "我的新经理是Tom"),
        ("我在Acme工作", "我离开了Acme，加入了Globex"),
        ("我住在北京", "我现在住在上海"),
        (
            "Remember that ticket number 12 costs 30 euros",
            "Remember that ticket number 12 costs 40 euros",
        ),
        ("Remember that my locker is number 12", "Remember that my locker is number 14 now"),
    ],
)
def test_a_change_of_mind_replaces_what_was_said_before(before: str, after: str) -> None:
    ((_, old),) = contents(before)
    ((_, new),) = contents(after)
    assert relation(new, old, CLOSE) == "replaces"


@pytest.mark.parametrize(
    "text",
    [
        # of this moment
        "I prefer tea right now",
        "I prefer tea for now",
        "I like the layout now",
        "I love it now",
        "I prefer to pay by card now",
        "I eat lunch now",
        "I use the script again",
        "I run the tests again and they fail",
        "I now get the same error",
        "I want coffee now",
        "I now have three files",
        "我现在喜欢这个",
        "我现在怕来不及",
        "现在我怕来不及",
        "我现在用的是旧版本",
        "我现在想喝咖啡",
        "我又喝多了",
        "我又用Python试了一次",
        # questions and suppositions
        "Do I prefer coffee now?",
        "I prefer coffee now?",
        "Is my new manager Tom",
        "If I preferred tea now, you would know",
        "If my new manager is Tom, tell me",
        "What if I left Acme and joined Globex",
        "Maybe I prefer coffee now",
        "I would prefer coffee now",
        "如果我现在更喜欢咖啡",
        "我现在更喜欢咖啡吗",
        "我的新经理是谁",
        "也许我现在更喜欢咖啡",
        # others
        "She now prefers coffee",
        "He said I prefer coffee now",
        "They left Acme and joined Globex",
        "My new laptop is broken",
        "I left Acme",
        "I left the room and joined the call",
        "她现在更喜欢咖啡",
    ],
)
def test_what_only_looks_like_a_change_of_mind_is_left_alone(text: str) -> None:
    assert contents(text) == []
