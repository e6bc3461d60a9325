"""What the doctor tells about an installation, from folders made to look like one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.cli.installation import (
    Check,
    check_engines,
    check_environment,
    check_expansion,
    check_names,
    check_python,
    check_reflection_model,
    check_reranker,
)
from hindsight_core.settings import ModelSettings, Settings


def install(site: Path, name: str, version: str = "1.0", files: tuple[str, ...] = ()) -> None:
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def test_python_below_311_fails_with_what_to_do() -> None:
    assert check_python((3, 10, 9)).level == "fail"
    assert "3.11" in check_python((3, 10, 9)).remedy
    assert check_python((3, 11, 0)).level == "ok"
    assert check_python((4, 0, 0)).level == "ok"


def test_a_missing_engine_is_named(tmp_path: Path) -> None:
    install(tmp_path, "fastembed")
    install(tmp_path, "qdrant-client")
    check = check_engines([str(tmp_path)])
    assert check.level == "fail"
    assert "qdrant-edge-py" in check.detail
    assert "fastembed" not in check.detail


def test_engines_are_shown_with_their_versions(tmp_path: Path) -> None:
    for name in ("fastembed", "qdrant-client", "qdrant-edge-py"):
        install(tmp_path, name, "2.3.4")
    check = check_engines([str(tmp_path)])
    assert check.level == "ok"
    assert "qdrant-edge-py 2.3.4" in check.detail


def test_the_engines_of_this_environment_are_there() -> None:
    assert check_engines().level == "ok"


def test_another_project_named_hindsight_is_pointed_out(tmp_path: Path) -> None:
    install(tmp_path, "hindsight-memory", files=("hindsight_core/__init__.py",))
    install(tmp_path, "hindsight-api", files=("hindsight_api/__init__.py",))
    check = check_names([str(tmp_path)])
    assert check.level == "warn"
    assert "hindsight-api" in check.detail


def test_another_project_that_installs_over_this_one_is_a_failure(tmp_path: Path) -> None:
    install(tmp_path, "Hindsight_LlamaIndex", files=("hindsight_llamaindex/__init__.py",))
    check = check_names([str(tmp_path)])
    assert check.level == "fail"
    assert "pip uninstall hindsight-llamaindex" in check.remedy


def test_this_project_alone_is_no_clash(tmp_path: Path) -> None:
    install(tmp_path, "hindsight-memory", files=("hindsight_llamaindex/__init__.py",))
    install(tmp_path, "requests")
    assert check_names([str(tmp_path)]).level == "ok"


def test_a_misspelled_variable_is_found_with_what_was_meant() -> None:
    check = check_environment({"HINDSIGHT_MEMORY_PROFIL": "layered"})
    assert check.level == "warn"
    assert "HINDSIGHT_MEMORY_PROFILE" in check.remedy


def test_an_unknown_variable_that_resembles_none_is_found_too() -> None:
    check = check_environment({"HINDSIGHT_MEMORY_XYZZY_QQQQ_ZZZZZZZZZ": "1"})
    assert check.level == "warn"
    assert check.remedy


def test_known_variables_are_shown_and_keys_are_not() -> None:
    variables = Settings.variables_from_env(
        {
            "HINDSIGHT_MEMORY_PROFILE": "layered",
            "LLM_API_KEY": "sk-abc",
            "HINDSIGHT_API_KEY": "other",
            "HINDSIGHT_MEMORY_URL": "",
        }
    )
    assert variables == {"HINDSIGHT_MEMORY_PROFILE": "layered", "LLM_API_KEY": "(set)"}
    check = check_environment(variables)
    assert check.level == "ok"
    assert "layered" in check.detail


def test_no_variable_is_fine() -> None:
    assert check_environment({}).level == "ok"


@pytest.mark.parametrize(
    ("model", "level", "word"),
    [
        (ModelSettings(), "ok", "rules"),
        (ModelSettings(model="m"), "warn", "without a key"),
        (ModelSettings(model="m", api_key="k"), "ok", "model m"),
    ],
)
def test_the_reflection_model_is_told(model: ModelSettings, level: str, word: str) -> None:
    check = check_reflection_model(Settings(model=model))
    assert check.level == level
    assert word in check.detail


def test_a_misspelling_is_compared_without_what_all_names_begin_with() -> None:
    check = check_environment({"HINDSIGHT_MEMORY_TOKN": "3"})
    assert check.remedy == "did you mean HINDSIGHT_MEMORY_TOKEN_BUDGET?"


def test_a_variable_that_can_not_be_used_fails_beside_one_that_is_not_read() -> None:
    faults = {"HINDSIGHT_MEMORY_STRICT": "HINDSIGHT_MEMORY_STRICT='maybe' is not one of 1, 0"}
    check = check_environment({"HINDSIGHT_MEMORY_XYZZY": "1", **faults}, faults)
    assert check.level == "fail"
    assert check.detail.startswith("HINDSIGHT_MEMORY_STRICT='maybe' is not one of 1, 0; ")
    assert "HINDSIGHT_MEMORY_XYZZY is not read" in check.detail
    assert check.remedy == "change or unset HINDSIGHT_MEMORY_STRICT; remove it"


def put_model(cache: Path, repository: str, *files: str) -> None:
    """Lay out a folder as the hub's client does."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    for file in files:
        path = folder / "snapshots" / "abc123" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


