"""Where a cross-encoder's files come from, and what happens where they are not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.embedding.cross_encoder import CrossEncoder, find_cross_encoder
from hindsight_core.errors import ConfigurationError, ModelUnavailableError

NAME = "Xenova/ms-marco-MiniLM-L-6-v2"
SHORT, LONG = "metric", "the user prefers metric units in recipes"
FLOAT, INT64 = 1, 7


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def field(number: int, value: int | bytes | str) -> bytes:
    """Encode one field of a protocol buffer."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name: str, number: int, value: int, kind: int) -> bytes:
    return field(5, field(1, name) + field(number, value) + field(20, kind))


def tensor(name: str, element: int, *dims: str) -> bytes:
    shape = b"".join(field(1, field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, shape)))


def share_of_tokens() -> bytes:
    """Return an ONNX model whose logit is the share of a row's tokens that are no padding."""
    cast = field(1, "attention_mask") + field(2, "x") + field(4, "Cast")
    mean = field(1, "x") + field(2, "logits") + field(4, "ReduceMean")
    graph = (
        field(1, cast + attribute("to", 3, FLOAT, 2))
        + field(1, mean + attribute("axes", 8, 1, 7) + attribute("keepdims", 3, 1, 2))
        + field(2, "g")
        + field(11, tensor("input_ids", INT64, "b", "s"))
        + field(11, tensor("attention_mask", INT64, "b", "s"))
        + field(12, tensor("logits", FLOAT, "b", "one"))
    )
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


@pytest.fixture(autouse=True)
def no_other_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "fastembed"))


@pytest.fixture
def hub_of_encoders(hub: Any) -> Any:
    """The loopback hub, with a small cross-encoder."""
    hub.files["model.onnx"] = hub.files["onnx/model.onnx"] = share_of_tokens()
    return hub


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A hub that is not there, and what was asked of it all the same."""
    asked: list[str] = []

    def fetch(name: str, **_: object) -> str:
        asked.append(name)
        raise AssertionError("fetched from a hub that is not there")

    monkeypatch.setattr("hindsight_core.embedding.sources.hub_is_reachable", lambda: False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    monkeypatch.setattr("huggingface_hub.model_info", fetch)
    return asked


def never() -> bool:
    raise AssertionError("the hub was asked")


def test_it_is_fetched_once_and_rates_from_then_on(
    tmp_path: Path, hub_of_encoders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = CrossEncoder(NAME, cache_dir=tmp_path)("units?", [SHORT, LONG])
    assert ratings[1] == pytest.approx(1 + 4 / (1 + math.exp(-1)))
    assert 3 < ratings[0] < ratings[1]
    asked = len(hub_of_encoders.requests)
    monkeypatch.setattr("hindsight_core.embedding.sources.hub_is_reachable", never)
    again = CrossEncoder(NAME.lower(), cache_dir=tmp_path, allow_download=False)
    assert again("units?", [SHORT, LONG]) == ratings
    assert len(hub_of_encoders.requests) == asked > 0


def test_what_fastembed_fetched_before_is_taken(tmp_path: Path, hub_of_encoders: Any) -> None:
    find_cross_encoder(NAME, cache_dir=tmp_path / "first")
    (tmp_path / "fastembed").rmdir()
    (tmp_path / "first").rename(tmp_path / "fastembed")
    found = find_cross_encoder(NAME, cache_dir=tmp_path / "ours", allow_download=False)
    assert found.origin == f"the cache in {tmp_path / 'fastembed'}"
    encoder = CrossEncoder(NAME, cache_dir=tmp_path / "ours", allow_download=False)
    assert len(encoder("units?", [SHORT])) == 1


@pytest.mark.parametrize("offline_by", ["setting", "variable"])
def test_where_downloads_are_off_no_hub_is_waited_for(
    offline_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindsight_core.embedding.sources.hub_is_reachable", never)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline_by == "variable")
    encoder = CrossEncoder(NAME, cache_dir=tmp_path, allow_download=offline_by == "variable")
    with pytest.raises(ModelUnavailableError, match="downloads are switched off") as caught:
        encoder("units?", [SHORT])
    assert str(tmp_path) in str(caught.value)
    assert "rerank='off'" in str(caught.value)


def test_a_hub_that_can_not_be_reached_is_not_asked_for_files(
    tmp_path: Path, unreachable: list[str]
) -> None:
    with pytest.raises(ModelUnavailableError, match=r"the hub .* can't be reached"):
        CrossEncoder(NAME, cache_dir=tmp_path)("units?", [SHORT])
    assert unreachable == []


def test_files_that_are_no_model_are_told(tmp_path: Path, hub: Any) -> None:
    hub.files["model.onnx"] = hub.files["onnx/model.onnx"] = b"no model"
    with pytest.raises(ModelUnavailableError, match=f"'{NAME}' is not at hand"):
        CrossEncoder(NAME, cache_dir=tmp_path)("units?", [SHORT])


def test_a_name_that_fastembed_does_not_know_is_told_with_those_that_it_does(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigurationError, match=f"'nobody/nothing' is none .*{NAME}"):
        find_cross_encoder("nobody/nothing", cache_dir=tmp_path)
