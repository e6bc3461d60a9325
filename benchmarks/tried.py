"""What was tried for goals that were missed, as text for the report.

Each says what is known and how it came to be known; the figures themselves stand in the tables.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["TRIED"]

TRIED: Mapping[tuple[str, str], str] = {
    ("contradiction", "auc"): """\
The score is what `contradictions` says, without a model: relevance, and how much of what one \
statement denies the other claims. Relevance alone has .782 and the cosine alone .770 where both \
together have .841. Numbers and names that differ count where two short statements agree in all \
else. Superseding at write by cosine or overlap was tried as well and given up, since it took \
recall from `beam` and `locomo`.""",
    ("same-task", "MAP"): """\
Tasks of one template share their words, so BM25 alone is about as good as the goal, and they \
begin alike, which counts .15. Relevance is cosine + w · BM25; for the statement of a task w is \
2.5, for a question 0.7, chosen by measuring all benchmarks with one set of settings.""",
    ("speed", "added_p50_ms"): """\
Of what is added, the engine's two batches take a good third, and the rest is Python over some 90 \
candidates: ids, both scores, eight factors each. Each id, filter and text is looked at once, the \
embedded store keeps up to 8,192 memories as it parsed them, words are stored as one text, and \
what is made for each candidate is a plain tuple; together that took a quarter off. Narrower \
lanes would take off more and cost recall: with 30 or 40 candidates a lane instead of 50, \
`locomo` R@10 falls from .726 to .720 or .725, and `experience` P@5 from .558 to .500 or .531. \
One-thread and non-spinning sessions of the embedder changed nothing. Right after an embedding \
the same code takes about twice the processor time that it takes in a loop of its own.""",
    ("speed", "store_ratio"): """\
Writing embeds, looks for what says the same or is contradicted, plans the change in the journal \
and writes the store, so it can't be free. A batch is compared within itself by one matrix and \
across batches by meaning; only histories that grow are read again; words are compared before \
they are aligned; the redo log is not compressed; words are stored as one text, which the engine \
takes in an eighth of the time of a list. From .77 that came to .88 or .89.""",
    ("llamaindex-adapter", "own_ms_p95"): """\
`recorded` is what the callback adds. `memory` also does what the framework's own buffer does: it \
counts the tokens of the whole conversation before each of twelve model calls, to cut it to its \
limit.""",
    ("scale", "growth"): """\
The two lanes are exact and grow with the active memories of a namespace, 250 to 2,500; what does \
not grow has become cheaper, which raises the ratio. `docs/scale.md` has the parts, and what \
sealed segments, int8 vectors and a graph would change.""",
    ("scale", "peak_mb"): """\
Most of it is mapped files that the system takes back when it needs the room; `docs/scale.md` has \
the parts.""",
    ("poison", "attacks_through"): """\
What a tool told the agent to do becomes no lesson: it goes into quarantine, is counted, and \
leaves it by `release` alone. How much honest text that holds back is watched by \
`benign_refused`.""",
    ("langchain-adapter", "own_ms_p95"): """\
Text is redacted after one look, commits to the journal do not wait for the disk (they survive \
the death of the process, with `sync_writes` that of the machine), and what belongs to a call is \
looked up once. The clock is what the goal is about; `own_cpu_ms` beside it says how much of it \
is work and not waiting.""",
}
"""Texts by benchmark and metric."""
