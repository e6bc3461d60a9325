"""`hindsight doctor`: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rich.table import Table

from hindsight_core.cli.installation import (
    Check,
    Level,
    check_engines,
    check_environment,
    check_expansion,
    check_folder,
    check_names,
    check_python,
    check_reflection_model,
    check_reranker,
)
from hindsight_core.cli.output import Output, counted, make_table, plain
from hindsight_core.cli.session import Target, is_missing, open_memory
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.embedding.tokens import open_token_counter
from hindsight_core.errors import HindsightError, StoreLockedError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import STATUSES
from hindsight_core.retrieval.profiles import PROFILES, profile_named
from hindsight_core.runs.journal import FILE_NAME, Journal
from hindsight_core.settings import ModelSettings, Settings

__all__ = ["doctor", "run_checks"]

PAGE = 256
"""Memories read at once."""

STYLES: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(options: argparse.Namespace, out: Output) -> int:
    """`hindsight doctor`: check the installation, the store and the journal."""
    settings, faults = Settings.usable_from_env()
    checks = tuple(run_checks(Target.of(options, settings=settings), faults))
    is_broken = any(check.level == "fail" for check in checks)
    out.show({"checks": checks, "ok": not is_broken}, lambda: [_table(checks)])
    return 1 if is_broken else 0


def run_checks(target: Target, faults: Mapping[str, str]) -> Iterator[Check]:
    """Yield one check after the other; none of them raises or makes anything.

    Args:
        target: What is checked, with what the settings say where no variable is wrong.
        faults: What is wrong with variables, by name.
    """
    yield check_python((sys.version_info.major, sys.version_info.minor, sys.version_info.micro))
    yield check_engines()
    yield check_names()
    yield check_environment(Settings.variables_from_env(), faults)
    yield _check_profile(target)
    embedder = _check_embedder(target)
    yield embedder
    yield _check_tokens(target)
    yield check_reflection_model(target.settings)
    yield check_reranker(target.settings)
    yield check_expansion(target.settings)
    folder = check_folder(target.path)
    yield folder
    if folder.level != "fail":
        yield _check_store(target, can_embed=embedder.level != "fail")
        yield from _check_journal(target)


def _check_profile(target: Target) -> Check:
    try:
        return Check("profile", "ok", profile_named(target.settings.profile).name)
    except HindsightError as error:
        return Check("profile", "fail", str(error), "choose one of those profiles")


def _check_embedder(target: Target) -> Check:
    try:
        embedder = open_embedder(target.settings)
        origin = embedder.origin
    except HindsightError as error:
        return Check("embedding", "fail", str(error), 'pip install "hindsight-memory[offline]"')
    return Check("embedding", "ok", f"{embedder.name}, from {origin}")


def _check_tokens(target: Target) -> Check:
    settings = target.settings
    counter = open_token_counter(settings.token_encoding, allow_download=settings.allow_download)
    if counter.exact:
        return Check("tokens", "ok", f"counted exactly with {counter.encoding}")
    return Check(
        "tokens",
        "warn",
        f"estimated on the high side: {counter.encoding} is not at hand",
        'pip install "hindsight-memory[offline]"',
    )


def _check_store(target: Target, *, can_embed: bool) -> Check:
    if is_missing(target):
        return Check("store", "ok", f"none yet at {target.path}; the first use makes one")
    if not can_embed:
        return Check("store", "warn", "not opened, as there is no embedding model")
    try:
        with open_memory(_plainly(target)) as hindsight:
            _read_everything(hindsight)
            stats = hindsight.stats()
    except StoreLockedError as error:
        return Check("store", "warn", str(error), "nothing, if that process is meant to run")
    except HindsightError as error:
        return Check("store", "fail", str(error), "see the message; nothing was changed")
    if stats.store is None:
        told = "; ".join(stats.last_failures.values())
        return Check("store", "fail", told or "it can't be read", "see the message")
    store = stats.store
    unreadable = store.details.get("unreadable", 0)
    if unreadable:
        return Check(
            "store",
            "warn",
            f"{store.backend} at {store.location}, {unreadable} of {store.points} memories can't "
            "be read and are left out; the log names them",
            "restore the store from a backup, or reflect their runs again in another folder",
        )
    held = counted(store.points, "memory", "memories")
    return Check("store", "ok", f"{store.backend} at {store.location}, {held}")


def _plainly(target: Target) -> Target:
    """Return `target` without what has a check of its own, so that its faults hide no others."""
    settings = replace(target.settings, model=ModelSettings(), rerank="off", expand="off")
    if settings.profile not in PROFILES:
        settings = replace(settings, profile=Settings().profile)
    return replace(target, settings=settings)


def _read_everything(hindsight: Hindsight) -> None:
    """Read each memory of the namespace once, so that the store has met what is damaged."""
    cursor: str | None = None
    while True:
        cursor = hindsight.list(limit=PAGE, cursor=cursor, statuses=STATUSES).cursor
        if cursor is None:
            return


def _check_journal(target: Target) -> Iterator[Check]:
    file = Path(target.path, FILE_NAME)
    if not file.is_file():
        yield Check("journal", "ok", f"none yet at {file}")
        return
    try:
        with Journal.open(file) as journal:
            counts = journal.counts()
    except HindsightError as error:
        yield Check("journal", "fail", str(error), "restore it from a backup, or move it away")
        return
    waiting = counts.pending + counts.leased + counts.applying
    yield Check("journal", "ok", f"{counted(counts.done, 'run')} reflected on, {waiting} waiting")
    for number, what in ((counts.failed, "failed"), (counts.shed, "shed")):
        if number:
            yield Check(
                "journal",
                "warn",
                f"{counted(number, 'run')} {what}, kept for another try",
                "hindsight reflect --retry",
            )


def _table(checks: tuple[Check, ...]) -> Table:
    table = make_table(columns=("", "check", "found", "what to do"), numbers=("", "check"))
    for check in checks:
        table.add_row(
            plain(check.level, STYLES[check.level]),
            plain(check.name),
            plain(" ".join(check.detail.split())),
            plain(check.remedy),
        )
    return table
