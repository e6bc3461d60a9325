"""`scale` with few memories through the same code, and what it is measured with."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from benchmark_figures import Runner, rows_of
from qdrant_client import QdrantClient, models

from benchmarks.sets import scale, scale_disk, scale_process
from benchmarks.sets.scale_disk import bytes_by_part, filesystem_of
from benchmarks.sets.scale_jobs import Home, Model, ask, fill, hold
from benchmarks.sets.scale_process import footprint, in_own_process
from hindsight_core.embedding.fastembed import FastEmbedder
from hindsight_core.settings import Settings
from hindsight_core.store.base import Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.qdrant.plans import read_schema
from hindsight_core.testing import HashingEmbedder


def test_scale_asks_weighs_and_opens_stores_of_two_sizes(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"QUERIES": 4, "WARM_UP": 1, "STORES": ("small", "few")}.items():
        monkeypatch.setattr(scale, name, value)
    figures = run("scale", "--limit", "200")
    rows = rows_of(figures)
    small = rows["20 in 20 namespaces (limit 200)"]
    large = rows["200 in 20 namespaces (limit 200)"]
    assert small["growth"] == small["processor_growth"] == 1.0
    for row in (small, large):
        assert 0 < row["store_p50_ms"] < row["outside_p50_ms"] <= row["outside_p95_ms"]
        assert row["outside_p50_ms_n"] == 4
        assert 0 < row["opened_mb"] <= row["asked_mb"] <= row["peak_mb"]
        assert row["open_s"] > 0
        assert row["fill_s"] > 0
        parts = [row[f"disk_{part}_bytes"] for part in ("dense", "bm25", "payload", "indexes")]
        assert all(part > 0 for part in parts)
        assert sum(parts) < row["disk_bytes"]
    assert large["growth"] != 1.0
    assert large["disk_dense_bytes"] >= 4 * 64
    assert figures["n"] == 4
    assert figures["settings"]["memories"] == 200
    assert figures["settings"]["namespaces"] == [20, 20]
    assert 300 < figures["settings"]["payload_bytes"] < 700
    assert any("none of them was embedded" in note for note in figures["notes"])


def test_stores_have_a_tenth_of_the_memories_or_all_in_few_many_and_one_namespaces(
    tmp_path: Path,
) -> None:
    shapes = [(h.memories, h.namespaces) for h in scale._homes(tmp_path, 100_000)]
    assert shapes == [(10_000, 20), (100_000, 20), (100_000, 20_000), (100_000, 1)]
    assert [(h.memories, h.namespaces) for h in scale._homes(tmp_path, 1)] == [(1, 1)] * 4


def test_every_memory_that_was_announced_is_put_and_can_be_asked_for(tmp_path: Path) -> None:
    home = Home(tmp_path / "one", 12, 1)
    model = Model.of(HashingEmbedder())
    filled = fill(home, model)
    assert filled.seconds > 0
    assert 300 < filled.body < 700
    held = hold(home, model, ["How does the billing service round amounts?"])
    assert held.seconds > 0
    (asked,) = ask([home], model, ["What happens?", "Why does it?", "When is it?"], warm_up=1)
    assert len(asked.outside) == len(asked.store) == len(asked.processor) == 2
    store = EdgeStore.open(home.folder / "store", Schema(model.name, model.dimension))
    assert store.stats().points == 12
    store.close()


def test_a_model_with_sessions_is_opened_anew_by_each_process() -> None:
    assert Model.of(FastEmbedder(Settings())).ready is None
    opened = Model.of(FastEmbedder(Settings())).open()
    assert isinstance(opened, FastEmbedder)
    assert opened.name == Settings().embedding_model
    other = HashingEmbedder("other", 8)
    assert Model.of(other).open() is other


def test_a_job_runs_in_another_process_and_its_error_ends_the_run(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert in_own_process(divmod, 7, 2) == (3, 1)
    with pytest.raises(subprocess.CalledProcessError):
        in_own_process(divmod, 7, 0)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_process_of_its_own_does_not_start_with_its_parents_memory() -> None:
    here = bytearray(300_000_000)
    own, child = footprint(), in_own_process(footprint)
    assert own.peak > 300
    assert child.resident <= child.peak < own.peak - len(here) / 2e6


def test_without_a_status_file_only_the_peak_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale_process, "STATUS", tmp_path / "none")
    told = footprint()
    assert told.resident != told.resident
    assert 10 < told.peak < 100_000


def test_bytes_are_counted_by_the_folder_they_lie_in(tmp_path: Path) -> None:
    for name, size in {"shard/segments/a/vector_storage-dense/x": 5_000,
                       "shard/segments/b/vector_index-dense/x": 5_000,
                       "shard/wal/x": 1, "other": 9_000}.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    with (tmp_path / "other").open("ab") as file:
        file.truncate(50_000_000)
    found = bytes_by_part(tmp_path)
    assert set(found) == {"dense", "log", "rest"}
    assert found["dense"] >= 10_000
    assert found["log"] >= 1
    assert 9_000 <= found["rest"] < 50_000_000


def test_the_kind_of_a_file_system_is_read_from_the_closest_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"a / ext4 rw 0 0\nb {tmp_path.resolve()} tmpfs rw 0 0\n", "utf-8")
    monkeypatch.setattr(scale_disk, "MOUNTS", mounts)
    assert filesystem_of(tmp_path / "deep" / "er") == "tmpfs"
    assert filesystem_of(tmp_path.parent) == "ext4"
    monkeypatch.setattr(scale_disk, "MOUNTS", tmp_path / "none")
    assert filesystem_of(tmp_path) == ""


def test_the_collection_in_the_docs_is_one_that_hindsight_takes() -> None:
    page = Path(scale.__file__).parents[2] / "docs" / "scale.md"
    (body,) = re.findall(r"^```json\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    asked = models.CreateCollection.model_validate(json.loads(body))
    assert asked.vectors is not None
    assert asked.hnsw_config == models.HnswConfigDiff(m=0, payload_m=16)
    client = QdrantClient(":memory:")
    client.create_collection(
        "some",
        vectors_config=asked.vectors,
        sparse_vectors_config=asked.sparse_vectors,
        metadata=asked.metadata,
    )
    found = client.get_collection("some")
    client.close()
    assert read_schema(found, "some") == Schema(Settings().embedding_model, 384)
    sparse = found.config.params.sparse_vectors
    assert sparse is not None
    assert sparse["sparse"].modifier == models.Modifier.IDF


def test_links_on_the_page_about_scale_lead_somewhere() -> None:
    docs = Path(scale.__file__).parents[2] / "docs"
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (docs / "scale.md").read_text("utf-8"))
    assert [link for link in links if not (docs / link).exists()] == []
    assert "(scale.md)" in (docs / "index.md").read_text("utf-8")
