"""All settings in one frozen object; the only reader of the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hindsight_core.errors import ConfigurationError
from hindsight_core.folders import folder_at
from hindsight_core.plain_functions import check_plain

__all__ = ["DEFAULT_TASK_TYPES", "KNOWN_VARIABLES", "ModelSettings", "ServerSettings", "Settings"]

DEFAULT_TASK_TYPES = (
    "general",
    "coding",
    "data_analysis",
    "information_retrieval",
    "writing",
    "planning",
    "customer_support",
    "operations",
    "web_navigation",
    "conversation",
)
"""Task types known out of the box; the first one takes whatever does not fit."""

PREFIX = "HINDSIGHT_MEMORY_"
KNOWN_VARIABLES = (
    *(
        PREFIX + name
        for name in (
            "ALLOW_DOWNLOAD",
            "API_KEY",
            "CACHE_DIR",
            "DEBUG",
            "EMBEDDING_MODEL",
            "EMBEDDING_PATH",
            "EXPAND",
            "LOG_RETENTION_DAYS",
            "PATH",
            "PROFILE",
            "RERANK",
            "STRICT",
            "TOKEN_BUDGET",
            "URL",
        )
    ),
    "LLM_API_KEY",
    "LLM_BASE_URL",
    "REFLECTION_MODEL",
)
"""Every environment variable that is read; `HINDSIGHT_MEMORY_DEBUG` only by the command line."""

RERANKERS = ("off", "model", "cross-encoder")
EXPANSIONS = ("off", "session", "model")
_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The reflection model behind an OpenAI-compatible endpoint.

    Attributes:
        model: Name of the model; `""` leaves reflection to the rules alone.
        base_url: The endpoint, up to and without `/chat/completions`.
        api_key: The key; never logged or stored.
        timeout: Seconds for one call.
        max_retries: Further attempts after a retryable failure.
        max_total_wait: Seconds spent on one run's calls and waits altogether.
        max_input_tokens: Budget of one prompt.
        max_output_tokens: Cap on one answer.
    """

    model: str = ""
    base_url: str = "https://api.openai.com/v1"
    api_key: str = field(default="", repr=False)
    timeout: float = 60.0
    max_retries: int = 3
    max_total_wait: float = 180.0
    max_input_tokens: int = 8_000
    max_output_tokens: int = 1_500

    def __post_init__(self) -> None:
        """Validate the numbers."""
        _positive("timeout", self.timeout)
        _positive("max_total_wait", self.max_total_wait)
        _positive("max_input_tokens", self.max_input_tokens)
        _positive("max_output_tokens", self.max_output_tokens)
        if self.max_retries < 0:
            raise ConfigurationError(f"max_retries {self.max_retries!r} is below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the collection on a Qdrant server is laid out; the embedded store reads none of it.

    All but `timeout` count when the collection is made; later the server's own tools change them.

    Attributes:
        collection: Name of the collection.
        timeout: Seconds for one request.
        shards: Shards of the collection, 0 for the server's default.
        replicas: Copies of each shard, 0 for the server's default.
        quantization: `scalar` keeps a quarter of each vector in memory, `binary` a 32nd (for
            models of 1,024 dimensions and more); candidates are scored again by the whole
            vectors. `off` keeps the vectors alone.
        on_disk: Whether whole vectors and payloads are read from disk through the page cache
            instead of being held in memory.
        graph_per_namespace: Whether each namespace gets a search graph of its own instead of
            one for the collection; for many large namespaces that are asked one at a time.
    """

    collection: str = "hindsight_memories"
    timeout: float = 10.0
    shards: int = 0
    replicas: int = 0
    quantization: Literal["off", "scalar", "binary"] = "off"
    on_disk: bool = False
    graph_per_namespace: bool = False

    def __post_init__(self) -> None:
        """Validate the names and the numbers."""
        if not self.collection.strip():
            raise ConfigurationError("the collection's name is blank")
        _positive("timeout", self.timeout)
        for name in ("shards", "replicas"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} {getattr(self, name)!r} is below 0")
        if self.quantization not in ("off", "scalar", "binary"):
            raise ConfigurationError(
                f"quantization {self.quantization!r} is not known; use off, scalar or binary"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How Hindsight behaves; every field has a measured or stated default.

    Attributes:
        profile: Name of the scoring and lifecycle profile.
        top_k: Memories in a retrieval and a brief, `None` for the profile's own.
        token_budget: Most tokens of a brief.
        context_share: Largest share of a given context window that a brief may take.
        strict: Raise what would otherwise be logged and counted.
        task_types: The declared task types; unknown labels become the first one.
        log_retention_days: Days that the raw log of a run is kept.
        max_backlog: Runs waiting for reflection; a run past it is kept but not reflected
            until `reflect --retry`, and is counted as shed.
        lease_seconds: Seconds after which a run held by a dead worker is taken over.
        poll_seconds: Seconds between looks for runs that other processes left.
        drain_seconds: Most seconds that `close` and exit wait for reflections under way.
        tend_hours: Hours between maintenances by the background worker, which then also
            consolidates when the profile's thresholds are reached; 0 leaves both to the verbs.
        sub_tasks: Whether to reflect on each sub-agent's part of a run with tool calls as well,
            besides the run as a whole; costs a model call for each.
        query_cache_size: Query embeddings kept in memory.
        working_ttl_seconds: Seconds that working memory outlives its last use.
        working_token_limit: Tokens that working memory holds per session.
        embedding_model: Name of the dense model.
        embedding_path: Folder with the model's files, `None` to look for it.
        cache_dir: Where fetched models are kept.
        allow_download: Whether a model hub may be asked.
        token_encoding: The tiktoken encoding that budgets are counted in.
        sync_writes: Whether journal and embedded store wait for the disk on every write, so that
            what was acknowledged survives the death of the machine, not only of the process.
        redact_patterns: Further patterns to redact, name to regular expression.
        rerank: Who orders the candidates anew: `off`, `model` (the reflection model),
            `cross-encoder`, or a function from query and texts to a number for each text.
        rerank_model: The cross-encoder, one that fastembed knows.
        rerank_timeout: Most seconds for a re-ranking; past them the order stays.
        expand: What widens short or vague queries: `off`, `session` (working memory), `model`
            (the reflection model), or a function from query and session to further words.
        expand_timeout: Most seconds for a model that widens a query.
        diverse_briefs: Whether near-copies of a run are folded in a brief, and its best
            success and its closest failure come first.
        model: The reflection model.
        server: The collection on a Qdrant server.
    """

    profile: str = "balanced"
    top_k: int | None = None
    token_budget: int = 800
    context_share: float = 0.2
    strict: bool = False
    task_types: tuple[str, ...] = DEFAULT_TASK_TYPES
    log_retention_days: float = 30.0
    max_backlog: int = 10_000
    lease_seconds: float = 600.0
    poll_seconds: float = 5.0
    drain_seconds: float = 5.0
    tend_hours: float = 0.0
    sub_tasks: bool = False
    query_cache_size: int = 512
    working_ttl_seconds: float = 7_200.0
    working_token_limit: int = 4_000
    embedding_model: str = "sentence-transformers/all-MiniLM-L6-v2"
    embedding_path: Path | None = None
    cache_dir: Path | None = None
    allow_download: bool = True
    token_encoding: Literal["o200k_base", "cl100k_base"] = "o200k_base"
    sync_writes: bool = False
    redact_patterns: Mapping[str, str] = field(default_factory=dict)
    rerank: Literal["off", "model", "cross-encoder"] | Callable[[str, Sequence[str]], Any] = "off"
    rerank_model: str = "Xenova/ms-marco-MiniLM-L-6-v2"
    rerank_timeout: float = 10.0
    expand: Literal["off", "session", "model"] | Callable[[str, str], str] = "off"
    expand_timeout: float = 5.0
    diverse_briefs: bool = True
    model: ModelSettings = field(default_factory=ModelSettings)
    server: ServerSettings = field(default_factory=ServerSettings)

    def __post_init__(self) -> None:
        """Validate everything, so that nothing else has to."""
        if self.top_k is not None and not 1 <= self.top_k <= 1_000:
            raise ConfigurationError(f"top_k {self.top_k!r} is not in 1–1000")
        _positive("token_budget", self.token_budget)
        _positive("log_retention_days", self.log_retention_days)
        _positive("max_backlog", self.max_backlog)
        _positive("lease_seconds", self.lease_seconds)
        _positive("poll_seconds", self.poll_seconds)
        _positive("working_ttl_seconds", self.working_ttl_seconds)
        _positive("working_token_limit", self.working_token_limit)
        _positive("rerank_timeout", self.rerank_timeout)
        _positive("expand_timeout", self.expand_timeout)
        _one_of("rerank", self.rerank, RERANKERS)
        _one_of("expand", self.expand, EXPANSIONS)
        if not self.tend_hours >= 0:
            raise ConfigurationError(f"tend_hours {self.tend_hours!r} is not 0 or more")
        if self.drain_seconds < 0 or not math.isfinite(self.drain_seconds):
            raise ConfigurationError(f"drain_seconds {self.drain_seconds!r} is not 0 or more")
        if self.query_cache_size < 0:
            raise ConfigurationError(f"query_cache_size {self.query_cache_size!r} is below 0")
        if not 0 < self.context_share <= 1:
            raise ConfigurationError(f"context_share {self.context_share!r} is not in 0–1")
        if not self.task_types:
            raise ConfigurationError("task_types is empty; declare at least one task type")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from environment variables.

        `HINDSIGHT_MEMORY_PROFILE`, `_TOKEN_BUDGET`, `_STRICT`, `_EMBEDDING_MODEL`,
        `_EMBEDDING_PATH`, `_CACHE_DIR`, `_ALLOW_DOWNLOAD`, `_LOG_RETENTION_DAYS`, `_RERANK`,
        `_EXPAND` set the fields of the same name; `REFLECTION_MODEL`, `LLM_BASE_URL` and
        `LLM_API_KEY` the model.

        Args:
            environ: The variables, by default those of this process.

        Raises:
            ConfigurationError: If a value can't be used; the message names the variable, its
                value and what is allowed.
        """
        env = os.environ if environ is None else environ
        base = cls()
        return cls(
            profile=env.get(PREFIX + "PROFILE") or base.profile,
            token_budget=_whole(env, PREFIX + "TOKEN_BUDGET", base.token_budget),
            strict=_flag(env, PREFIX + "STRICT", base.strict),
            log_retention_days=_number(env, PREFIX + "LOG_RETENTION_DAYS", base.log_retention_days),
            embedding_model=env.get(PREFIX + "EMBEDDING_MODEL") or base.embedding_model,
            embedding_path=_path(env, PREFIX + "EMBEDDING_PATH"),
            cache_dir=_path(env, PREFIX + "CACHE_DIR"),
            allow_download=_flag(env, PREFIX + "ALLOW_DOWNLOAD", base.allow_download),
            rerank=_choice(env, PREFIX + "RERANK", base.rerank, RERANKERS),
            expand=_choice(env, PREFIX + "EXPAND", base.expand, EXPANSIONS),
            model=ModelSettings(
                model=env.get("REFLECTION_MODEL", ""),
                base_url=env.get("LLM_BASE_URL") or base.model.base_url,
                api_key=env.get("LLM_API_KEY", ""),
            ),
        )

    @classmethod
    def usable_from_env(
        cls, environ: Mapping[str, str] | None = None
    ) -> tuple[Settings, dict[str, str]]:
        """Read what can be used of the environment, and say what is wrong with the rest.

        Args:
            environ: The variables, by default those of this process.

        Returns:
            The settings as if no wrong variable were set, and what is wrong with each of these,
            by its name.
        """
        env = dict(os.environ if environ is None else environ)
        faults: dict[str, str] = {}
        for name in KNOWN_VARIABLES:
            try:
                cls.from_env({name: env.get(name, "")})
            except ConfigurationError as error:
                faults[name] = str(error)
                del env[name]
        return cls.from_env(env), faults

    @staticmethod
    def is_debugged(environ: Mapping[str, str] | None = None) -> bool:
        """Whether the command line shows tracebacks: `HINDSIGHT_MEMORY_DEBUG`, unless off."""
        env = os.environ if environ is None else environ
        return env.get(PREFIX + "DEBUG", "").strip().lower() not in {"", *_OFF}

    @staticmethod
    def location_from_env(environ: Mapping[str, str] | None = None) -> tuple[str, str, str]:
        """Return path, URL and API key of the store, `""` where a variable is not set.

        Reads `HINDSIGHT_MEMORY_PATH`, `HINDSIGHT_MEMORY_URL` and `HINDSIGHT_MEMORY_API_KEY`.
        """
        env = os.environ if environ is None else environ
        return (
            env.get(PREFIX + "PATH", ""),
            env.get(PREFIX + "URL", ""),
            env.get(PREFIX + "API_KEY", ""),
        )

    @staticmethod
    def variables_from_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables that are set for Hindsight, by name, with keys hidden.

        Names that start with `HINDSIGHT_MEMORY_` but are not in `KNOWN_VARIABLES` are included,
        so that a misspelled one can be pointed out.
        """
        env = os.environ if environ is None else environ
        return {
            name: "(set)" if name.endswith("API_KEY") else value
            for name, value in sorted(env.items())
            if value and (name in KNOWN_VARIABLES or name.startswith(PREFIX))
        }


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name} {value!r} is not above 0")


