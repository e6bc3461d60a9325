"""Models of every kind as reflection models, and an endpoint over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from hindsight_core.errors import ConfigurationError, ModelCallError, ModelReplyError
from hindsight_core.reflection.base import ModelReply, Prompt
from hindsight_core.reflection.llm import ModelReflector
from hindsight_core.reflection.model_clients import OpenAICompatibleModel, as_reflection_model
from hindsight_core.reflection.model_errors import (
    call_error,
    clean_message,
    is_retryable,
    retry_after_seconds,
)
from hindsight_core.reflection.retry import is_context_overflow
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.settings import ModelSettings
from hindsight_core.testing import EPOCH, FrozenClock, ScriptedModel, csv_run

KEY = "sk-made-up-0123456789abcdef"
SETTINGS = ModelSettings(model="small-1", api_key=KEY)
PROMPT = Prompt(
    system="Be brief", user="What {happened}?", schema={"type": "object"}, max_output_tokens=99
)
LESSONS = {"lessons": [{"content": "Use GB18030"}]}
TEXT = json.dumps(LESSONS)


def completion(content: Any = TEXT, **choice: Any) -> dict[str, Any]:
    return {
        "model": "small-1-2026",
        "choices": [{"message": {"content": content}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 7},
    }


@dataclass
class Answer:
    """What the server says to one request."""

    status: int = 200
    body: Any = field(default_factory=completion)
    headers: dict[str, str] = field(default_factory=dict)


class Server:
    """A loopback endpoint that gives prepared answers, the last one for ever."""

    def __init__(self, answers: list[Answer | Callable[[dict[str, Any]], Answer]]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._answers = answers
        self.released = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def settings(self, **changes: Any) -> ModelSettings:
        return replace(SETTINGS, base_url=self.url, **changes)

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(server: Server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                number = min(len(server.requests), len(server._answers) - 1)
                server.requests.append(body)
                server.headers.append(dict(self.headers))
                server.paths.append(self.path)
                answer = server._answers[number]
                answer = answer if isinstance(answer, Answer) else answer(body)
                raw = (
                    answer.body
                    if isinstance(answer.body, bytes)
                    else json.dumps(answer.body).encode()
                )
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(raw)))
                    self.end_headers()
                    self.wfile.write(raw)
                except ConnectionError:
                    return

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return

        return Handler


@contextmanager
def serving(*answers: Answer | Callable[[dict[str, Any]], Answer]) -> Iterator[Server]:
    server = Server(list(answers) or [Answer()])
    try:
        yield server
    finally:
        server.close()


def failing(server: Server, **settings: Any) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        OpenAICompatibleModel(server.settings(**settings)).complete(PROMPT)
    assert KEY not in str(caught.value)
    return caught.value


def test_a_prompt_is_posted_and_the_answer_read() -> None:
    with serving() as server:
        reply = OpenAICompatibleModel(server.settings()).complete(PROMPT)
        assert reply == ModelReply(json.dumps(LESSONS), "stop", 120, 7, "small-1-2026")
        (body,) = server.requests
        assert server.paths == ["/v1/chat/completions"]
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
        assert body["messages"] == [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "What {happened}?"},
        ]
        assert body["max_tokens"] == 99
        assert body["response_format"]["json_schema"]["schema"] == PROMPT.schema


def test_without_a_key_no_authorization_is_sent() -> None:
    with serving() as server:
        OpenAICompatibleModel(server.settings(api_key="")).complete(PROMPT)
        assert "Authorization" not in server.headers[0]


def test_a_prompt_with_a_lone_surrogate_can_be_sent() -> None:
    with serving() as server:
        OpenAICompatibleModel(server.settings()).complete(replace(PROMPT, user="\ud800"))
        assert server.requests[0]["messages"][1]["content"] == "\ud800"


@pytest.mark.parametrize(
    ("knows", "asked"),
    [
        ({"json_object"}, ["json_schema", "json_object"]),
        (set(), ["json_schema", "json_object", "none"]),
    ],
)
def test_a_server_that_can_not_hold_a_schema_is_asked_for_less_and_remembered(
    knows: set[str], asked: list[str]
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        kind = body.get("response_format", {}).get("type", "none")
        fine = kind in knows | {"none"}
        return Answer() if fine else Answer(400, {"error": {"message": "response_format unknown"}})

    with serving(answer) as server:
        model = OpenAICompatibleModel(server.settings())
        for _ in range(2):
            assert model.complete(PROMPT).finish_reason == "stop"
        kinds = [body.get("response_format", {}).get("type", "none") for body in server.requests]
        assert kinds == [*asked, asked[-1]]


def test_a_400_of_another_kind_ends_after_every_form_was_tried() -> None:
    with serving(Answer(400, {"error": {"message": "model is not here"}})) as server:
        error = failing(server)
        assert (error.status, error.retryable) == (400, False)
        assert "model is not here" in str(error)
        assert len(server.requests) == 3


def test_an_overflow_is_not_sent_again_in_another_form() -> None:
    message = "This model's maximum context length is 8192 tokens"
    with serving(Answer(400, {"error": {"message": message}})) as server:
        error = failing(server)
        assert is_context_overflow(error)
        assert len(server.requests) == 1


def test_the_other_name_of_the_output_cap_is_learned() -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if "max_tokens" in body:
            return Answer(400, {"error": {"message": "Use 'max_completion_tokens' instead."}})
        return Answer()

    with serving(answer) as server:
        model = OpenAICompatibleModel(server.settings())
        model.complete(PROMPT)
        model.complete(PROMPT)
        assert ["max_tokens" in body for body in server.requests] == [True, False, False]
        assert server.requests[-1]["max_completion_tokens"] == 99
        assert server.requests[-1]["response_format"]["type"] == "json_schema"


def test_a_rate_limit_is_waited_out_as_the_server_asks() -> None:
    busy = Answer(429, {"error": {"message": "slow down"}}, {"Retry-After": "3"})
    sleeps: list[float] = []
    with serving(busy, busy, Answer()) as server:
        reflector = ModelReflector(
            OpenAICompatibleModel(server.settings()),
            RuleReflector(),
            task_types=("general",),
            count_tokens=len,
            settings=server.settings(max_input_tokens=20_000),
            sleep=sleeps.append,
            monotonic=lambda: 0.0,
        )
        reflected = reflector.reflect(csv_run(), (), EPOCH)
        assert sleeps == [3.0, 3.0]
        assert len(server.requests) == 3
        assert any(one.content == "Use GB18030" for one in reflected.lessons)
        assert (reflected.tokens_in, reflected.tokens_out) == (120, 7)


@pytest.mark.parametrize(
    ("status", "retryable", "advice"),
    [
        (401, False, "check LLM_API_KEY"),
        (403, False, "what LLM_API_KEY may do"),
        (404, False, "check LLM_BASE_URL"),
        (500, True, "answered 500"),
        (503, True, "answered 503"),
        (408, True, "answered 408"),
    ],
)
def test_a_refusal_has_its_status_and_what_to_do(status: int, retryable: bool, advice: str) -> None:
    message = f"Incorrect API key provided: {KEY}"
    with serving(Answer(status, {"error": {"message": message, "code": "oops"}})) as server:
        error = failing(server)
        assert (error.status, error.retryable) == (status, retryable)
        assert advice in str(error)
        assert "oops" in str(error)
        assert len(server.requests) == 1


def test_a_used_up_quota_is_not_retryable_though_it_is_a_429() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with serving(Answer(429, body)) as server:
        assert not failing(server).retryable


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"", b"\xff\xfe", b"[" * 5_000])
def test_an_error_page_that_is_not_json_is_reported_in_short(body: bytes) -> None:
    with serving(Answer(502, body)) as server:
        error = failing(server)
        assert (error.status, error.retryable) == (502, True)
        assert len(str(error)) < 500


@pytest.mark.parametrize(
    "body",
    [b"<html>login</html>", b"{}", b'{"choices": []}', b'{"choices": [null]}', b"[]", b"[" * 5_000],
)
def test_garbage_with_status_200_is_a_call_error_that_may_pass(body: bytes) -> None:
    with serving(Answer(200, body)) as server:
        error = failing(server)
        assert error.retryable
        assert "OpenAI-compatible" in str(error)


def test_an_answer_without_content_or_usage_is_an_empty_reply() -> None:
    body = {"choices": [{"message": {"content": None, "reasoning_content": "hm"}}], "usage": None}
    with serving(Answer(200, body)) as server:
        reply = OpenAICompatibleModel(server.settings()).complete(PROMPT)
        assert reply == ModelReply(content=None, model="small-1")


def test_a_slow_server_is_a_call_error_that_may_pass() -> None:
    waiting: list[threading.Event] = []

    def answer(_: dict[str, Any]) -> Answer:
        waiting[0].wait(10)
        return Answer()

    with serving(answer) as server:
        waiting.append(server.released)
        error = failing(server, timeout=0.05)
        assert error.retryable
        assert error.status is None
        assert "ReadTimeout" in str(error)


def test_a_server_that_is_not_there_is_a_call_error_that_may_pass() -> None:
    with serving() as server:
        settings = server.settings()
    with pytest.raises(ModelCallError, match="ConnectError") as caught:
        OpenAICompatibleModel(settings).complete(PROMPT)
    assert caught.value.retryable
    assert caught.value.__cause__ is not None


def test_a_model_without_a_name_or_an_address_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="REFLECTION_MODEL"):
        OpenAICompatibleModel(ModelSettings())
    with pytest.raises(ConfigurationError, match="LLM_BASE_URL"):
        OpenAICompatibleModel(ModelSettings(model="m", base_url="localhost:8000"))


def test_the_key_is_not_in_the_representation() -> None:
    assert repr(OpenAICompatibleModel(SETTINGS)) == "OpenAICompatibleModel(model='small-1')"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"Retry-After": "-4"}, 0.0),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "Mon, 05 Jan 2026 09:00:20 GMT"}, 20.0),
        ({"Retry-After": "Mon, 05 Jan 2026 08:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "Mon, 05 Jan 2026 09:00:20 -0000"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_time_to_wait_is_read_as_seconds_or_as_a_date(
    headers: Any, seconds: float | None
) -> None:
    assert retry_after_seconds(headers, FrozenClock()()) == seconds


def test_a_message_holds_no_keys_and_is_short() -> None:
    text = f"bad {KEY} or Bearer abc.def at https://bob:pw@host/x " + "y" * 10_000
    cleaned = clean_message(text, ["abc", ""])
    assert len(cleaned) == 300
    for secret in (KEY, "abc.def", "bob:pw"):
        assert secret not in cleaned


def test_statuses_that_may_pass_are_told_from_those_that_may_not() -> None:
    passing = {status for status in range(400, 600) if is_retryable(status)}
    assert passing == {408, 409, 425, 429, *range(500, 600)} - {501, 505}


class ChatModel:
    """What a LangChain chat model looks like from outside."""

    model_name = "chat-1"

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.calls: list[tuple[Any, Any]] = []

    def invoke(self, messages: Any, config: Any = None, **kwargs: Any) -> Any:
        self.calls.append((messages, config))
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class Runnable:
    """A runnable that takes nothing but its input."""

    def invoke(self, value: Any) -> Any:
        return {"lessons": [{"content": value[1]["content"]}]}


def ask(obj: Any) -> ModelReply:
    return as_reflection_model(obj, settings=SETTINGS).complete(PROMPT)


def test_a_chat_model_is_invoked_with_messages_and_without_callbacks() -> None:
    message = SimpleNamespace(
        content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}],
        usage_metadata={"input_tokens": 11, "output_tokens": 3},
        response_metadata={"finish_reason": "length", "model_name": "chat-1-2026"},
    )
    model = ChatModel(message)
    reply = ask(model)
    assert reply == ModelReply(message.content, "length", 11, 3, "chat-1-2026")
    ((messages, config),) = model.calls
    assert [m["role"] for m in messages] == ["system", "user"]
    assert messages[1]["content"] == "What {happened}?"
    assert config == {"callbacks": [], "tags": ["hindsight:internal"]}


def test_a_runnable_without_config_is_invoked_too() -> None:
    assert ask(Runnable()).content == {"lessons": [{"content": "What {happened}?"}]}


def test_other_names_of_usage_and_finish_reason_are_read() -> None:
    message = SimpleNamespace(
        content="{}",
        response_metadata={
            "stop_reason": "max_tokens",
            "token_usage": {"prompt_tokens": 5, "completion_tokens": 2},
            "model": "m",
        },
    )
    assert ask(ChatModel(message)) == ModelReply("{}", "max_tokens", 5, 2, "m")


def test_a_structured_output_model_gives_its_object() -> None:
    class Parsed:
        def model_dump(self) -> dict[str, Any]:
            return LESSONS

    raw = SimpleNamespace(content="", usage_metadata={"input_tokens": 4, "output_tokens": 2})
    assert ask(ChatModel(Parsed())).content == LESSONS
    assert ask(ChatModel(LESSONS)).content == LESSONS
    both = ask(ChatModel({"raw": raw, "parsed": Parsed(), "parsing_error": None}))
    assert (both.content, both.tokens_in) == (LESSONS, 4)
    failed = {"raw": SimpleNamespace(content="{}"), "parsed": None, "parsing_error": "x"}
    assert ask(ChatModel(failed)).content == "{}"
    called = SimpleNamespace(content="", tool_calls=[{"name": "reflection", "args": LESSONS}])
    assert ask(ChatModel(called)).content == LESSONS
    other = SimpleNamespace(content="", tool_calls=[{"name": "reflection", "args": "{"}])
    assert ask(ChatModel(other)).content is None


class Llm:
    """What a LlamaIndex LLM looks like from outside."""

    model = "llama-1"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        self.prompts.append(prompt)
        return SimpleNamespace(
            text="{}", raw=None, additional_kwargs={"prompt_tokens": 8, "completion_tokens": 1}
        )

    def chat(self, messages: Any, **kwargs: Any) -> Any:
        raise AssertionError("its messages are a type of its own")


class ChatOnly:
    def chat(self, messages: Any) -> Any:
        return SimpleNamespace(message=SimpleNamespace(content=json.dumps(messages)), raw={})


def test_a_llama_index_llm_completes_the_whole_prompt() -> None:
    llm = Llm()
    assert ask(llm) == ModelReply("{}", "", 8, 1, "")
    assert llm.prompts == ["Be brief\n\nWhat {happened}?"]


def test_a_client_that_only_chats_gets_messages() -> None:
    assert json.loads(str(ask(ChatOnly()).content))[0] == {"role": "system", "content": "Be brief"}


@pytest.mark.parametrize("answer", ["{}", {}, [], None, LESSONS])
def test_a_function_gets_the_prompt_as_text(answer: Any) -> None:
    seen: list[str] = []

    def function(text: str) -> Any:
        seen.append(text)
        return answer

    assert ask(function) == ModelReply(content=answer)
    assert seen == ["Be brief\n\nWhat {happened}?"]


def test_a_function_may_give_a_whole_reply() -> None:
    reply = ModelReply("{}", "stop", 1, 2, "m")
    assert ask(lambda _: reply) is reply


def test_our_own_models_are_returned_as_they_are() -> None:
    for model in (ScriptedModel(["{}"]), OpenAICompatibleModel(SETTINGS)):
        assert as_reflection_model(model, settings=SETTINGS) is model


@pytest.mark.parametrize("obj", [None, "gpt-5", ChatModel, 7, object()])
def test_what_is_no_model_is_refused_with_what_is_accepted(obj: Any) -> None:
    with pytest.raises(ConfigurationError, match="REFLECTION_MODEL"):
        as_reflection_model(obj, settings=SETTINGS)


def test_an_asynchronous_function_is_refused_with_advice() -> None:
    async def function(text: str) -> str:
        return "{}"

    with pytest.raises(ModelCallError, match="synchronous form"):
        ask(function)


class RateLimitError(Exception):
    """An error as model clients raise it."""

    def __init__(self, response: Any, **attributes: Any) -> None:
        super().__init__(f"limit reached for {KEY}")
        self.response = response
        for name, value in attributes.items():
            setattr(self, name, value)


def test_the_status_and_the_wait_are_taken_from_a_clients_own_error() -> None:
    request = httpx.Request("POST", "http://127.0.0.1/")
    response = httpx.Response(429, headers={"Retry-After": "7"}, request=request)
    for error in (RateLimitError(response), RateLimitError(response, status_code=429)):
        with pytest.raises(ModelCallError, match="'chat-1' failed with status 429") as caught:
            ask(ChatModel(error))
        assert caught.value.status == 429
        assert caught.value.retry_after == 7.0
        assert caught.value.retryable
        assert KEY not in str(caught.value)
        assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        (TimeoutError(), None, True),
        (ConnectionResetError("reset"), None, True),
        (RateLimitError(None), None, True),
        (ValueError("bad"), None, False),
        (RateLimitError(None, status_code=401), 401, False),
        (RateLimitError(None, code="invalid", status=503), 503, True),
        (RateLimitError(None, code=True), None, True),
    ],
)
def test_whether_a_foreign_error_may_pass(
    error: Exception, status: int | None, retryable: bool
) -> None:
    translated = call_error(error, model="m", clock=lambda: datetime(2026, 1, 5, tzinfo=UTC))
    assert (translated.status, translated.retryable) == (status, retryable)


def test_our_own_errors_pass_through_unchanged() -> None:
    error = ModelReplyError("no", raw_reply="x")
    with pytest.raises(ModelReplyError) as caught:
        ask(ChatModel(error))
    assert caught.value is error


def test_an_interrupt_is_not_translated() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(ChatModel(KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("status", "message", "overflow"),
    [
        (400, "context_length_exceeded", True),
        (413, "payload", True),
        (400, "prompt is too long: 9000 tokens > 8000", True),
        (None, "This exceeds the model's context window", True),
        (429, "too many tokens per minute", False),
        (400, "unknown parameter", False),
        (401, "maximum context", False),
    ],
)
def test_an_overflow_is_told_by_status_and_words(
    status: int | None, message: str, overflow: bool
) -> None:
    assert is_context_overflow(ModelCallError(message, status=status)) == overflow
