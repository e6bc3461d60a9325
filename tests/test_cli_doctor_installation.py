"""What the doctor tells about an installation, from folders made to look like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_core.cli.installation import (
    check_engines,
    check_environment,
    check_names,
    check_python,
    check_reflection_model,
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
