from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.embedding import offline
from hindsight_core.embedding.fastembed import FastEmbedder
from hindsight_core.embedding.sources import (
    DEFAULT_MODEL,
    KnownModel,
    describe_model,
    find_model,
    hub_is_reachable,
    import_fastembed,
    without_usage_reports,
)
from hindsight_core.errors import ConfigurationError, ModelUnavailableError
from hindsight_core.settings import Settings

FETCHED = ("model.onnx", "tokenizer.json", "tokenizer_config.json")


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The offline extra is not installed and fastembed has cached nothing."""
    monkeypatch.setattr(offline, "PACKAGE", "no_such_package_at_all")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "fastembed"))


def settings(tmp_path: Path, **changes: Any) -> Settings:
    return Settings(cache_dir=tmp_path / "cache", **changes)


def never() -> bool:
    raise AssertionError("the hub was asked")


def cached(root: Path, source: Path, *, without: str = "") -> Path:
    """Lay files out as the hub's client keeps them."""
    repository = root / "models--Qdrant--all-MiniLM-L6-v2-onnx"
    snapshot = repository / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    for name in FETCHED:
        if name != without:
            shutil.copy(source / name, snapshot / name)
    return snapshot


def test_the_default_model_is_as_fastembed_describes_it() -> None:
    [entry] = [
        entry
        for entry in import_fastembed().TextEmbedding.list_supported_models()
        if entry["model"] == DEFAULT_MODEL.name
    ]
    assert (
        KnownModel(
            name=entry["model"],
            dimension=entry["dim"],
            repository=entry["sources"]["hf"],
            files=(entry["model_file"], *entry["additional_files"]),
        )
        == DEFAULT_MODEL
    )


def test_a_model_is_known_in_any_letter_case_by_one_name() -> None:
    assert describe_model("SENTENCE-transformers/all-minilm-l6-v2") is DEFAULT_MODEL
    other = describe_model("baai/BGE-small-en-v1.5")
    assert (other.name, other.dimension) == ("BAAI/bge-small-en-v1.5", 384)
    assert other.repository
    assert other.required_files[-2:] == ("tokenizer.json", "tokenizer_config.json")


def test_a_model_that_fastembed_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"'acme/nothing' is none of the .* models"):
        describe_model("acme/nothing")


def test_the_extra_comes_before_the_caches_and_the_hub(tmp_path: Path, model_folder: Path) -> None:
    cached(tmp_path / "cache", model_folder)
    found = find_model(settings(tmp_path), DEFAULT_MODEL, is_online=never)
    assert found.origin == "the offline extra"
    assert (found.path / "model.onnx").samefile(model_folder / "model.onnx")


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize("place", ["cache", "fastembed"])
def test_what_was_fetched_before_is_used_without_asking_the_hub(
    place: str, tmp_path: Path, model_folder: Path
) -> None:
    snapshot = cached(tmp_path / place, model_folder)
    found = find_model(settings(tmp_path), DEFAULT_MODEL, is_online=never)
    assert found.path == snapshot
    assert str(tmp_path / place) in found.origin


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_half_fetched_model_does_not_count(
    missing: str, tmp_path: Path, model_folder: Path
) -> None:
    cached(tmp_path / "cache", model_folder, without=missing)
    with pytest.raises(ModelUnavailableError, match="not fetched into"):
        find_model(settings(tmp_path, allow_download=False), DEFAULT_MODEL)


@pytest.mark.usefixtures("no_extra")
def test_the_hub_is_asked_last_and_once(tmp_path: Path, hub: Any) -> None:
    found = find_model(settings(tmp_path), DEFAULT_MODEL)
    assert found.origin == f"the hub {hub.url}"
    assert (found.path / "model.onnx").read_bytes() == hub.files["model.onnx"]
    asked = len(hub.requests)
    again = find_model(settings(tmp_path), DEFAULT_MODEL, is_online=never)
    assert again.path.samefile(found.path)
    assert len(hub.requests) == asked > 0


@pytest.mark.usefixtures("no_extra")
def test_what_the_hub_gave_embeds_like_the_extra(
    tmp_path: Path, hub: Any, minilm: FastEmbedder
) -> None:
    embedder = FastEmbedder(settings(tmp_path))
    assert embedder.name == minilm.name
    assert embedder.embed_query("read a file") == minilm.embed_query("read a file")


@pytest.mark.usefixtures("no_extra")
def test_a_hub_that_answers_with_an_error_is_not_asked_again_and_again(
    tmp_path: Path, hub: Any
) -> None:
    hub.status = 403
    with pytest.raises(ModelUnavailableError, match=r"the hub .* failed"):
        find_model(settings(tmp_path), DEFAULT_MODEL)
    assert len(hub.requests) <= 3


