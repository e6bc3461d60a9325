"""How statements relate, with cosines as the default embedder gives them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.reconcile.compare import relation

REPLACES = [
    ("I hate Chinese food", "I love Chinese food", 0.82),
    ("The user drinks tea", "The user drinks coffee", 0.76),
    ("The user now drinks tea", "user drinks coffee in the morning", 0.65),
    ("The user prefers imperial units", "The user prefers metric units", 0.81),
    ("The service moved to region eu", "The service runs in region us", 0.71),
    (
        "The API rate limit is 250 requests per minute",
        "The API rate limit is 100 requests per minute",
        0.97,
    ),
    ("The user lives in Munich", "The user lives in Berlin", 0.77),
    ("The project deadline is April 2", "The project deadline is March 15", 0.90),
    ("My name is Ben", "My name is Anna", 0.65),
    ("I eat meat", "I do not eat meat", 0.79),
    ("The user eats meat", "The user no longer eats meat", 0.89),
    ("The build uses Python 3.12", "The build uses Python 3.11", 0.96),
    ("The build takes 9 minutes", "The build takes 5 minutes", 0.94),
    ("用户住在上海", "用户住在北京", 0.59),
    ("用户喜欢英制单位", "用户喜欢公制单位", 0.59),
    ("用户讨厌吃辣", "用户喜欢吃辣", 1.0),
    ("用户不吃肉", "用户吃肉", 0.9),
]
SAME = [
    (
        "Set interval back to 2 s, and reload is done",
        "interval set back to 2 s, reload done",
        0.98,
    ),
    ("The user prefers metric units.", "the user prefers metric units", 0.99),
    ("用户喜欢公制单位。", "用户喜欢公制单位", 1.0),
]
UNRELATED = [
    ("The service uses Postgres 15", "The service moved to region eu", 0.32),
    ("The service is owned by the payments team", "The service moved to region eu", 0.37),
    ("The user works in Berlin", "The user lives in Berlin", 0.91),
    ("The user likes jazz", "The user likes tea", 0.33),
    ("User visited Rome in June", "User visited Paris in May", 0.66),
    ("The user has a dog", "The user has a cat", 0.70),
    ("The user's dog is named Rex", "The user's cat is named Tom", 0.61),
    ("The deadline for sprint 2 is April 19", "The deadline for sprint 1 is March 29", 0.87),
    ("Staging deploys need the VPN", "The deploy needs the VPN", 0.82),
    (
        "Now the staging server runs on port 8081.",
        "The production server runs on port 8080.",
        0.73,
    ),
    ("用户喜欢爵士乐", "用户喜欢茶", 0.51),
    ("今天天气很好", "用户喜欢公制单位", 0.51),
]


@pytest.mark.parametrize(("new", "old", "cosine"), REPLACES)
def test_a_newer_value_of_the_same_thing_replaces_the_older(
    new: str, old: str, cosine: float
) -> None:
    assert relation(new, old, cosine) == "replaces"


@pytest.mark.parametrize(("new", "old", "cosine"), SAME)
def test_the_same_thing_in_other_words_is_the_same(new: str, old: str, cosine: float) -> None:
    assert relation(new, old, cosine) == "same"


@pytest.mark.parametrize(("new", "old", "cosine"), UNRELATED)
def test_statements_about_different_things_leave_each_other_alone(
    new: str, old: str, cosine: float
) -> None:
    assert relation(new, old, cosine) == "unrelated"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("interval set to 20 s, reload done", "interval set to 2 s, reload done"),
        ("interval not set to 2 s, reload done", "interval set to 2 s, reload done"),
        ("Never deploy on Friday", "Always deploy on Friday"),
        ("用户不喜欢吃辣", "用户喜欢吃辣"),
        ("超时设为20秒", "超时设为2秒"),
    ],
)
def test_numbers_and_negation_keep_look_alikes_apart_however_similar(new: str, old: str) -> None:
    assert relation(new, old, 0.999) != "same"
    assert relation(old, new, 0.999) != "same"


@given(st.text(min_size=1))
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert relation(text, text, 1.0) == "same"


@given(st.text(), st.text(), st.floats(-1, 1))
def test_any_two_texts_have_a_relation(new: str, old: str, cosine: float) -> None:
    assert relation(new, old, cosine) in {"same", "replaces", "unrelated"}


@pytest.mark.parametrize(
    ("new", "old", "cosine"),
    [
        ("Tim: Wow! How did the game go?", "Tim: Wow, how have games been going?", 0.9),
        ("Thanks. Your help means a lot.", "Thanks. It means a lot to me.", 0.9),
        ("Does the user live in Oslo?", "Does the user live in Rome?", 0.8),
        ("谢谢！用户住在上海", "谢谢！用户住在北京", 0.9),
    ],
)
def test_talk_and_questions_replace_nothing(new: str, old: str, cosine: float) -> None:
    assert relation(new, old, cosine) == "unrelated"


def test_a_passage_only_repeats_and_never_replaces() -> None:
    old = "The rate limit is 100 per minute. " * 20
    new = "The rate limit is 250 per minute. " * 20
    assert relation(new, old, 0.99) == "unrelated"
    assert relation(old, old, 1.0) == "same"
