"""The README and the pages in docs: their code runs, their links lead somewhere."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from hindsight_core.cli import main
from hindsight_core.cli.parser import build_parser
from hindsight_core.options import RetrieveOptions
from hindsight_core.retrieval.profiles import PROFILES
from hindsight_core.settings import (
    KNOWN_VARIABLES,
    ModelSettings,
    ServerSettings,
    Settings,
)

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = '{"run_id": "r1", "messages": [{"role": "user", "content": "I always use metric units."}]}\n'


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


PROGRAMS = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page, "python"), 1)
]


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_in_the_docs_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs", "exec"), {"__name__": "docs"})


def test_every_program_of_every_page_is_run() -> None:
    pages = [page for page in ROOT.rglob("docs/*.md") if ".venv" not in page.parts]
    fences = sum(
        re.match(r"\s*(```|~~~) *(python|py)\b", line) is not None
        for page in {*pages, *ROOT.glob("*.md")}
        for line in page.read_text("utf-8").splitlines()
    )
    assert len(PROGRAMS) == fences >= 20


def test_the_program_in_the_readme_prints_a_brief_with_the_preference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(ROOT / "README.md", "python")[0], "readme", "exec"), {})
    assert "metric units" in capsys.readouterr().out


def test_the_commands_in_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text(RUN, "utf-8")
    lines = "".join(blocks(ROOT / "README.md", "console")).splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("hindsight ")]
    assert len(commands) >= 5
    assert [main(command) for command in commands] == [0] * len(commands)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


GROUPS = (Settings, ModelSettings, ServerSettings)


def parts_of_the_page_of_settings() -> list[str]:
    """Return the parts of the page about each group of settings, in order."""
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    return re.split(r"^`(?:ModelSettings|ServerSettings)`", page, flags=re.M)


def test_every_setting_and_variable_is_on_the_page_of_settings() -> None:
    page = "".join(parts_of_the_page_of_settings())
    assert [name for name in KNOWN_VARIABLES if f"`{name}`" not in page] == []
    for group, part in zip(GROUPS, parts_of_the_page_of_settings(), strict=True):
        assert [f.name for f in dataclasses.fields(group) if f"`{f.name}`" not in part] == []


def test_the_defaults_on_the_page_of_settings_are_the_defaults() -> None:
    for group, part in zip(GROUPS, parts_of_the_page_of_settings(), strict=True):
        rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", part, re.M))
        defaults = dataclasses.asdict(group())
        numbers = {n: v for n, v in defaults.items() if isinstance(v, int | float)}
        told = {name: rows[name] for name in numbers}
        shown = {n: str(v).lower() if isinstance(v, bool) else f"{v:g}" for n, v in numbers.items()}
        assert told == shown


def test_every_verb_is_on_the_page_of_the_command_line() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    actions = build_parser("0")._subparsers
    assert actions is not None
    verbs = actions._group_actions[0].choices
    assert verbs is not None
    assert [verb for verb in verbs if f"`{verb}" not in page] == []


def test_every_profile_is_on_the_page_of_retrieval() -> None:
    page = (ROOT / "docs" / "retrieval.md").read_text("utf-8")
    assert [name for name in PROFILES if f"`{name}`" not in page] == []


def test_every_option_of_a_retrieval_is_in_the_page_about_it() -> None:
    said = (ROOT / "docs" / "retrieval.md").read_text("utf-8")
    named = set(re.findall(r"\b(\w+)=", said)) | set(re.findall(r"`(\w+)`", said))
    assert RetrieveOptions.__optional_keys__ <= named