def _one_of(name: str, value: object, names: tuple[str, ...]) -> None:
    if value not in names if isinstance(value, str) else value is None:
        raise ConfigurationError(
            f"{name} {value!r} is not known; use one of {', '.join(names)}, or a function"
        )
    check_plain(name, value)


def _number(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name}={text!r} is not a number above 0")
    return value


def _whole(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip()
    try:
        value = float(text) if text else float(default)
    except ValueError:
        value = math.nan
    if not (value > 0 and value.is_integer()):
        raise ConfigurationError(f"{name}={text!r} is not a whole number above 0")
    return int(value)


def _choice(env: Mapping[str, str], name: str, default: Any, choices: tuple[str, ...]) -> Any:
    text = env.get(name, "").strip()
    if text and text not in choices:
        raise ConfigurationError(f"{name}={text!r} is not one of {', '.join(choices)}")
    return text or default


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    text = env.get(name, "").strip().lower()
    if not text:
        return default
    if text in {*_ON, *_OFF}:
        return text in _ON
    raise ConfigurationError(f"{name}={text!r} is not one of {', '.join((*_ON, *_OFF))}")


def _path(env: Mapping[str, str], name: str) -> Path | None:
    text = env.get(name, "").strip()
    return folder_at(text, f"{name}={text!r}") if text else None
