"""Statements about different numbered or named things, and new values of one thing."""

from __future__ import annotations

import itertools
import re

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Category, Source
from hindsight_core.reconcile.compare import relation
from hindsight_core.testing import FrozenClock

_NUMBER = re.compile(r"\d+|(?<!I)[A-Z](?!D)[a-z]*")
COSINES = (0.6, 0.75, 0.9, 0.99)

APART = [
    ("第一组的组长不在北京", "第二组的组长在北京"),
    ("The pipeline stage 3 takes 4 minutes", "The pipeline stage 4 takes 9 minutes"),
    ("Project Apollo uses Postgres 15", "Project Hermes uses Postgres 16"),
    ("Build number 12 failed", "Build number 13 passed"),
    ("The API v1 is deprecated", "The API v2 is not deprecated"),
    ("分支main需要审核", "分支dev不需要审核"),
    ("尾号1234的账户限额500元", "尾号9876的账户限额700元"),
    ("端口7001由支付服务使用", "端口7002由订单服务使用"),
    ("航班CA123延误", "航班CA456未延误"),
    ("Ticket number 12 costs 30 euros", "Ticket number 13 costs 40 euros"),
    ("Ticket number 12 costs 30 euros", "Ticket number 13 costs 30 euros"),
    ("Service number 1 listens on port 7001", "Service number 2 listens on port 7002"),
    ("The service number 1 listens on port 7001", "The service number 2 listens on port 7002"),
    ("Service no 1 listens on port 7001", "Service no 2 listens on port 7002"),
    ("Service nr 1 listens on port 7001", "Service nr 2 listens on port 7002"),
    ("Service nr. 1 listens on port 7001", "Service nr. 2 listens on port 7002"),
    ("Service No. 1 listens on port 7001", "Service No. 2 listens on port 7002"),
    ("Service #1 listens on port 7001", "Service #2 listens on port 7002"),
    ("Service ID 1 listens on port 7001", "Service ID 2 listens on port 7002"),
    ("User id 17 lives in Berlin", "User id 18 lives in Munich"),
    ("User ID: 17 lives in Berlin", "User ID: 18 lives in Munich"),
    ("Order ID 1001 ships to Berlin", "Order ID 1002 ships to Munich"),
    ("Customer number 12 pays monthly", "Customer number 13 pays yearly"),
    ("Device number 3 runs firmware 2.1", "Device number 4 runs firmware 2.2"),
    ("Flight number 17 leaves at 9", "Flight number 18 leaves at 11"),
    ("Table number 4 seats 6 people", "Table number 5 seats 8 people"),
    ("Gate number 4 closes at 9", "Gate number 5 closes at 10"),
    ("Employee number 44 works in Berlin", "Employee number 45 works in Munich"),
    ("Employee number 44 works in Berlin", "Employee number 45 does not work in Berlin"),
    ("Account ending in 1234 has a limit of 500", "Account ending in 9876 has a limit of 700"),
    ("The account ending in 1234 is closed", "The account ending in 9876 is open"),
    ("The card ending with 1234 is blocked", "The card ending with 9876 is not blocked"),
    ("Service 1 is available", "Service 2 is not available"),
    ("Service 1 is available", "Service 2 is unavailable"),
    ("Gate A is open", "Gate B is closed"),
    ("Conference room Amber seats 10 people", "Conference room Basalt seats 12 people"),
    ("Conference room Amber seats 10 people", "Conference room Basalt seats 10 people"),
    ("The data center Alpha runs on 48 volts", "The data center Beta runs on 24 volts"),
    ("Ticket number 12 is paid", "Ticket number 13 is not paid"),
    ("Staging deploys are allowed on Fridays", "Production deploys are not allowed on Fridays"),
    ("The office in Berlin opens at 8", "The office in Munich opens at 9"),
    ("订单1001的金额是30元", "订单1002的金额是40元"),
    ("订单1001的金额是30元", "订单1002的金额是30元"),
    ("订单1001已发货", "订单1002未发货"),
    ("订单1001没有付款", "订单1002付款了"),
    ("订单 1001 的金额是30元", "订单 1002 的金额是40元"),
    ("订单号1001的金额是30元", "订单号1002的金额是40元"),
    ("订单号1001已发货", "订单号1002已退货"),
    ("订单编号1001的收货人是张三", "订单编号1002的收货人是李四"),
    ("服务器1的内存是16GB", "服务器2的内存是32GB"),
    ("服务器1运行nginx", "服务器2运行redis"),
    ("服务器1监听端口7001", "服务器2监听端口7002"),
    ("房间101朝南", "房间102朝北"),
    ("房间101可以住两个人", "房间102可以住三个人"),
    ("用户1住在北京", "用户2住在上海"),
    ("用户ID17住在北京", "用户ID18住在上海"),
    ("节点1的端口是7001", "节点2的端口是7002"),
    ("节点1启用了缓存", "节点2禁用了缓存"),
    ("版本3支持导出", "版本4不支持导出"),
    ("版本3的发布日期是五月", "版本4的发布日期是六月"),
    ("工单12由张三处理", "工单13由李四处理"),
    ("工单12的状态是打开", "工单13的状态是关闭"),
    ("会议室3可以坐10人", "会议室4可以坐20人"),
    ("会议室A可以坐10人", "会议室B可以坐20人"),
    ("会议室A已预订", "会议室B未预订"),
    ("会议室A在三楼", "会议室B在三楼"),
    ("3号会议室可以坐10人", "4号会议室可以坐20人"),
    ("第3组的组长是张三", "第4组的组长是李四"),
]

