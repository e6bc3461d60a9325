"""What the agent says about its brief is heard, and nothing else is taken for that."""

from __future__ import annotations

import json

import pytest

from hindsight_core.embedding.estimate import estimate_tokens
from hindsight_core.reflection.base import Reflected
from hindsight_core.reflection.llm import ModelReflector
from hindsight_core.reflection.remarks import MAX_REMARKS, find_remarks, names_in
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.settings import ModelSettings
from hindsight_core.steps import Step
from hindsight_core.testing import EPOCH, ScriptedModel
from hindsight_core.trajectory import Trajectory

ID = "mem_0123456789abcdef0123456789abcdef"


def said(text: str, agent: str = "") -> Trajectory:
    task = Step(kind="user", text="Deploy the shop")
    return Trajectory(run_id="r", steps=(task, Step(kind="assistant", text=text, agent=agent)))


def verdicts(text: str) -> list[tuple[str, bool]]:
    return [(remark.named, remark.helpful) for remark in find_remarks(said(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[2] does not apply because the table has no header.", [("2", False)]),
        ("Memory 3 doesn't apply here: we use CSV.", [("3", False)]),
        ("Ignoring [1] and [4], since this repo has no CI.", [("1", False), ("4", False)]),
        ("I followed [1], and [3] is outdated because the port moved.", [("3", False)]),
        ("memories 2, 3 and 5 are not relevant here", [("2", False), ("3", False), ("5", False)]),
        ("- [2]: not applicable, the run is on Linux", [("2", False)]),
        ("[2] (use latin-1) does not apply here.", [("2", False)]),
        ("Setting aside memory #2: other OS", [("2", False)]),
        ("Memory [2] turned out to be wrong", [("2", False)]),
        (f"{ID} is outdated, the port is 9090 now.", [(ID, False)]),
        ("[1] was helpful: encoding latin-1 worked.", [("1", True)]),
        ("Rule 2 isn't helpful since v1.2.3 changed it. Then [3] helped.",
         [("2", False), ("3", True)]),
        ("[2] 不适用，因为这张表没有表头。", [("2", False)]),
        ("第2条不适用：没有表头", [("2", False)]),
        ("忽略[3]，因为这里没有 CI。", [("3", False)]),
        ("第一条和第3条有误。", [("1", False), ("3", False)]),
        ("[2]这条经验在这里不适用：没有表头", [("2", False)]),
        ("经验[2]已过时", [("2", False)]),
        ("[1] 不适用；[2] 有帮助。", [("1", False), ("2", True)]),
        ("记忆 1 很有用。", [("1", True)]),
    ],
)  # fmt: skip
def test_a_verdict_is_heard_in_both_languages(text: str, found: list[tuple[str, bool]]) -> None:
    assert verdicts(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "If [2] does not apply, I stop.",
        "Is [2] wrong?",
        "I check whether memory 2 is wrong.",
        "The value data[2] is wrong.",
        "```\n[2] is wrong\n``` and `[3] is wrong`",
        "[1] is not wrong",
        "As [1] says, the file is wrong.",
        "Per [1] I use latin-1 because utf-8 is wrong.",
        "[1] The port is not right",
        "Item 2 in the list is wrong",
        "Step 2 is wrong",
        "[1] might not apply",
        "如果[2]不适用就停。",
        "[2] 是否不适用？",
        "第2步有误",
        "",
        "[2] does not apply " + "and so on " * 100,
    ],
)
def test_questions_conditions_code_and_other_subjects_are_no_verdict(text: str) -> None:
    assert verdicts(text) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[2] does not apply because the table has no header.", "the table has no header."),
        ("Memory 3 doesn't apply here: we use CSV.", "we use CSV."),
        ("[2] 不适用，因为这张表没有表头。", "这张表没有表头。"),
        ("So [2] is wrong.", "So [2] is wrong."),
    ],
)
def test_the_reason_is_what_comes_after_because(text: str, reason: str) -> None:
    (remark,) = find_remarks(said(text))
    assert (remark.reason, remark.step) == (reason, 1)


def test_only_the_outermost_agent_s_own_words_count() -> None:
    assert find_remarks(said("[2] is wrong", agent="searcher")) == ()
    by_others = tuple(
        Step(kind=kind, text="[2] is wrong")
        for kind in ("user", "tool_result", "system", "note", "error")
    )
    assert find_remarks(Trajectory(run_id="r", steps=by_others)) == ()


def test_not_more_than_so_many_are_heard() -> None:
    text = " ".join(f"[{number}] is wrong." for number in range(1, 40))
    assert len(find_remarks(said(text))) == MAX_REMARKS


def reflected(run: Trajectory, remarks: object) -> tuple[Reflected, ScriptedModel]:
    model = ScriptedModel([json.dumps({"lessons": [], "remarks": remarks})])
    reflector = ModelReflector(
        model,
        RuleReflector(),
        task_types=("general",),
        count_tokens=estimate_tokens,
        settings=ModelSettings(),
    )
    return reflector.reflect(run, (), EPOCH), model


def test_a_model_is_asked_only_where_the_agent_names_something_and_only_those_names_count() -> None:
    run = said("I could make no use of [2], our files differ.")
    assert find_remarks(run) == ()
    assert names_in(run) == {"2"}
    told = [
        {"memory": "[2]", "helpful": False, "reason": "our files differ"},
        {"memory": "4", "helpful": False, "reason": "made up"},
        {"memory": "2", "reason": "no verdict"},
    ]
    result, model = reflected(run, told)
    (remark,) = result.remarks
    assert (remark.named, remark.helpful, remark.reason) == ("2", False, "our files differ")
    (prompt,) = model.prompts
    assert "(2)" in prompt.user
    assert prompt.schema["properties"]["remarks"]["items"]["properties"]["memory"]["enum"] == ["2"]
    _, model = reflected(said("Deployed; the shop is up."), [])
    (prompt,) = model.prompts
    assert "remarks" not in prompt.schema["properties"]
    assert "remarks" not in prompt.user + prompt.system


def test_a_chinese_run_is_asked_about_in_chinese() -> None:
    run = Trajectory(
        run_id="r",
        steps=(
            Step(kind="user", text="部署商店的网站"),
            Step(kind="assistant", text="我没有用上第2条，文件不一样。"),
        ),
    )
    result, model = reflected(run, [{"编号": "2", "helpful": "false", "理由": "文件不一样"}])
    assert [(r.named, r.helpful, r.reason) for r in result.remarks] == [("2", False, "文件不一样")]
    assert "（2）" in model.prompts[0].user
