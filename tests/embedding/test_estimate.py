from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.embedding import bpe, estimate
from hindsight_core.embedding.bpe import load_encoding
from hindsight_core.embedding.estimate import MARGIN, estimate_tokens

TEXTS = {
    "English": "The agent read the sales file with the wrong encoding, got an error that named "
    "the byte, and tried again with another one. The user had asked for the total in euros, "
    "rounded to two places, so the second answer was right and the first one was not. Please "
    "remember that the accounting department always exports its reports on Thursday evening.",
    "Chinese": "读取销售数据文件时首先遇到编码错误，指定正确的编码以后重新运行就可以正常读取了。"
    "下次请从一开始就指定编码，并且把结果保存到项目目录。会议改到星期四举行，因为星期三有一半的开发人员要参加会议。",
    "Japanese": "売上のファイルを読み込むとき、最初に文字コードの問題でエラーが発生しました。"
    "文字コードを指定して再度実行したところ、正常に読み込むことができました。次回からは最初から指定してください。",
    "Russian": "Когда агент читает таблицу продаж, он сначала пробует кодировку UTF-8, получает "
    "ошибку и только потом переходит на другую. Пользователь просил запомнить, что все файлы "
    "бухгалтерии сохранены в старой кодировке, поэтому следует начать именно с неё.",
    "code": inspect.getsource(bpe),
    "JSON": json.dumps([{"id": n, "path": f"/data/sales-{n}.csv"} for n in range(20)], indent=2),
}


@pytest.fixture(scope="module", params=["o200k_base", "cl100k_base"])
def encoding(request: pytest.FixtureRequest) -> Any:
    return load_encoding(request.param, cache=None, allow_download=False)


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_ordinary_text_is_estimated_on_the_high_side_but_below_twice(
    kind: str, encoding: Any
) -> None:
    real = len(encoding.encode(TEXTS[kind], disallowed_special=()))
    assert real * (1 - MARGIN) <= estimate_tokens(TEXTS[kind], encoding.name) <= 2 * real


def test_an_unknown_encoding_is_estimated_like_the_dearest() -> None:
    dearest = max(estimate_tokens(TEXTS["Chinese"], name) for name in estimate.WEIGHTS)
    assert estimate_tokens(TEXTS["Chinese"], "somebody_elses") == dearest


def test_nothing_is_no_token() -> None:
    assert estimate_tokens("") == 0


@given(st.text(st.characters(codec=None, categories=None)))
def test_every_character_but_single_spaces_counts_for_something(text: str) -> None:
    counted = estimate_tokens(text)
    assert counted >= 0
    assert counted > 0 or not text.replace(" ", "")


@given(st.text(max_size=50), st.text(max_size=50))
def test_a_longer_text_is_not_estimated_lower(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") >= max(estimate_tokens(one), estimate_tokens(other))
