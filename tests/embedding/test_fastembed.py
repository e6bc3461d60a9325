from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from hindsight_core.embedding.fastembed import (
    MAX_CHARACTERS,
    RETRY_SECONDS,
    FastEmbedder,
    open_embedder,
)
from hindsight_core.embedding.sources import KnownModel, ModelFolder
from hindsight_core.errors import ConfigurationError, EmbeddingError, ModelUnavailableError
from hindsight_core.settings import Settings
from hindsight_core.store.base import Vector

Run = Callable[..., CompletedProcess[str]]


def similarity(one: Vector, other: Vector) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def test_name_and_width_are_known_without_loading_anything() -> None:
    def must_not_look(settings: Settings, model: KnownModel) -> ModelFolder:
        raise AssertionError("looked for the model")

    embedder = FastEmbedder(find=must_not_look)
    assert (embedder.name, embedder.dimension) == ("sentence-transformers/all-MiniLM-L6-v2", 384)
    assert embedder.embed_documents([]) == []


def test_a_paraphrase_is_nearer_than_another_matter(minilm: FastEmbedder) -> None:
    query = minilm.embed_query("How do I open a spreadsheet with Chinese characters?")
    near, far = minilm.embed_documents(
        ["Read the CSV file with encoding gb18030 when it holds Chinese text", "We met on Thursday"]
    )
    assert similarity(query, near) > similarity(query, far) + 0.2


def test_vectors_are_tuples_of_floats_of_unit_length(minilm: FastEmbedder) -> None:
    vector = minilm.embed_query("a")
    assert type(vector) is tuple
    assert len(vector) == 384
    assert {type(x) for x in vector} == {float}
    assert similarity(vector, vector) == pytest.approx(1)


def test_a_text_has_the_same_vector_alone_and_in_any_batch(minilm: FastEmbedder) -> None:
    texts = [f"note {n} " + "about reading files " * (n % 7) for n in range(20)]
    together = minilm.embed_documents(texts)
    for position in (0, 6, 13, 19):
        assert similarity(together[position], minilm.embed_query(texts[position])) > 0.9999


@pytest.mark.parametrize(
    "text", ["\ud800 lone", "a\x00b", "😀", "数据库", "x" * 1_000_000, "<|endoftext|>[CLS][MASK]"]
)
def test_no_text_that_says_something_is_refused(text: str, minilm: FastEmbedder) -> None:
    vector = minilm.embed_query(text)
    assert similarity(vector, vector) == pytest.approx(1)


@pytest.mark.parametrize("text", ["", "  \n", None, 3])
def test_a_blank_text_or_none_at_all_is_refused(text: Any, minilm: FastEmbedder) -> None:
    with pytest.raises(EmbeddingError, match=r"blank|not a string"):
        minilm.embed_query(text)
    with pytest.raises(EmbeddingError, match="text 1"):
        minilm.embed_documents(["fine", text])


def test_what_lies_past_the_window_is_not_in_the_vector_and_can_be_asked(
    minilm: FastEmbedder,
) -> None:
    assert minilm.window == 256
    inside, outside = "word " * 254, "word " * 254 + "giraffe"
    assert not minilm.exceeds_window(inside)
    assert minilm.exceeds_window(outside)
    assert minilm.embed_query(inside) == minilm.embed_query(outside)
    assert minilm.exceeds_window("x " * MAX_CHARACTERS)
    assert not minilm.exceeds_window(" " * 10_000)
    # One letter of Korean can be three tokens, so characters alone decide for short texts only.
    assert minilm.exceeds_window("각 " * 128)


def test_a_short_text_is_known_to_fit_without_a_model() -> None:
    def none_at_hand(settings: Settings, model: KnownModel) -> ModelFolder:
        raise ModelUnavailableError("none")

    embedder = FastEmbedder(find=none_at_hand)
    assert not embedder.exceeds_window("a short note")
    with pytest.raises(ModelUnavailableError):
        embedder.exceeds_window("word " * 100)


