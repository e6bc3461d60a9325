"""Rules that differ only in the instances they were learned from, and rules that do not."""

from __future__ import annotations

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Evidence
from hindsight_core.reconcile.instances import same_but_for_instances

LOOP = (
    "Calling search {} times with the same arguments gave the same result each time; change the "
    "arguments or the approach instead."
)
FULL = "When book fails with 'flight {} is full', look again"
SAME = [
    (
        'pay failed with "payment method certificate_7504069 not found"; not solved yet.',
        'pay failed with "payment method certificate_4856383 not found"; not solved yet.',
    ),
    (LOOP.format(47), LOOP.format(4)),
    (FULL.format("HAT136"), FULL.format("HAT045")),
    (
        'When pay fails with "certificate_7504069 not found", call list_certificates first',
        'When pay fails with "certificate_4856383 not found", call list_certificates first',
    ),
    (
        "Calling pay 3 times with the same arguments (id=certificate_7504069) failed each time",
        "Calling pay 5 times with the same arguments (id=certificate_4856383) failed each time",
    ),
    ("pay said not found: user_7504069", "pay said not found: user_4856383"),
    ("Order #4856383 can't be changed after shipping", "Order #17 can't be changed after shipping"),
    ("Node 5f3a9b21c0 was lost; drain it first", "Node 8c77e0d19a was lost; drain it first"),
    ("反复调用 search 47 次都失败，换一种做法", "反复调用 search 4 次都失败，换一种做法"),
]
APART = [
    ("use timeout=20 instead of 2", "use timeout=200 instead of 2"),
    ("use timeout=200 instead of 2000", "use timeout=900 instead of 2000"),
    ("Set interval back to 2 s", "Set interval back to 20 s"),
    ("A timeout of 200ms is enough", "A timeout of 2000ms is enough"),
    (
        "When read_csv fails, use encoding=gb18030 instead of utf8; that made it work.",
        "When read_csv fails, use encoding=gb2312 instead of utf8; that made it work.",
    ),
    ("Sign with sha256", "Sign with sha512"),
    ("Sign it with SHA512 instead of SHA256", "Sign it with SHA512 instead of SHA1024"),
    ("把 encoding 设为 gb18030", "把 encoding 设为 gb2312"),
    ("Retry the call 3 times before giving up", "Retry the call 30 times before giving up"),
    ("最多重试 3 次", "最多重试 30 次"),
    ("The port 8080 is taken", "The port 9090 is taken"),
    ("Until 2024-01-05 the export fails", "Until 2025-01-05 the export fails"),
    ("Python v3.11 can't read it", "Python v3.12 can't read it"),
    ("flight HAT136 is full, look again", "gate HAT136 is full, look again"),
    ("user_7504069 not found", "certificate_7504069 not found"),
]


@pytest.mark.parametrize(("new", "old"), SAME)
def test_rules_about_other_ids_or_counts_are_one_rule(new: str, old: str) -> None:
    assert same_but_for_instances(new, old)
    assert same_but_for_instances(old, new)


@pytest.mark.parametrize(("new", "old"), APART)
def test_rules_with_another_value_as_the_remedy_stay_apart(new: str, old: str) -> None:
    assert not same_but_for_instances(new, old)
    assert not same_but_for_instances(old, new)


@pytest.mark.parametrize(("new", "old"), SAME)
def test_a_rule_learned_from_another_instance_strengthens_the_known_one(
    h: Hindsight, new: str, old: str
) -> None:
    known = h.store(old, category="rule", evidence=[Evidence("r1", ())])
    again = h.store(new, category="rule", evidence=[Evidence("r2", ())])
    assert again.id == known.id
    assert again.content == old
    assert [evidence.run_id for evidence in again.evidence] == ["r1", "r2"]


@pytest.mark.parametrize(("new", "old"), APART)
def test_a_rule_with_another_remedy_stands_beside_the_known_one(
    h: Hindsight, new: str, old: str
) -> None:
    h.store(old, category="rule")
    h.store(new, category="rule")
    assert {memory.content for memory in h.list().memories} == {new, old}


def test_rules_with_another_outcome_stay_apart(h: Hindsight) -> None:
    new, old = SAME[0]
    h.store(old, category="rule", outcome="failure")
    h.store(new, category="rule", outcome="success")
    assert len(h.list().memories) == 2


def test_facts_about_other_ids_stay_apart(h: Hindsight) -> None:
    new, old = "Invoice INV20391 was paid", "Invoice INV20417 was paid"
    h.store(old, category="fact")
    h.store(new, category="fact")
    assert len(h.list(statuses=("active", "superseded")).memories) == 2