REPLACES = [
    ("The service listens on port 7001", "The service listens on port 7002"),
    ("Service number 1 listens on port 7001", "Service number 1 listens on port 7002"),
    ("Service 1 listens on port 7001", "Service 1 listens on port 7002"),
    ("Ticket number 12 costs 30 euros", "Ticket number 12 costs 40 euros"),
    ("Order ID 1001 ships to Berlin", "Order ID 1001 ships to Munich"),
    ("The service listens on port number 7001", "The service listens on port number 7002"),
    ("The order id is 1001", "The order id is 1002"),
    ("The meeting is in room number 4", "The meeting is in room number 5"),
    ("Account ending in 1234 has a limit of 500", "Account ending in 1234 has a limit of 700"),
    ("The limit is 100 requests per 60 seconds", "The limit is 200 requests per 30 seconds"),
    ("Build timeout 30 seconds", "Build timeout 60 seconds"),
    ("The Berlin office has 20 desks", "The Berlin office has 30 desks"),
    ("The backup runs at 3 am", "The backup runs at 5 am"),
    ("房间101朝南", "房间101朝北"),
    ("会议在10点开始", "会议在11点开始"),
    ("构建使用Python3.11", "构建使用Python3.12"),
    ("最大重试次数3次", "最大重试次数5次"),
    ("服务部署在3台机器上", "服务部署在5台机器上"),
    ("Ticket number 12 is paid", "Ticket number 12 is not paid"),
    ("订单1001的金额是30元", "订单1001的金额是40元"),
    ("服务器1监听端口7001", "服务器1监听端口7002"),
    ("服务监听端口7001", "服务监听端口7002"),
    ("服务监听7001端口", "服务监听7002端口"),
    ("超时设为20秒", "超时设为2秒"),
    ("构建耗时5分钟", "构建耗时9分钟"),
    ("用户1住在北京", "用户1住在上海"),
    ("用户住在101房间", "用户住在102房间"),
    ("会议室A可以坐10人", "会议室A可以坐20人"),
    ("版本3支持导出", "版本3不支持导出"),
    ("接口限速是每分钟100次", "接口限速是每分钟250次"),
]

SAID_AS_NEW = [
    ("The team lead is Carla", "The team lead is now Deniz", 0.39),
    ("The CI runs on Jenkins", "The CI now runs on GitHub Actions", 0.5),
    ("默认分支是master", "默认分支现在是main", 0.5),
    ("负责人是张三", "负责人现在是李四", 0.5),
    ("用户住在北京", "用户现在住在上海", 0.5),
]
NOT_THE_SAME_VALUE = [
    ("The user is Anna", "The user is now in Berlin", 0.5),
    ("The CI runs on Jenkins", "The CI now runs on Fridays at 9", 0.5),
    ("用户喜欢茶", "用户现在喜欢咖啡", 0.5),
]


@pytest.mark.parametrize(("one", "other"), APART)
@pytest.mark.parametrize("cosine", COSINES)
def test_statements_about_other_numbers_or_names_stay_apart(
    one: str, other: str, cosine: float
) -> None:
    assert relation(one, other, cosine) == "unrelated"
    assert relation(other, one, cosine) == "unrelated"


@pytest.mark.parametrize(("old", "new"), REPLACES)
def test_another_value_of_the_same_thing_replaces(old: str, new: str) -> None:
    assert relation(new, old, 0.95) == "replaces"
    assert relation(old, new, 0.95) == "replaces"


@pytest.mark.parametrize(("old", "new", "cosine"), SAID_AS_NEW)
def test_what_says_now_replaces_the_value_before(old: str, new: str, cosine: float) -> None:
    assert relation(new, old, cosine) == "replaces"


@pytest.mark.parametrize(("old", "new", "cosine"), NOT_THE_SAME_VALUE)
def test_now_makes_no_other_statement_a_replacement(old: str, new: str, cosine: float) -> None:
    assert relation(new, old, cosine) == "unrelated"


@pytest.mark.parametrize("category", ["fact", "preference", "entity"])
@pytest.mark.parametrize("source", ["user_feedback", "rule", "agent_inference", "import"])
@pytest.mark.parametrize(
    "pattern",
    [
        "Service number {0} listens on port 70{0}",
        "User id {0} logs in from host 10.0.0.{0}",
        "订单10{0}的金额是3{0}元",
        "房间1{0}住着{0}位客人",
    ],
)
def test_numbered_things_are_all_kept(
    h: Hindsight, clock: FrozenClock, pattern: str, source: Source, category: Category
) -> None:
    facts = {pattern.format(number) for number in range(10, 22)}
    for fact in sorted(facts):
        h.store(fact, source=source, category=category)
        clock.advance(hours=1)
    assert {memory.content for memory in h.list(limit=100).memories} == facts


def test_a_crowd_of_numbered_things_is_kept(h: Hindsight) -> None:
    facts = [f"Service number {n} listens on port 70{n:02}" for n in range(110)]
    h.store_many([{"content": fact} for fact in facts])
    assert {memory.content for memory in h.list(limit=200).memories} == set(facts)


def test_of_many_things_only_those_of_one_number_meet() -> None:
    texts = list(dict.fromkeys(text for pair in APART for text in pair))
    for one, other in itertools.permutations(texts, 2):
        if relation(one, other, 0.75) != "unrelated":
            assert _name(one) == _name(other)


def _name(text: str) -> str:
    """Return the number or the capital by which a statement tells its thing apart."""
    found = _NUMBER.search(re.sub(r"^\w|\b[Nn]o\.? |ID", "", text))
    return found[0] if found else ""
