from __future__ import annotations

import os
import threading
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_core.embedding.bpe import load_encoding
from hindsight_core.embedding.estimate import estimate_tokens
from hindsight_core.embedding.tokens import (
    EXACT_CHARACTERS,
    SAMPLED_CHARACTERS,
    SLICE_CHARACTERS,
    EncodingCounter,
    open_token_counter,
)

Run = Callable[..., CompletedProcess[str]]
ENCODING = load_encoding("o200k_base", cache=None, allow_download=False)


class Spy:
    """An encoding that counts one token for each character and notes what it was given."""

    def __init__(self, *, breaks: bool = False) -> None:
        self.lengths: list[int] = []
        self.breaks = breaks

    def encode(self, text: str, *, disallowed_special: tuple[str, ...]) -> range:
        assert disallowed_special == ()
        self.lengths.append(len(text))
        if self.breaks:
            raise ValueError("Max stack size exceeded for backtracking")
        return range(len(text))


@pytest.fixture
def count() -> EncodingCounter:
    return open_token_counter(allow_download=False)


def test_with_the_offline_extra_counts_are_exact(count: EncodingCounter) -> None:
    assert count.exact
    assert count.encoding == "o200k_base"
    assert count("hello world") == 2
    assert count("") == 0


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_it_counts_what_tiktoken_counts(text: str) -> None:
    counted = open_token_counter(allow_download=False)(text)
    assert counted == len(ENCODING.encode(text, disallowed_special=()))


@pytest.mark.parametrize(
    "text", ["why does <|endoftext|> break <|fim_prefix|> parsing?", "<|im_start|>", "a\ud800b"]
)
def test_special_tokens_and_broken_unicode_are_text(text: str, count: EncodingCounter) -> None:
    assert count(text) > 2


