from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from hindsight_core.embedding import offline
from hindsight_core.embedding.offline import (
    ONNX_SHA256,
    WINDOW,
    build_model_folder,
    installed_onnx,
    read_vocabulary,
    write_tokenizer,
)
from hindsight_core.errors import ModelUnavailableError


@pytest.fixture
def tokenizer(tmp_path: Path) -> Any:
    write_tokenizer(tmp_path)
    return Tokenizer.from_file(str(tmp_path / "tokenizer.json"))


def test_the_vocabulary_is_that_of_bert_base_uncased() -> None:
    words = read_vocabulary()
    assert len(words) == 30_522
    ids = {word: index for index, word in enumerate(words)}
    assert len(ids) == 30_522
    assert [ids[word] for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")] == [
        0, 100, 101, 102, 103,
    ]  # fmt: skip
    assert (ids["hello"], ids["world"]) == (7592, 2088)


def test_the_notice_names_the_vocabulary_that_is_shipped() -> None:
    data = resources.files("hindsight_core.embedding").joinpath("data")
    raw = gzip.decompress(data.joinpath("wordpiece.txt.gz").read_bytes())
    assert hashlib.sha256(raw).hexdigest() in data.joinpath("NOTICE.md").read_text("utf-8")


@pytest.mark.parametrize("contents", [b"not gzip", gzip.compress(b"[PAD]\n", mtime=0)])
def test_a_damaged_vocabulary_is_not_used(
    contents: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wordpiece.txt.gz").write_bytes(contents)
    monkeypatch.setattr(offline.resources, "files", lambda package: tmp_path)
    with pytest.raises(ModelUnavailableError, match="damaged"):
        read_vocabulary()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, World!", [101, 7592, 1010, 2088, 999, 102]),
        ("[MASK]", [101, 103, 102]),
        ("Café CAFE cafe", [101, 7668, 7668, 7668, 102]),
        ("人", [101, 1756, 102]),
        ("人人", [101, 1756, 1756, 102]),
        ("\x00\x01", [101, 102]),
        ("embeddings", [101, 7861, 8270, 4667, 2015, 102]),
    ],
)
def test_texts_are_read_as_the_model_was_trained_to(
    text: str, ids: list[int], tokenizer: Any
) -> None:
    assert tokenizer.encode(text).ids == ids


def test_a_text_is_cut_at_the_window_and_a_batch_is_padded(tokenizer: Any) -> None:
    assert len(tokenizer.encode("word " * 1_000).ids) == WINDOW
    short, longer = tokenizer.encode_batch(["a", "a b c"])
    assert short.ids[3:] == [0, 0]
    assert short.attention_mask == [1, 1, 1, 0, 0]
    assert longer.attention_mask == [1, 1, 1, 1, 1]


def test_the_extra_is_found_and_is_the_pinned_file() -> None:
    onnx = installed_onnx()
    assert onnx is not None
    assert hashlib.sha256(onnx.read_bytes()).hexdigest() == ONNX_SHA256


@pytest.mark.parametrize("package", ["no_such_package_at_all", "hindsight_core"])
def test_where_the_extra_is_not_installed_there_is_no_file(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offline, "PACKAGE", package)
    assert installed_onnx() is None


def test_another_file_in_its_place_is_refused(tmp_path: Path) -> None:
    onnx = tmp_path / "model.onnx"
    onnx.write_bytes(b"somebody else's")
    with pytest.raises(ModelUnavailableError, match=f"expected {ONNX_SHA256}"):
        build_model_folder(onnx, tmp_path)
    assert list(tmp_path.iterdir()) == [onnx]


def test_the_folder_is_built_once_and_holds_what_fastembed_wants(tmp_path: Path) -> None:
    onnx = tmp_path / "given.onnx"
    onnx.write_bytes(b"weights")
    folder = build_model_folder(onnx, tmp_path, sha256=None)
    before = {path.name: path.lstat().st_mtime_ns for path in folder.iterdir()}
    assert set(before) == {
        "model.onnx", "tokenizer.json", "tokenizer_config.json",
        "special_tokens_map.json", "config.json",
    }  # fmt: skip
    assert json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"] == WINDOW
    assert build_model_folder(onnx, tmp_path, sha256=None) == folder
    assert {path.name: path.lstat().st_mtime_ns for path in folder.iterdir()} == before


def test_where_links_are_not_to_be_had_the_file_is_copied_and_still_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(self: Path, target: Path) -> None:
        raise OSError("no privilege")

    monkeypatch.setattr(Path, "symlink_to", no_links)
    onnx = tmp_path / "given.onnx"
    onnx.write_bytes(b"weights")
    folder = build_model_folder(onnx, tmp_path, sha256=None)
    assert not (folder / "model.onnx").is_symlink()
    assert build_model_folder(onnx, tmp_path, sha256=None) == folder
    (folder / "model.onnx").write_bytes(b"half of w")
    assert (build_model_folder(onnx, tmp_path, sha256=None) / "model.onnx").read_bytes() == (
        b"weights"
    )


def test_a_link_to_an_environment_that_is_gone_is_mended(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for place in (old, new):
        place.mkdir()
        (place / "model.onnx").write_bytes(b"weights")
    folder = build_model_folder(old / "model.onnx", tmp_path, sha256=None)
    shutil.rmtree(old)
    assert build_model_folder(new / "model.onnx", tmp_path, sha256=None) == folder
    assert (folder / "model.onnx").read_bytes() == b"weights"
