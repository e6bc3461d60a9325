from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.language import language_of, language_of_run
from hindsight_core.steps import Step
from hindsight_core.trajectory import Trajectory


@pytest.mark.parametrize(
    "text",
    [
        "帮我把 sales.csv 用 pandas 读进来",
        "用 docker compose up -d 启动 nginx 失败了怎么办",
        "你好",
        "这个函数报错：\n```python\ndef load(path):\n    return open(path).read()\n```\n怎么修？",
        "把`read_csv(path, encoding='utf-8')`改成 GB18030",
        "运行/usr/local/bin/python3时出错",
    ],
)
def test_chinese_prose_is_chinese_whatever_code_stands_in_it(text: str) -> None:
    assert language_of(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "Load sales.csv and tell me the total",
        "What does the word 不对 mean in this sentence, and when is it used?",
        "```python\n# 读取文件\n```\nWhy does this fail?",
        "12345 !!! ???",
        "Bonjour, je voudrais réserver un vol",
        "これは日本語の文章です。漢字もあります",
    ],
)
def test_everything_else_is_told_as_english(text: str) -> None:
    assert language_of(text) == "en"


def test_a_run_has_the_language_of_the_people_in_it_not_of_its_tools_or_instructions() -> None:
    run = Trajectory(
        run_id="r1",
        steps=(
            Step("system", "You are a helpful assistant that answers in short sentences."),
            Step("user", "Summarize the file for the parent agent, please", agent="inner"),
            Step("user", "帮我统计销售额"),
            Step("tool_result", "total 412 rows of sales figures read from disk"),
            Step("assistant", "The total is 18,250."),
        ),
    )
    assert language_of_run(run) == "zh"


def test_a_run_in_which_nobody_spoke_has_the_language_of_its_task_or_of_its_answers() -> None:
    answered = Trajectory(run_id="r1", steps=(Step("assistant", "任务已经完成了"),))
    assert language_of_run(answered) == "zh"
    tasked = Trajectory(run_id="r2", steps=answered.steps, task="Count the rows of the table")
    assert language_of_run(tasked) == "en"
    assert language_of_run(Trajectory(run_id="r3", steps=())) == "en"


@given(st.text(max_size=500))
def test_any_text_has_one_of_the_two_languages(text: str) -> None:
    assert language_of(text) in {"en", "zh"}


@given(st.text(alphabet="你好世界今天天气很", min_size=1, max_size=50))
def test_code_around_chinese_does_not_change_its_language(text: str) -> None:
    assert language_of(f"{text}\n```\nfor row in table: print(row)\n```") == "zh"
