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
Most of it is the store's: reading and parsing the payloads of about 90 candidates. Ids, payloads \
and scores are read once in a search, and the embedded store keeps up to 8,192 memories as it \
parsed them; query vectors are kept. One-thread and non-spinning sessions of the embedder changed \
nothing. The rows with a dot in the table of `speed` say where the time goes now.""",
    ("speed", "store_ratio"): """\
Writing embeds, looks for what says the same or is contradicted, plans the change in the journal \
and writes the store, so it can't be free. A batch is compared within itself by one matrix and \
across batches by meaning; only histories that grow are read again; words are compared before \
they are aligned; the redo log is not compressed.""",
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
