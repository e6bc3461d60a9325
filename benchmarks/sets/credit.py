"""`credit`: how soon feedback retires what turned harmful, in a simulation.

Forty memories about one kind of task, each with a hidden effect on success; 600 runs, each
with the five best ranked in its brief; at run 300 the two good ones that are used most turn
harmful. Credit and ranking are Hindsight's own; only the runs are simulated. No data set, no
model.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from benchmarks.context import Context
from benchmarks.metrics import mean_of
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.profiled import row_name
from hindsight_core.lifecycle.credit import credited
from hindsight_core.lifecycle.decay import ranked_confidence
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.profiles import profile_named
from hindsight_core.testing import EPOCH
from hindsight_core.trajectory import Outcome

__all__ = ["Figures", "run_credit", "simulate"]

SEEDS = 200
MEMORIES = 40
RUNS = 600
TURN = 300
IN_BRIEF = 5
HELPFUL, NEUTRAL = 20, 12
"""How many memories help and how many do nothing; the other eight harm."""
BASE = 0.6
"""Chance of success without any memory."""
HELPS = (0.06, 0.12)
HARMS = (0.3, 0.5)
TURNED = -0.4
RELEVANCE = 0.8
JITTER = 0.016
"""Standard deviation of relevance: all memories are about the task, no two queries alike.
Worth as much in a ranking as 0.2 of confidence, with the default profile's weight of trust."""
WINDOW = 40
RETIRED_SHARE = 0.05
"""A memory is retired from the run on after which it is in fewer of the next `WINDOW` briefs."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one simulated history gave.

    Attributes:
        runs_to_retire: Mean runs until a memory that turned harmful is out of the briefs.
        first_retire: The same for those that harm from the beginning.
        wrongly_retired: Share of the helpful memories whose confidence ends below what the
            default profile archives.
        regret: Expected successes that an oracle with the best five would have had more.
    """

    runs_to_retire: float
    first_retire: float
    wrongly_retired: float
    regret: float


POLICIES: tuple[tuple[str, Lifecycle | None], ...] = (
    ("no feedback", None),
    ("additive (experience)", replace(profile_named("experience").lifecycle, credit="additive")),
    ("additive from 0.5 (reranked)", profile_named("reranked").lifecycle),
    ("beta, all outcomes", Lifecycle(credit="beta", counted_outcomes=1_000.0)),
    ("beta, last outcomes (balanced)", Lifecycle(credit="beta")),
)
"""Every policy by name; `None` learns nothing."""


def run_credit(context: Context) -> Report:
    """Simulate every policy on the same seeds."""
    seeds = range(SEEDS if context.limit is None else min(SEEDS, context.limit))
    rows = []
    others = [(row_name(name), profile_named(name).lifecycle) for name in context.profiles]
    for name, lifecycle in (*POLICIES, *others):
        found = [simulate(seed, lifecycle) for seed in track(seeds, name)]
        measures = {
            field: mean_of([getattr(figures, field) for figures in found])
            for field in ("runs_to_retire", "first_retire", "wrongly_retired", "regret")
        }
        rows.append(Row(context.system(name), measures))
    notes = (
        f"simulated: base {BASE}, helps {HELPS}, harms {HARMS}, turned {TURNED}",
        f"relevance {RELEVANCE} ± {JITTER}; {HELPFUL} of {MEMORIES} help",
        f"retired: in < {RETIRED_SHARE:.0%} of the next {WINDOW} briefs",
    )
    return Report("credit", len(seeds), tuple(rows), notes, {"seeds": len(seeds)}, decimals=2)


def simulate(seed: int, lifecycle: Lifecycle | None) -> Figures:
    """Live through one history."""
    chance = random.Random(seed)
    effects = _effects(chance)
    numbers = lifecycle or Lifecycle()
    memories = [_memory(number, numbers) for number in range(MEMORIES)]
    briefs: list[set[int]] = []
    turned: list[int] = []
    regret = 0.0
    for run in range(RUNS):
        if run == TURN:
            turned = _most_used(briefs, effects)
            for number in turned:
                effects[number] = TURNED
        ranks = [_rank(memory, numbers, chance) for memory in memories]
        brief = sorted(range(MEMORIES), key=lambda number: -ranks[number])[:IN_BRIEF]
        expected = _success([effects[number] for number in brief])
        regret += _success(sorted(effects)[-IN_BRIEF:]) - expected
        outcome = Outcome("success" if chance.random() < expected else "failure", "validator")
        briefs.append(set(brief))
        if lifecycle is not None:
            for number in brief:
                memories[number] = credited(memories[number], outcome, lifecycle)
    harmful = [n for n, effect in enumerate(effects) if effect < 0 and n not in turned]
    helpful = [memories[n] for n, effect in enumerate(effects) if effect > 0]
    return Figures(
        fmean(_until_retired(n, briefs, TURN) for n in turned),
        fmean(_until_retired(n, briefs, 0) for n in harmful),
        fmean(memory.confidence < numbers.archive_confidence for memory in helpful),
        regret,
    )


def _effects(chance: random.Random) -> list[float]:
    effects = [chance.uniform(*HELPS) for _ in range(HELPFUL)]
    effects += [0.0] * NEUTRAL
    effects += [-chance.uniform(*HARMS) for _ in range(MEMORIES - HELPFUL - NEUTRAL)]
    chance.shuffle(effects)
    return effects


def _memory(number: int, lifecycle: Lifecycle) -> Memory:
    return Memory(
        id=f"m{number}",
        namespace=Namespace.of("simulated"),
        content=f"memory {number}",
        kind="semantic",
        category="rule",
        event_time=EPOCH,
        created_at=EPOCH,
        updated_at=EPOCH,
        confidence=lifecycle.initial_confidence,
    )


def _rank(memory: Memory, lifecycle: Lifecycle, chance: random.Random) -> float:
    """Return relevance · (1 + trust · (confidence − 0.7)), as the default profile ranks."""
    trust = profile_named("balanced").add["trust"]
    relevance = chance.gauss(RELEVANCE, JITTER)
    return relevance * (1.0 + trust * (ranked_confidence(memory, EPOCH, lifecycle) - 0.7))


def _success(effects: Sequence[float]) -> float:
    return min(0.98, max(0.02, BASE + sum(effects)))


def _most_used(briefs: Sequence[set[int]], effects: Sequence[float]) -> list[int]:
    """Return the two helpful memories that were in most of the last briefs."""
    helpful = [number for number, effect in enumerate(effects) if effect > 0]
    recent = briefs[-WINDOW:]
    helpful.sort(key=lambda number: -sum(number in brief for brief in recent))
    return helpful[:2]


def _until_retired(number: int, briefs: Sequence[set[int]], start: int) -> int:
    """Return the runs after `start` until a memory is retired, all that are left if never."""
    end = RUNS if start >= TURN else TURN
    for run in range(start, end - WINDOW + 1):
        if sum(number in brief for brief in briefs[run : run + WINDOW]) < RETIRED_SHARE * WINDOW:
            return run - start
    return end - start
