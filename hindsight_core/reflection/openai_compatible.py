"""The reflection model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hindsight_core.clock import Clock, system_clock
from hindsight_core.errors import ConfigurationError, ModelCallError
from hindsight_core.reflection.base import ModelReply, Prompt
from hindsight_core.reflection.model_errors import (
    call_error,
    clean_message,
    is_retryable,
    retry_after_seconds,
)
from hindsight_core.reflection.retry import is_context_overflow
from hindsight_core.settings import ModelSettings

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenAICompatibleModel"]

_FORMATS = ("json_schema", "json_object", "none")
_OTHER_CAP = re.compile(r"max_completion_tokens")


class OpenAICompatibleModel:
    """Calls `POST {base_url}/chat/completions`; safe to use from several threads.

    The answer is held to the prompt's JSON schema where the server can do that; one that
    answers 400 to it is asked for a JSON object, and then for plain text. What worked is
    remembered. A connection lives for one call only, so that nothing is shared by forks.

    Example:
        ```python
        model = OpenAICompatibleModel(ModelSettings(model="small", base_url="http://localhost:8000/v1"))
        ```
    """

    def __init__(self, settings: ModelSettings, *, clock: Clock = system_clock) -> None:
        if not settings.model.strip():
            raise ConfigurationError(
                "no reflection model is named; set REFLECTION_MODEL or ModelSettings.model"
            )
        if not settings.base_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"base_url {settings.base_url!r} is not an http or https address; "
                "set LLM_BASE_URL or ModelSettings.base_url"
            )
        self._settings = settings
        self._clock = clock
        self._url = settings.base_url.rstrip("/") + "/chat/completions"
        self._format = 0
        self._cap = "max_tokens"

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel(model={self._settings.model!r})"

    def complete(self, prompt: Prompt) -> ModelReply:
        """Answer `prompt` in one call, or in up to four while the server's abilities are found.

        Raises:
            ModelCallError: With the status, what the server asks to wait, and whether the same
                call may work later.
        """
        choice, cap = self._format, self._cap
        while True:
            try:
                reply = self._post(self._body(prompt, _FORMATS[choice], cap))
            except ModelCallError as error:
                if error.status != 400 or is_context_overflow(error):
                    raise
                if cap == "max_tokens" and _OTHER_CAP.search(str(error)):
                    cap = "max_completion_tokens"
                elif choice + 1 < len(_FORMATS):
                    choice += 1
                else:
                    raise
            else:
                self._format, self._cap = choice, cap
                return reply

    def _body(self, prompt: Prompt, response_format: str, cap: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            cap: prompt.max_output_tokens,
        }
        if response_format == "json_schema":
            schema = {"name": "reflection", "schema": prompt.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif response_format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _post(self, body: Mapping[str, Any]) -> ModelReply:
        import httpx

        headers = {"Content-Type": "application/json"}
        if self._settings.api_key:
            headers["Authorization"] = f"Bearer {self._settings.api_key}"
        content = json.dumps(body).encode("ascii")
        try:
            with httpx.Client(timeout=self._settings.timeout) as client:
                response = client.post(self._url, content=content, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise call_error(
                error, model=self._name, secrets=(self._settings.api_key,), clock=self._clock
            ) from error
        if response.status_code != 200:
            raise self._refusal(response)
        return self._reply(response)

    @property
    def _name(self) -> str:
        return f"the reflection model {self._settings.model!r}"

    def _refusal(self, response: httpx.Response) -> ModelCallError:
        said = clean_message(_error_text(response), (self._settings.api_key,))
        advice = {
            401: "; check LLM_API_KEY",
            403: "; check what LLM_API_KEY may do",
            404: "; check LLM_BASE_URL and REFLECTION_MODEL",
        }.get(response.status_code, "")
        return ModelCallError(
            f"{self._name} answered {response.status_code}: {said or 'no message'}{advice}",
            status=response.status_code,
            retry_after=retry_after_seconds(response.headers, self._clock()),
            retryable=is_retryable(response.status_code, said),
        )

    def _reply(self, response: httpx.Response) -> ModelReply:
        try:
            data = response.json()
            choice = data["choices"][0]
            message = choice["message"]
            content = message.get("content")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            said = clean_message(response.text[:400], (self._settings.api_key,))
            raise ModelCallError(
                f"{self._name} answered 200 without a choice: {said[:120]!r}; "
                "check that LLM_BASE_URL leads to an OpenAI-compatible endpoint",
                status=200,
                retryable=True,
            ) from error
        usage = data.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return ModelReply(
            content=content if isinstance(content, (str, dict, list)) else None,
            finish_reason=str(choice.get("finish_reason") or ""),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            model=str(data.get("model") or self._settings.model),
        )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _error_text(response: httpx.Response) -> str:
    try:
        data = response.json()
    except (ValueError, RecursionError):
        return response.text
    error = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("code") or error.get("type")]
        return " ".join(str(part) for part in parts if part) or json.dumps(error)
    return str(error)