def test_threads_share_one_model_that_is_loaded_once(model_folder: Path) -> None:
    looked: list[int] = []

    def find(settings: Settings, model: KnownModel) -> ModelFolder:
        looked.append(1)
        return ModelFolder(model_folder, "a test")

    embedder = FastEmbedder(find=find)
    vectors: list[list[Vector]] = []
    texts = ["one", "two and three"]
    threads = [
        threading.Thread(target=lambda: vectors.append(embedder.embed_documents(texts)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert looked == [1]
    assert vectors == [vectors[0]] * 6
    assert embedder.origin == "a test"


def test_a_failure_is_remembered_for_a_while_and_then_tried_again(model_folder: Path) -> None:
    now = [100.0]
    outcomes: list[ModelFolder | None] = [None, ModelFolder(model_folder, "a test")]
    looked: list[float] = []

    def find(settings: Settings, model: KnownModel) -> ModelFolder:
        looked.append(now[0])
        outcome = outcomes.pop(0)
        if outcome is None:
            raise ModelUnavailableError("no network")
        return outcome

    embedder = FastEmbedder(find=find, monotonic=lambda: now[0])
    with pytest.raises(ModelUnavailableError, match=r"^no network$"):
        embedder.embed_query("x")
    now[0] += 10
    with pytest.raises(ModelUnavailableError, match=r"no network \(tried 10 s ago.*in 50 s"):
        embedder.embed_query("x")
    assert looked == [100.0]
    now[0] += RETRY_SECONDS
    assert len(embedder.embed_query("x")) == 384
    assert len(looked) == 2


def test_a_damaged_model_is_reported_with_the_place_to_clear(tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text("{}")
    embedder = FastEmbedder(Settings(embedding_path=folder, cache_dir=tmp_path))
    with pytest.raises(ModelUnavailableError, match=f"could not be loaded.*delete {folder}"):
        embedder.embed_query("x")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[float("nan")] * 384], "NaN"),
        ([[1.0] * 3], r"shape \(3,\)"),
        ([], "0 vectors"),
        (RuntimeError("onnx"), "could not embed 1 texts: onnx"),
    ],
)
def test_what_a_broken_model_returns_never_reaches_a_store(
    rows: Any, says: str, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def query_embed(self, texts: list[str], batch_size: int) -> Any:
            if isinstance(rows, Exception):
                raise rows
            return iter(rows)

    class Loaded:
        model = Broken()

    embedder = FastEmbedder()
    monkeypatch.setattr(embedder, "_loaded", Loaded())
    with pytest.raises(EmbeddingError, match=says):
        embedder.embed_query("x")


def test_open_takes_the_model_that_the_settings_name() -> None:
    assert open_embedder().name == Settings().embedding_model
    other = open_embedder(Settings(embedding_model="baai/bge-small-en-v1.5"))
    assert (other.name, other.dimension) == ("BAAI/bge-small-en-v1.5", 384)
    with pytest.raises(ConfigurationError, match="'nobody/nothing'"):
        open_embedder(Settings(embedding_model="nobody/nothing"))


def test_another_model_keeps_its_own_window(model_folder: Path) -> None:
    # The files are MiniLM's, but the name is not, so nothing of it is taken for granted.
    embedder = FastEmbedder(
        Settings(embedding_model="thenlper/gte-large"),
        find=lambda settings, model: ModelFolder(model_folder, "a test"),
    )
    assert embedder.window == 256
    assert not embedder.exceeds_window("short")


NO_NETWORK = """
import socket, time
def refuse(*args, **kwargs):
    raise OSError(101, "Network is unreachable")
socket.getaddrinfo = refuse
socket.socket.connect = refuse
"""


def test_without_network_model_or_extra_the_error_comes_fast_and_names_the_remedies(
    python: Run,
) -> None:
    done = python(
        NO_NETWORK
        + """
from hindsight_core.embedding import offline
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.errors import ModelUnavailableError
offline.PACKAGE = "no_such_package_at_all"
embedder = open_embedder()
embedder.name
for _ in range(3):
    started = time.monotonic()
    try:
        embedder.embed_query("x")
    except ModelUnavailableError as exc:
        print(time.monotonic() - started < 5, "hindsight-memory[offline]" in str(exc))
"""
    )
    assert done.stdout.split("\n")[:3] == ["True True"] * 3


def test_without_network_the_extra_works_and_nothing_is_asked(python: Run, tmp_path: Path) -> None:
    done = python(
        """
import socket
asked = []
def spy(*args, **kwargs):
    asked.append(args)
    raise OSError(101, "Network is unreachable")
socket.getaddrinfo = spy
socket.socket.connect = spy
from hindsight_core.embedding.fastembed import open_embedder
print(len(open_embedder().embed_query("x")), asked)
"""
    )
    assert done.stdout.split() == ["384", "[]"]
    assert (tmp_path / "home" / ".cache" / "hindsight-memory").is_dir()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.parametrize("child", ["embeds", "leaves"])
def test_a_forked_child_embeds_with_a_model_of_its_own_and_exits(child: str, python: Run) -> None:
    done = python(
        f"""
import os, sys
from hindsight_core.embedding.fastembed import open_embedder
embedder = open_embedder()
before = embedder.embed_query("the same text")
pid = os.fork()
if pid == 0:
    if {child == "embeds"}:
        print("child", embedder.embed_query("the same text") == before, flush=True)
    sys.exit(0)
status = os.waitpid(pid, 0)[1]
print("parent", status, embedder.embed_query("the same text") == before)
""",
        timeout=30,
    )
    lines = done.stdout.split("\n")
    assert "parent 0 True" in lines
    assert ("child True" in lines) is (child == "embeds")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_child_forked_while_another_thread_loads_does_not_wait_for_it(python: Run) -> None:
    done = python(
        """
import os, threading
from hindsight_core.embedding.fastembed import FastEmbedder
from hindsight_core.embedding.sources import find_model
loading, go = threading.Event(), threading.Event()
def find(settings, model):
    if os.getpid() == parent:
        loading.set()
        go.wait(30)
    return find_model(settings, model)
parent = os.getpid()
embedder = FastEmbedder(find=find)
thread = threading.Thread(target=embedder.embed_query, args=("x",))
thread.start()
loading.wait(30)
pid = os.fork()
if pid == 0:
    print("child", len(embedder.embed_query("x")), flush=True)
    os._exit(0)
print("parent", os.waitpid(pid, 0)[1])
go.set()
thread.join()
""",
        timeout=30,
    )
    assert "child 384" in done.stdout
    assert "parent 0" in done.stdout
