"""One finished run is worked through: reflect, reconcile, credit, write.

A run ends as `learned`, `nothing_to_learn` or `failed`, never in between: its result and the
changes it brings are planned in the journal as one, and applied as one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder
from hindsight_core.lifecycle.feedback import credit_run, rejudge_run
from hindsight_core.lifecycle.rejudge import decisive, most_trusted, verdicts_of
from hindsight_core.lifecycle.remarks import SOURCE, Said, remarked, said_of
from hindsight_core.models import Evidence, Lesson, Memory, Reflection
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, blocking
from hindsight_core.reconcile.neighbors import Proposal
from hindsight_core.reconcile.texts import searchable_text
from hindsight_core.reconcile.writer import Revision, Writer
from hindsight_core.reflection.base import Reflected, Reflector
from hindsight_core.reflection.remarks import find_remarks
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.recall import Recall
from hindsight_core.runs.journal import JournaledRun, RunResult
from hindsight_core.runs.journal import Recall as Recalled
from hindsight_core.safety.quarantine import Gate, Judged, held_back
from hindsight_core.trajectory import Trajectory

__all__ = ["Learner", "propose"]

OFFERED_MEMORIES = 8
"""Known memories that a reflector is shown, so that it can say what they are replaced by."""

PAST_THE_WINDOW = "beginning only; the rest is found by its words"


@dataclass(frozen=True, slots=True)
class Learner:
    """Works through one journaled run at a time.

    Attributes:
        dense: Embeds what is learned.
        sparse: Indexes it for BM25.
        reflector: Turns the run into lessons.
        writer: Puts them into the store.
        recall: Finds what is already known.
        profile: Scoring and lifecycle parameters.
    """

    dense: DenseEmbedder
    sparse: SparseEmbedder
    reflector: Reflector
    writer: Writer
    recall: Recall
    profile: Profile

    def plan(self, run: JournaledRun, now: datetime) -> Plan[Reflection]:
        """Reflect on `run` and write what it taught.

        Raises:
            ReflectionError: If the reflector can't make lessons of it.
            StoreError: If the store can't be read or written.
        """
        namespace = run.namespace
        trajectory = self._as_judged(run.trajectory, namespace)
        query = RecallQuery(
            text=trajectory.task, top_k=OFFERED_MEMORIES, kinds=("semantic",), abstain=True
        )
        offered = yield from self.recall.plan(query, self.profile, (namespace,), now)
        known = tuple(result.memory for result in offered)
        reflected = yield from blocking(lambda: self.reflector.reflect(trajectory, known, now))
        reflected, held = yield from blocking(lambda: _gated(reflected, trajectory, known))
        proposals = yield from blocking(
            lambda: propose(
                _memories(reflected.lessons, held, trajectory, namespace, self.profile, now),
                self.dense,
                self.sparse,
                named=[lesson.supersedes for lesson in reflected.lessons],
                reason=f"learned from {trajectory.run_id}",
            )
        )
        with self.writer.lock:
            recalls = self.writer.journal.recalls(namespace, trajectory.run_id)
            said = said_of(reflected.remarks + find_remarks(trajectory), recalls, trajectory)
            revisions = yield from self._credit(trajectory, namespace, recalls, said)
            written = yield from self.writer.write(
                namespace,
                proposals,
                revisions,
                lifecycle=self.profile.lifecycle,
                now=now,
                run_id=trajectory.run_id,
                result=_result(reflected),
                owner=run.lease_owner,
            )
        self._note(said, namespace, trajectory.run_id, now)
        yield from self._catch_up(trajectory, namespace, now)
        learned = tuple(memory for memory in written.memories if memory.status != "quarantined")
        if any(held):
            self.writer.journal.add_counter("quarantined", sum(map(bool, held)))
        return Reflection(
            run_id=trajectory.run_id,
            status="learned" if learned else "nothing_to_learn",
            memories=learned,
            superseded=written.superseded,
            reason=reflected.reason,
            notes=(*reflected.notes, *written.notes),
            tokens_in=reflected.tokens_in,
            tokens_out=reflected.tokens_out,
        )

    def _as_judged(self, run: Trajectory, namespace: Namespace) -> Trajectory:
        """Return `run` with the verdict that was given since it ended, if there is one."""
        said = self.writer.journal.feedback(namespace, run_id=run.run_id)
        outcome = decisive(run.outcome, verdicts_of(said))
        return run if outcome == run.outcome else run.with_outcome(outcome)

    def _catch_up(self, used: Trajectory, namespace: Namespace, now: datetime) -> Plan[None]:
        """Apply a verdict that was given while the reflection was under way.

        It found no experience of the run to judge; what it did to the memories in the run's
        brief was done at once.
        """
        verdict = self._as_judged(used, namespace).outcome
        if verdict == used.outcome:
            return
        with self.writer.lock:
            present = most_trusted([used.outcome])
            revisions = yield from rejudge_run(used.run_id, verdict, namespace, present)
            if revisions:
                yield from self.writer.write(
                    namespace,
                    [],
                    revisions,
                    lifecycle=self.profile.lifecycle,
                    now=now,
                    run_id=used.run_id,
                )

    def _credit(
        self,
        run: Trajectory,
        namespace: Namespace,
        recalls: Sequence[Recalled],
        said: Mapping[str, Said],
    ) -> Plan[list[Revision]]:
        """Return what the run's outcome and the agent's remarks do to what it was given."""
        ids = [memory_id for recall in recalls for memory_id in recall.memory_ids]
        lifecycle = self.profile.lifecycle
        credited = yield from credit_run(run.run_id, ids, run.outcome, (namespace,), lifecycle)
        return (yield from remarked(run.run_id, said, (namespace,), lifecycle, credited))

    def _note(
        self, said: Mapping[str, Said], namespace: Namespace, run_id: str, now: datetime
    ) -> None:
        """Write down what the agent said about its brief."""
        for memory_id, remark in said.items():
            self.writer.journal.record_feedback(
                namespace,
                run_id=run_id,
                memory_id=memory_id,
                helpful=remark.helpful,
                source=SOURCE,
                reason=remark.reason,
                now=now,
            )


def propose(
    memories: Sequence[Memory],
    dense: DenseEmbedder,
    sparse: SparseEmbedder,
    *,
    named: Sequence[tuple[str, ...]] = (),
    reason: str = "stored",
) -> list[Proposal]:
    """Embed `memories`, all in one batch, and return them ready to be written.

    A memory of whose text the embedder reads only the beginning is marked with `embedded` in
    its metadata.
    """
    if not memories:
        return []
    texts = [searchable_text(memory) for memory in memories]
    vectors = dense.embed_documents(texts)
    words = sparse.embed_documents(texts)
    names = named or [()] * len(memories)
    return [
        Proposal(_marked(memory, text, dense), vector, word, name, reason)
        for memory, text, vector, word, name in zip(
            memories, texts, vectors, words, names, strict=True
        )
    ]


def _marked(memory: Memory, text: str, dense: DenseEmbedder) -> Memory:
    """Mark `memory` if the vector of `text` leaves its end out."""
    exceeds = getattr(dense, "exceeds_window", None)
    if exceeds is None or not exceeds(text):
        return memory
    return replace(memory, metadata={**memory.metadata, "embedded": PAST_THE_WINDOW})


def _gated(
    reflected: Reflected, run: Trajectory, known: Sequence[Memory]
) -> tuple[Reflected, list[str]]:
    """Return what may be learned, and for each lesson why it goes into quarantine, or `""`."""
    gate = Gate(run)
    judged = [gate.judge(lesson) for lesson in reflected.lessons]
    held = [one.reason for one in judged]
    notes = [
        f"a lesson is held in quarantine, {one.reason}: {one.lesson.content[:80]}"
        for one in judged
        if one.reason
    ]
    if any(one.is_cut for one in judged):
        notes.append("what a tool told the agent to do was left out of the run's story")
    lessons = tuple(
        replace(one.lesson, supersedes=_replaceable(one, known, gate)) for one in judged
    )
    return replace(reflected, lessons=lessons, notes=(*reflected.notes, *notes)), held


def _replaceable(judged: Judged, known: Sequence[Memory], gate: Gate) -> tuple[str, ...]:
    """Return which of the memories that a lesson names it may replace."""
    if judged.reason:
        return ()
    refused = {memory.id for memory in known if not gate.may_replace(judged.lesson, memory)}
    return tuple(named for named in judged.lesson.supersedes if named not in refused)


def _memories(
    lessons: Sequence[Lesson],
    held: Sequence[str],
    run: Trajectory,
    namespace: Namespace,
    profile: Profile,
    now: datetime,
) -> list[Memory]:
    memories = [
        _memory(lesson, position, run, namespace, profile, now)
        for position, lesson in enumerate(lessons)
    ]
    return [
        held_back(memory, reason) if reason else memory
        for memory, reason in zip(memories, held, strict=True)
    ]


def _memory(
    lesson: Lesson,
    position: int,
    run: Trajectory,
    namespace: Namespace,
    profile: Profile,
    now: datetime,
) -> Memory:
    # The id follows from the run, so that reflecting on a run again, after a crash or by
    # hand, ends in the same memories.
    digest = uuid.uuid5(uuid.NAMESPACE_OID, f"{namespace.key}\n{run.run_id}\n{position}")
    confidence = lesson.confidence
    if confidence is None:
        confidence = profile.lifecycle.initial_confidence
    domain = run.metadata.get("domain", "")
    return Memory(
        id=f"mem_{digest.hex}",
        namespace=namespace,
        content=lesson.content,
        kind=lesson.kind,
        category=lesson.category,
        task_type=lesson.task_type,
        task_description=lesson.task_description,
        applies_when=lesson.applies_when,
        not_when=lesson.not_when,
        context=lesson.context,
        outcome=lesson.outcome,
        confidence=confidence,
        importance=lesson.importance,
        source=lesson.source,
        tags=lesson.tags,
        domain=domain if isinstance(domain, str) else "",
        evidence=(Evidence(run.run_id, lesson.steps),),
        event_time=lesson.event_time or run.ended_at or now,
        valid_until=lesson.valid_until,
        created_at=now,
        updated_at=now,
    )


def _result(reflected: Reflected) -> RunResult:
    return RunResult(
        reflection_status="learned" if reflected.lessons else "nothing_to_learn",
        memory_ids=(),
        superseded=(),
        reason=reflected.reason,
        notes=reflected.notes,
        raw_reply=reflected.raw_reply,
        tokens_in=reflected.tokens_in,
        tokens_out=reflected.tokens_out,
    )
