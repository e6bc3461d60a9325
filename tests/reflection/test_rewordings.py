"""Which texts say the same thing."""

from __future__ import annotations

import pytest

from hindsight_core.models import Lesson
from hindsight_core.reflection.rewordings import fold_rewordings, same_fact

ENGLISH = (
    "Interval set back to 2 s, reload done",
    "The interval was set back to 2 s and the reload is done",
    "Reload done after setting the interval back to 2 s",
    "Interval reset to 2 seconds; reloaded",
    "The interval has been restored to 2 s, and it was reloaded",
    "Set the interval back to two seconds, then reloaded",
    "After the interval went back to 2s the reload was done",
    "Interval is 2 sec again, reload completed",
    "The interval was changed back to 2 seconds and a reload followed",
)
CHINESE = (
    "间隔改回 2 秒，已重新加载",
    "已把间隔改回 2 秒并重新加载",
    "间隔恢复为 2 秒，重新加载完成",
    "将间隔设回 2 秒后重新加载",
    "间隔重新设为两秒，并已加载",
    "把间隔调回 2 秒，随后重新加载",
    "间隔回到 2 秒，加载完成",
    "间隔已恢复成 2 秒，并重新加载了",
    "重新加载完成，间隔改回 2 秒",
)


def lessons(*texts: str) -> list[Lesson]:
    return [Lesson(content=text) for text in texts]


@pytest.mark.parametrize("texts", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_nine_rewordings_of_one_fact_fold_to_one(texts: tuple[str, ...]) -> None:
    kept, folded = fold_rewordings(lessons(*texts))
    assert [lesson.content for lesson in kept] == [texts[0]]
    assert folded == 8


def test_another_number_and_a_negation_survive_among_rewordings() -> None:
    alike = ("Interval set to 20 s, reload done", "Interval not set to 2 s, reload not done")
    kept, _ = fold_rewordings(lessons(*ENGLISH, *alike))
    assert [lesson.content for lesson in kept] == [ENGLISH[0], *alike]
    chinese = ("间隔改为 20 秒，已重新加载", "间隔没有改回 2 秒，未重新加载")
    kept, _ = fold_rewordings(lessons(*CHINESE, *chinese))
    assert [lesson.content for lesson in kept] == [CHINESE[0], *chinese]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Staging deploys need the VPN", "Production deploys need the VPN"),
        ("The timeout is 2 s", "The timeout is 2 min"),
        ("Use gb18030 for sales.csv", "Use gb2312 for sales.csv"),
        ("Always run migrations before the deploy", "Always run migrations after the deploy"),
        ("The user likes long answers", "The user hates long answers"),
        ("Enable the cache for builds", "Disable the cache for builds"),
        ("Retry the upload on error 503", "Don't retry the upload on error 503"),
        ("用户喜欢喝咖啡", "用户讨厌喝咖啡"),
        ("部署之前先备份数据库", "部署之后先备份数据库"),
        ("用户住在北京", "用户住在上海"),
        ("可以重试上传", "不可以重试上传"),
        ("The user lives in Oslo", "The build needs the VPN"),
    ],
)
def test_look_alikes_stay_apart(first: str, second: str) -> None:
    assert not same_fact(first, second)
    assert not same_fact(second, first)
    assert len(fold_rewordings(lessons(first, second))[0]) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Deploys need the VPN", "deploys  need the VPN"),
        (
            "Staging deploys need the VPN to be connected",
            "The VPN needs connecting for staging deploys",
        ),
        ("The user's name is Alice Moreau", "User name: Alice Moreau"),
        ("用户喜欢简短的回答", "用户喜欢的是简短的回答"),
    ],
)
def test_the_same_in_other_words_is_told(first: str, second: str) -> None:
    assert same_fact(first, second)


def test_conditions_keep_lessons_apart() -> None:
    here = Lesson(content="Deploys need the VPN", applies_when="deploying to staging")
    there = Lesson(content="Deploys need the VPN", applies_when="deploying from home")
    always = Lesson(content="Deploys need the VPN")
    assert len(fold_rewordings([here, there, always])[0]) == 3
    assert len(fold_rewordings([here, here])[0]) == 1


def test_the_most_important_wording_stays_and_inherits() -> None:
    first = Lesson(content="Deploys need the VPN", importance=0.4, steps=(3,), supersedes=("a",))
    second = Lesson(
        content="The deploys need the VPN",
        importance=0.9,
        steps=(1,),
        supersedes=("b",),
        tags=("x",),
    )
    (kept,), folded = fold_rewordings([first, second])
    assert folded == 1
    assert kept.content == second.content
    assert (kept.steps, kept.supersedes, kept.tags) == ((1, 3), ("a", "b"), ("x",))
    assert kept.confidence is None


def test_texts_without_content_words_are_the_same_only_if_equal() -> None:
    assert same_fact("it is so", "it  is so")
    assert not same_fact("it is so", "so it is then")
    assert not same_fact("...", "!!!")