CROSS = Settings(rerank="cross-encoder")
FILES = ("onnx/model.onnx", "tokenizer.json", "tokenizer_config.json")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody may look at the network, and fastembed's own cache is empty."""

    def asked() -> bool:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr("hindsight_core.embedding.sources.hub_is_reachable", asked)
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "fastembed"))


@pytest.mark.usefixtures("no_network")
def test_a_re_ranker_s_model_that_is_not_there_is_told_without_fetching_it(tmp_path: Path) -> None:
    check = check_reranker(replace(CROSS, cache_dir=tmp_path))
    assert check.level == "warn"
    assert "Xenova/ms-marco-MiniLM-L-6-v2 was not fetched yet" in check.detail
    assert "asks the hub" in check.detail
    assert "HINDSIGHT_MEMORY_RERANK=off" in check.remedy


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("ours", [True, False])
def test_where_downloads_are_off_the_order_stays_and_the_doctor_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: bool
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", not ours)
    check = check_reranker(replace(CROSS, cache_dir=tmp_path, allow_download=not ours))
    assert check.level == "warn"
    assert "downloads are switched off" in check.detail


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("where", ["cache", "fastembed"])
def test_a_re_ranker_s_model_is_found_in_our_cache_and_in_fastembed_s(
    tmp_path: Path, where: str
) -> None:
    put_model(tmp_path / where, "Xenova/ms-marco-MiniLM-L-6-v2", *FILES)
    check = check_reranker(replace(CROSS, cache_dir=tmp_path / "cache"))
    assert check.level == "ok"
    assert str(tmp_path / where) in check.detail


@pytest.mark.usefixtures("no_network")
def test_half_of_a_re_ranker_s_files_are_not_its_model(tmp_path: Path) -> None:
    put_model(tmp_path, "Xenova/ms-marco-MiniLM-L-6-v2", *FILES[:2])
    assert check_reranker(replace(CROSS, cache_dir=tmp_path)).level == "warn"


def test_an_unknown_re_ranker_fails_and_the_known_ones_are_named(tmp_path: Path) -> None:
    check = check_reranker(replace(CROSS, rerank_model="nobody/nothing", cache_dir=tmp_path))
    assert check.level == "fail"
    assert "'nobody/nothing'" in check.detail
    assert "Xenova/ms-marco-MiniLM-L-6-v2" in check.detail


@pytest.mark.parametrize(
    ("check", "name"), [(check_reranker, "rerank"), (check_expansion, "expand")]
)
def test_what_needs_a_model_fails_without_one(
    check: Callable[[Settings], Check], name: str
) -> None:
    asked: dict[str, Any] = {name: "model"}
    found = check(Settings(**asked))
    assert found.level == "fail"
    assert f"HINDSIGHT_MEMORY_{name.upper()}='model'" in found.detail
    assert "REFLECTION_MODEL" in found.remedy
    assert check(Settings(**asked, model=ModelSettings(model="m", api_key="k"))).level == "ok"
    assert check(Settings()).detail == "off"
