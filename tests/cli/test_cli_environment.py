"""Variables that can't be used: the doctor reports them, every other verb names them and ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command

from hindsight_core.errors import ConfigurationError
from hindsight_core.settings import Settings

P = "HINDSIGHT_MEMORY_"
WRONG = [
    (P + "TOKEN_BUDGET", "abc", "a whole number above 0"),
    (P + "TOKEN_BUDGET", "nan", "a whole number above 0"),
    (P + "TOKEN_BUDGET", "1e999", "a whole number above 0"),
    (P + "TOKEN_BUDGET", "0", "a whole number above 0"),
    (P + "TOKEN_BUDGET", "2.5", "a whole number above 0"),
    (P + "LOG_RETENTION_DAYS", "-1", "a number above 0"),
    (P + "LOG_RETENTION_DAYS", "a month", "a number above 0"),
    (P + "STRICT", "maybe", "1, true, yes, on, 0, false, no, off"),
    (P + "ALLOW_DOWNLOAD", "2", "1, true, yes, on, 0, false, no, off"),
    (P + "RERANK", "best", "off, model, cross-encoder"),
    (P + "EXPAND", "yes", "off, session, model"),
    (P + "CACHE_DIR", "~nobody-has-this-name/x", "home folder of a user that is not known"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
def test_what_can_not_be_used_is_named_with_its_value_and_what_is_allowed(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(name, value)
    done = hindsight("list")
    assert done.code == 2
    assert f"{name}={value!r}" in done.err
    assert allowed in done.err
    assert len(done.err.splitlines()) == 1


def test_the_doctor_reports_each_wrong_variable_and_goes_on(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, taught: Path
) -> None:
    monkeypatch.setenv(P + "TOKEN_BUDGET", "abc")
    monkeypatch.setenv(P + "STRICT", "maybe")
    monkeypatch.setenv(P + "PROFILE", "layered")
    done = hindsight("doctor", "--json")
    assert done.code == 1
    found = done.check("environment")
    assert found["level"] == "fail"
    for said in (f"{P}TOKEN_BUDGET='abc'", f"{P}STRICT='maybe'", "whole number above 0"):
        assert said in found["detail"]
    assert f"{P}STRICT" in found["remedy"]
    assert done.check("store")["level"] == "ok"
    assert done.check("profile")["detail"] == "layered", "the other variables hold"
    assert "1 run reflected on" in done.check("journal")["detail"]


def test_the_settings_that_can_be_used_are_read_beside_those_that_can_not() -> None:
    settings, faults = Settings.usable_from_env(
        {P + "TOKEN_BUDGET": "many", P + "LOG_RETENTION_DAYS": "7", "LLM_API_KEY": "k"}
    )
    assert settings == Settings.from_env({P + "LOG_RETENTION_DAYS": "7", "LLM_API_KEY": "k"})
    assert list(faults) == [P + "TOKEN_BUDGET"]
    assert Settings.usable_from_env({}) == (Settings(), {})


@pytest.mark.parametrize("value", ["0", "false", "No", "off", " "])
def test_tracebacks_are_not_shown_where_their_variable_is_off(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(P + "DEBUG", value)
    assert hindsight("show", "mem_none").code == 4


def test_a_folder_of_a_user_that_is_not_known_is_told(hindsight: Command) -> None:
    done = hindsight("list", "--path", "~nobody-has-this-name/memory")
    assert done.code == 2
    assert "'~nobody-has-this-name/memory'" in done.err


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert Settings.from_env({P + "TOKEN_BUDGET": "4e2"}).token_budget == 400
    with pytest.raises(ConfigurationError, match="whole number"):
        Settings.from_env({P + "TOKEN_BUDGET": "inf"})


def test_an_address_of_a_model_that_is_none_hides_nothing_of_the_store(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, taught: Path
) -> None:
    monkeypatch.setenv("REFLECTION_MODEL", "m")
    monkeypatch.setenv("LLM_BASE_URL", "foo")
    monkeypatch.setenv(P + "PROFILE", "generous")
    monkeypatch.setenv(P + "RERANK", "model")
    done = hindsight("doctor", "--json")
    found = done.check("reflection")
    assert (done.code, found["level"]) == (1, "fail")
    assert "LLM_BASE_URL='foo' is not an http or https address" in found["detail"]
    assert done.check("profile")["level"] == "fail"
    assert done.check("store")["level"] == "ok"