@pytest.mark.parametrize("unit", ["a", " ", "\n", "的", "数据库连接失败", "word ", "!?", "🙂"])
def test_a_text_of_any_length_and_kind_is_counted_by_its_like(
    unit: str, count: EncodingCounter
) -> None:
    text = unit * (1_000_000 // len(unit))
    per_character = count(text[:SLICE_CHARACTERS]) / SLICE_CHARACTERS
    assert count(text) == pytest.approx(per_character * len(text), rel=0.05)


def test_no_more_is_encoded_of_a_long_text_than_the_bounds_say() -> None:
    for length, slices in (
        (EXACT_CHARACTERS, [EXACT_CHARACTERS]),
        (EXACT_CHARACTERS + 1, [SLICE_CHARACTERS] * 5 + [1]),
        (50 * SAMPLED_CHARACTERS, [SLICE_CHARACTERS] * (SAMPLED_CHARACTERS // SLICE_CHARACTERS)),
    ):
        spy = Spy()
        assert EncodingCounter("o200k_base", lambda spy=spy: spy)("x" * length) == length
        assert spy.lengths == slices


def test_a_long_text_counts_like_its_densest_part(count: EncodingCounter) -> None:
    text = "a" * 1_000_000 + "的" * 100_000
    assert count(text) >= len(ENCODING.encode("a" * 1_000)) * 1_000 + 100_000 / 2
    assert count(text) <= len(text)


def test_cutting_a_text_in_slices_costs_next_to_nothing(count: EncodingCounter) -> None:
    text = "The quick brown foxes were jumping over the lazy dogs, again and again. " * 1_000
    real = len(ENCODING.encode(text))
    assert EXACT_CHARACTERS < len(text) < SAMPLED_CHARACTERS
    assert real <= count(text) <= real + 2 * len(text) / SLICE_CHARACTERS + 2


def test_text_that_the_encoding_chokes_on_is_estimated() -> None:
    spy = Spy(breaks=True)
    assert EncodingCounter("o200k_base", lambda: spy)("some text") == estimate_tokens("some text")


def test_without_an_encoding_counts_are_estimates() -> None:
    count = EncodingCounter("cl100k_base", lambda: None)
    assert not count.exact
    assert count("数据库") == estimate_tokens("数据库", "cl100k_base")


def test_threads_get_one_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    from hindsight_core.embedding import tokens

    loads: list[str] = []

    def load(name: str, **_: Any) -> Spy:
        loads.append(name)
        return Spy()

    monkeypatch.setattr(tokens, "_loaded", tokens._LoadedEncodings())
    monkeypatch.setattr(tokens, "load_encoding", load)
    threads = [
        threading.Thread(target=lambda: open_token_counter("o200k_base")("x")) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["o200k_base"]


OFFLINE = """
import logging, socket, sys
asked = []
def refuse(*args, **kwargs):
    asked.append(args)
    raise OSError(101, "Network is unreachable")
socket.getaddrinfo = refuse
socket.socket.connect = refuse
logging.basicConfig(stream=sys.stdout, format="LOG %(message)s")
import hindsight_core.embedding.tokens as tokens
print("asked at import:", len(asked))
"""
WITHOUT_PACKAGES = """
from hindsight_core.embedding import bpe
bpe._package_folder = lambda package: None
"""


@pytest.mark.parametrize("variable", [None, ""])
def test_without_network_or_files_one_warning_comes_then_estimates_and_one_attempt(
    variable: str | None, python: Run
) -> None:
    env = {} if variable is None else {"TIKTOKEN_CACHE_DIR": variable}
    done = python(
        OFFLINE
        + WITHOUT_PACKAGES
        + """
count = tokens.open_token_counter()
print("asked at open:", len(asked))
print("count:", count("hello world"), count("hello <|endoftext|>"), count.exact)
once = len(asked)
tokens.open_token_counter()("again")
tokens.open_token_counter(allow_download=False)("again")
print("asked again:", len(asked) - once, once > 0)
""",
        **env,
    )
    lines = done.stdout.strip().split("\n")
    assert lines[0] == "asked at import: 0"
    assert lines[1] == "asked at open: 0"
    [warning] = [line for line in lines if line.startswith("LOG")]
    assert "estimates" in warning
    assert "hindsight-memory[offline]" in warning
    assert f"count: {estimate_tokens('hello world')} " in done.stdout
    assert lines[-1] == "asked again: 0 True"


def test_an_encoding_missed_without_permission_is_fetched_once_it_is_given(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from hindsight_core.embedding import tokens
    from hindsight_core.embedding.bpe import EncodingUnavailableError

    asked: list[bool] = []

    def load(name: str, *, cache: Any, allow_download: bool) -> Spy:
        asked.append(allow_download)
        if not allow_download:
            raise EncodingUnavailableError("switched off")
        return Spy()

    monkeypatch.setattr(tokens, "_loaded", tokens._LoadedEncodings())
    monkeypatch.setattr(tokens, "load_encoding", load)
    for _ in range(2):
        assert not open_token_counter("o200k_base", allow_download=False).exact
    for _ in range(2):
        assert open_token_counter("o200k_base", allow_download=True).exact
    assert asked == [False, True]
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("variable", [None, ""])
def test_with_the_offline_extra_nothing_is_asked(variable: str | None, python: Run) -> None:
    env = {} if variable is None else {"TIKTOKEN_CACHE_DIR": variable}
    done = python(
        OFFLINE + "count = tokens.open_token_counter()\nprint(count('hello world'), asked)", **env
    )
    assert done.stdout.split("\n")[1] == "2 []"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_child_forked_while_another_thread_loads_counts_all_the_same(python: Run) -> None:
    done = python(
        """
import os, threading
from hindsight_core.embedding import tokens
real, loading, go = tokens.load_encoding, threading.Event(), threading.Event()
def load(*args, **kwargs):
    if os.getpid() == parent:
        loading.set()
        go.wait(30)
    return real(*args, **kwargs)
tokens.load_encoding, parent = load, os.getpid()
count = tokens.open_token_counter()
thread = threading.Thread(target=count, args=("x",))
thread.start()
loading.wait(30)
pid = os.fork()
if pid == 0:
    print("child", count("hello world"), flush=True)
    os._exit(0)
print("parent", os.waitpid(pid, 0)[1])
go.set()
thread.join()
""",
        timeout=30,
    )
    assert "child 2" in done.stdout
    assert "parent 0" in done.stdout
