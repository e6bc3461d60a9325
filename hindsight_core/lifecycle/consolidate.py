"""Consolidation: many episodes become few rules, each with the runs that show it.

Rules are earned: at least two independent runs, or a validator or a person, stand behind each.
Nothing that consolidation did not make is rewritten; what conflicts with a rule is named in
it. What was done is known from the rules themselves, so that a run that was cut off goes on
where it stopped.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import fmean

from hindsight_core.errors import ReflectionError
from hindsight_core.lifecycle.consolidate_model import read_rules, rules_prompt
from hindsight_core.lifecycle.consolidate_rules import draft_by_rule
from hindsight_core.lifecycle.episodes import MARK, Drafted, Group, evidence_runs, find_groups
from hindsight_core.lifecycle.model_work import ModelWork
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.models import Evidence, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import run
from hindsight_core.reflection.base import ReflectionModel
from hindsight_core.safety.trust import is_proven

__all__ = ["Consolidated", "Consolidation"]


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What consolidation came to.

    Attributes:
        rules: The rules as they are stored now, or would be.
        steps: What became of each, with the runs behind it.
        notes: What was skipped and why, for people.
        groups: Groups of episodes that were looked at.
        remaining: Groups that are left for the next time, because tokens ran out or the model
            could not be asked.
        tokens_in: Tokens sent to a model.
        tokens_out: Tokens that it answered.
        dry_run: Whether nothing was written.
    """

    rules: tuple[Memory, ...] = ()
    steps: tuple[Tended, ...] = ()
    notes: tuple[str, ...] = ()
    groups: int = 0
    remaining: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dry_run: bool = False


@dataclass(slots=True)
class _Sum:
    rules: list[Memory] = field(default_factory=list)
    steps: list[Tended] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remaining: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Consolidates one namespace.

    Attributes:
        work: Where the memories are, and what may be asked.
        model: The model, `None` for rules alone.
    """

    work: ModelWork
    model: ReflectionModel | None = None

    def groups(self, since: datetime | None) -> list[Group]:
        """Return the groups in which something is new since `since`."""
        return run(find_groups(self.work.namespace, self.work.lifecycle, since), self.work.store)

    def consolidate(
        self, groups: Sequence[Group], now: datetime, *, least_members: int, dry_run: bool = False
    ) -> Consolidated:
        """Make rules of `groups`, one group at a time.

        Args:
            groups: What `groups` returned.
            now: The present moment.
            least_members: Episodes and lessons that a group needs.
            dry_run: Whether to write nothing; a model is asked all the same.

        Raises:
            StoreError: If the store can't be read or written; what was written stays.
        """
        done = _Sum()
        large = [group for group in groups if len(group.members) >= least_members]
        for position, group in enumerate(large):
            if self.model is not None and not self.work.allows_prompt_after(done.tokens_in):
                done.remaining += len(large) - position
                done.notes.append(f"stopped at {done.tokens_in} tokens; run it again to go on")
                break
            drafts = self._draft(group, done)
            rules = [_memory(drafted, group, self.work.namespace, now) for drafted in drafts]
            if rules and not dry_run:
                rules = list(self._write(rules, drafts, now))
            done.rules += rules
            done.steps += [_step(rule) for rule in rules]
        return Consolidated(
            tuple(done.rules),
            tuple(done.steps),
            tuple(done.notes),
            len(large),
            done.remaining,
            done.tokens_in,
            done.tokens_out,
            dry_run,
        )

    def _draft(self, group: Group, done: _Sum) -> list[Drafted]:
        least = self.work.lifecycle.consolidate_evidence
        if self.model is None:
            return draft_by_rule(group, self.work.dense, least)
        prompt, shown = rules_prompt(
            group,
            count_tokens=self.work.count_tokens,
            budget=self.work.prompt_tokens,
            max_output_tokens=self.work.output_tokens,
        )
        try:
            reply = self.model.complete(prompt)
        except ReflectionError as error:
            done.remaining += 1
            done.notes.append(f"{group.task_type}: the model could not be asked: {error}")
            return []
        sent, answered = self.work.cost(prompt, reply)
        done.tokens_in += sent
        done.tokens_out += answered
        drafts, notes = read_rules(reply, shown, least)
        done.notes += notes
        return drafts

    def _write(
        self, rules: Sequence[Memory], drafts: Sequence[Drafted], now: datetime
    ) -> tuple[Memory, ...]:
        """Write what is new; what was made before and taken back does not come again."""
        with self.work.writer.lock:
            records = self.work.records([rule.id for rule in rules])
            known = {record.memory.id for record in records}
            new = [pair for pair in zip(rules, drafts, strict=True) if pair[0].id not in known]
            redacted = [self._redacted(rule) for rule, _ in new]
            proposals = self.work.proposals(redacted, "consolidated")
            # A rule in the words of one of its lessons would only strengthen that lesson.
            placed = [
                replace(proposal, alone=drafted.by == "rule")
                for proposal, (_, drafted) in zip(proposals, new, strict=True)
            ]
            return self.work.write(placed, [], now).memories

    def _redacted(self, rule: Memory) -> Memory:
        redact = self.work.redactor.redact
        return replace(
            rule,
            content=redact(rule.content).text,
            applies_when=redact(rule.applies_when).text,
            not_when=redact(rule.not_when).text,
        )


def _memory(drafted: Drafted, group: Group, namespace: Namespace, now: datetime) -> Memory:
    members = drafted.members
    ids = sorted(memory.id for memory in members)
    # The same members give the same rule, so that doing it again makes no second one.
    digest = uuid.uuid5(uuid.NAMESPACE_OID, "\n".join((namespace.key, MARK, *ids)))
    backing = next((m.source for m in members if is_proven(m)), None)
    steps = {e.run_id: e for memory in members for e in memory.evidence}
    return Memory(
        id=f"mem_{digest.hex}",
        namespace=namespace,
        content=drafted.content,
        kind="semantic",
        category="rule",
        task_type=group.task_type,
        domain=group.domain,
        applies_when=drafted.applies_when,
        not_when=drafted.not_when,
        confidence=fmean(memory.confidence for memory in members),
        importance=max(memory.importance for memory in members),
        source=backing or ("rule" if drafted.by == "rule" else "agent_inference"),
        tags=tuple(dict.fromkeys(tag for memory in members for tag in memory.tags)),
        evidence=tuple(Evidence(run_id, steps[run_id].steps) for run_id in evidence_runs(members)),
        event_time=max(memory.event_time for memory in members),
        created_at=now,
        updated_at=now,
        metadata={MARK: {"from": ids, "conflicts": list(drafted.conflicts), "by": drafted.by}},
    )


def _step(rule: Memory) -> Tended:
    runs = [evidence.run_id for evidence in rule.evidence]
    made = rule.metadata.get(MARK)
    against = made.get("conflicts", ()) if isinstance(made, Mapping) else ()
    reason = f"shown by {len(runs)} runs: {', '.join(runs[:5])}"
    if against:
        reason += f"; {', '.join(against)} say otherwise"
    return Tended.of(rule, "stored", reason)