@pytest.mark.usefixtures("no_extra")
def test_a_hub_without_all_files_is_reported(tmp_path: Path, hub: Any) -> None:
    del hub.files["tokenizer.json"], hub.files["model.onnx"]
    with pytest.raises(ModelUnavailableError, match=r"lacks model\.onnx, tokenizer\.json"):
        find_model(settings(tmp_path), DEFAULT_MODEL)


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize("offline_by", ["setting", "variable"])
def test_where_downloads_are_off_the_hub_is_not_even_probed(
    offline_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline_by == "variable")
    chosen = settings(tmp_path, allow_download=offline_by == "variable")
    with pytest.raises(ModelUnavailableError, match="downloads are switched off"):
        find_model(chosen, DEFAULT_MODEL, is_online=never)


@pytest.mark.usefixtures("no_extra")
def test_without_any_source_the_error_gives_every_reason_and_every_remedy(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        find_model(settings(tmp_path), DEFAULT_MODEL, is_online=lambda: False)
    message = str(caught.value)
    for part in (
        DEFAULT_MODEL.name,
        "the offline extra is not installed",
        "not fetched into",
        "can't be reached",
        'pip install "hindsight-memory[offline]"',
        "HINDSIGHT_MEMORY_EMBEDDING_PATH",
        "pass your own embedder",
    ):
        assert part in message


def test_the_extra_does_not_stand_in_for_another_model(tmp_path: Path) -> None:
    model = KnownModel(name="acme/other", dimension=3, repository="", files=("model.onnx",))
    with pytest.raises(ModelUnavailableError, match=r"holds .*MiniLM.* only") as caught:
        find_model(settings(tmp_path), model, is_online=never)
    assert "pip install" not in str(caught.value)
    assert f"use {DEFAULT_MODEL.name}" in str(caught.value)


def test_an_explicit_folder_is_taken_as_it_is(tmp_path: Path, model_folder: Path) -> None:
    chosen = settings(tmp_path, embedding_path=model_folder)
    found = find_model(chosen, DEFAULT_MODEL, is_online=never)
    assert found.path == model_folder
    assert str(model_folder) in found.origin


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_an_explicit_onnx_file_alone_gets_its_tokenizer(
    kind: str, tmp_path: Path, model_folder: Path, minilm: FastEmbedder
) -> None:
    (tmp_path / "mine").mkdir()
    onnx = tmp_path / "mine" / "model.onnx"
    shutil.copy(model_folder / "model.onnx", onnx)
    path = onnx if kind == "file" else onnx.parent
    embedder = FastEmbedder(settings(tmp_path, embedding_path=path))
    assert embedder.embed_query("read a file") == minilm.embed_query("read a file")


@pytest.mark.parametrize(
    ("make", "says"), [(True, r"lacks model\.onnx, tokenizer\.json"), (False, "does not exist")]
)
def test_an_explicit_path_without_a_model_is_not_passed_over_in_silence(
    make: bool, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine"
    if make:
        path.mkdir()
    with pytest.raises(ModelUnavailableError, match=says):
        find_model(settings(tmp_path, embedding_path=path), DEFAULT_MODEL, is_online=never)


def test_the_probe_knows_a_listening_hub_from_one_that_is_not_there(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub_is_reachable()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{port}")
    assert not hub_is_reachable()


def test_the_probe_goes_to_the_proxy_where_there_is_one(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("http_proxy", hub.url.removeprefix("http://"))
    monkeypatch.delenv("no_proxy", raising=False)
    assert hub_is_reachable()
    monkeypatch.setenv("no_proxy", "hub.invalid")
    assert not hub_is_reachable()


def test_the_probe_does_not_wait_for_a_name_that_does_not_resolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hang(*_: object, **__: object) -> None:
        time.sleep(2)

    monkeypatch.setattr(socket, "create_connection", hang)
    started = time.monotonic()
    assert not hub_is_reachable(0.05)
    assert time.monotonic() - started < 1.5


@pytest.mark.parametrize("given", [None, "0"])
def test_the_switch_of_the_usage_reports_is_put_back(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    if given is not None:
        monkeypatch.setenv("ORT_DISABLE_TELEMETRY", given)
    with without_usage_reports():
        assert os.environ["ORT_DISABLE_TELEMETRY"] == (given or "1")
        import_fastembed()
    assert os.environ.get("ORT_DISABLE_TELEMETRY") == given
