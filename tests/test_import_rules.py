"""The shape of the project, checked on its import graph.

The rules are functions of a tree of files, so that each is also run on a small tree that
breaks it: a check that can't fail proves nothing.
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("hindsight_core", "hindsight_langchain", "hindsight_llamaindex")
ADAPTERS = ("hindsight_langchain", "hindsight_llamaindex")
MAX_LINES = 400

FRAMEWORKS = ("langchain", "langgraph", "llama_index", "workflows", "mcp")
"""Top-level names, or beginnings of them, that the core never imports."""

ENGINES = ("qdrant_client", "qdrant_edge", "fastembed", "tiktoken")
"""What the adapters never import: they reach it through the core only."""

HOMES = {
    "qdrant_edge": ("hindsight_core.store.edge", "hindsight_core.embedding.bm25"),
    "qdrant_client": ("hindsight_core.store.qdrant",),
    "fastembed": ("hindsight_core.embedding",),
    "tiktoken": ("hindsight_core.embedding",),
}
"""Packages that only the named modules, or modules inside them, may import."""

ENVIRONMENT_READERS = (
    "hindsight_core.settings",
    "hindsight_core.embedding.sources",  # switches off its runtime's usage reports
    "hindsight_core.embedding.bpe",  # looks where tiktoken was told to keep its files
)
"""The modules that read the environment: ours, and two for variables of the libraries."""

HEAVY = ("numpy", "qdrant_client", "qdrant_edge", "fastembed", "onnxruntime", "rich", "httpx")
"""What `import hindsight_core` must not load."""


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, its text and what it imports."""

    name: str
    source: str
    imports: frozenset[str]

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


def read_modules(root: Path) -> dict[str, Module]:
    """Return every module of the project under `root`, by dotted name."""
    sources = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            sources[name] = (path.read_text("utf-8"), path.name == "__init__.py")
    return {
        name: Module(name, text, frozenset(_imports(ast.parse(text), name, is_package, sources)))
        for name, (text, is_package) in sources.items()
    }


def _imports(tree: ast.Module, name: str, is_package: bool, known: Iterable[str]) -> Iterator[str]:
    """Yield what a module imports anywhere: at the top, in functions, for type checkers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = name.split(".")[: len(name.split(".")) - node.level + is_package]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in known else base
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _top(name: str) -> str:
    return name.partition(".")[0]


def _inside(name: str, homes: Iterable[str]) -> bool:
    return any(name == home or name.startswith(home + ".") for home in homes)


def framework_imports_of_the_core(modules: dict[str, Module]) -> list[str]:
    return [
        f"{module.name} imports {imported}"
        for module in modules.values()
        if module.package == "hindsight_core"
        for imported in sorted(module.imports)
        if _top(imported).startswith(FRAMEWORKS) or _top(imported) in ADAPTERS
    ]


def foreign_imports_of_adapters(modules: dict[str, Module]) -> list[str]:
    return [
        f"{module.name} imports {imported}"
        for module in modules.values()
        if module.package in ADAPTERS
        for imported in sorted(module.imports)
        if _top(imported) in {*ENGINES, *ADAPTERS} - {module.package}
    ]


def engine_imports_outside_their_homes(modules: dict[str, Module]) -> list[str]:
    return [
        f"{module.name} imports {imported}"
        for module in modules.values()
        for imported in sorted(module.imports)
        if _top(imported) in HOMES and not _inside(module.name, HOMES[_top(imported)])
    ]


def import_cycle(modules: dict[str, Module]) -> list[str]:
    """Return the modules of one cycle, or nothing."""
    graph = {
        m.name: {i for i in m.imports if i in modules and i != m.name} for m in modules.values()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def overlong_modules(modules: dict[str, Module]) -> list[str]:
    lengths = {m.name: len(m.source.splitlines()) for m in modules.values()}
    return [f"{name} has {length} lines" for name, length in lengths.items() if length > MAX_LINES]


def environment_readers(modules: dict[str, Module]) -> list[str]:
    return [
        module.name
        for module in modules.values()
        if module.name not in ENVIRONMENT_READERS
        and any(_reads_environment(node) for node in ast.walk(ast.parse(module.source)))
    ]


def _reads_environment(node: ast.AST) -> bool:
    names = {"environ", "environb", "getenv", "getenvb"}
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "os" and node.attr in names
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and any(alias.name in names for alias in node.names)
    return False


@pytest.fixture(scope="module")
def project() -> dict[str, Module]:
    return read_modules(ROOT)


def test_the_project_is_found(project: dict[str, Module]) -> None:
    assert {"hindsight_core", "hindsight_core.models", *ADAPTERS} <= set(project)
    assert "hindsight_core.errors" in project["hindsight_core.models"].imports


def test_the_core_imports_no_framework_and_no_adapter(project: dict[str, Module]) -> None:
    assert framework_imports_of_the_core(project) == []


def test_adapters_import_neither_each_other_nor_an_engine(project: dict[str, Module]) -> None:
    assert foreign_imports_of_adapters(project) == []


def test_each_engine_is_imported_in_its_own_room_only(project: dict[str, Module]) -> None:
    assert engine_imports_outside_their_homes(project) == []


def test_no_two_modules_import_each_other(project: dict[str, Module]) -> None:
    assert import_cycle(project) == []


def test_no_module_is_longer_than_four_hundred_lines(project: dict[str, Module]) -> None:
    assert overlong_modules(project) == []


def test_only_the_settings_read_the_environment(project: dict[str, Module]) -> None:
    assert environment_readers(project) == []


def test_importing_the_core_loads_nothing_heavy() -> None:
    code = (
        f"import sys, hindsight_core\nprint(*(name for name in {HEAVY!r} if name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.split() == []


def tree(root: Path, **files: str) -> dict[str, Module]:
    """Write a small project; `__` in a keyword is a folder."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return read_modules(root)


@pytest.mark.parametrize(
    "line",
    [
        "import langchain_core.messages",
        "from langgraph.types import interrupt",
        "def late():\n    from llama_index.core import Settings",
        "if TYPE_CHECKING:\n    from workflows import Context",
        "importlib.import_module('mcp.server')",
        "import hindsight_langchain",
    ],
)
def test_a_framework_in_the_core_is_found_wherever_it_hides(tmp_path: Path, line: str) -> None:
    assert len(framework_imports_of_the_core(tree(tmp_path, hindsight_core__a=line))) == 1


@pytest.mark.parametrize(
    "line", ["import qdrant_client", "from fastembed import TextEmbedding", "import tiktoken.load"]
)
def test_an_engine_in_an_adapter_is_found(tmp_path: Path, line: str) -> None:
    modules = tree(tmp_path, hindsight_langchain__a=line)
    assert len(foreign_imports_of_adapters(modules)) == 1


def test_an_adapter_that_imports_the_other_is_found(tmp_path: Path) -> None:
    modules = tree(tmp_path, hindsight_langchain__a="from hindsight_llamaindex import x")
    assert len(foreign_imports_of_adapters(modules)) == 1


def test_an_engine_outside_its_room_is_found_and_inside_it_is_not(tmp_path: Path) -> None:
    modules = tree(
        tmp_path,
        hindsight_core__store__edge="import qdrant_edge",
        hindsight_core__store__edges="import qdrant_edge",
        hindsight_core__embedding__dense="import fastembed",
    )
    assert engine_imports_outside_their_homes(modules) == [
        "hindsight_core.store.edges imports qdrant_edge"
    ]


def test_a_cycle_is_found_through_relative_and_type_checking_imports(tmp_path: Path) -> None:
    modules = tree(
        tmp_path,
        hindsight_core__room____init__="",
        hindsight_core__room__a="from . import b",
        hindsight_core__room__b="from ..c import thing",
        hindsight_core__c="if TYPE_CHECKING:\n    from hindsight_core.room.a import x",
    )
    assert set(import_cycle(modules)) == {
        "hindsight_core.room.a",
        "hindsight_core.room.b",
        "hindsight_core.c",
    }


def test_a_package_that_imports_its_own_module_is_no_cycle(tmp_path: Path) -> None:
    modules = tree(
        tmp_path, hindsight_core____init__="from hindsight_core.a import x", hindsight_core__a=""
    )
    assert import_cycle(modules) == []


def test_an_overlong_module_is_found_and_one_at_the_limit_is_not(tmp_path: Path) -> None:
    modules = tree(
        tmp_path, hindsight_core__a="x = 1\n" * MAX_LINES, hindsight_core__b="x = 1\n" * 401
    )
    assert overlong_modules(modules) == ["hindsight_core.b has 401 lines"]


@pytest.mark.parametrize(
    "line",
    ["import os\nos.environ.get('A')", "import os\nos.getenv('A')", "from os import environ"],
)
def test_a_second_reader_of_the_environment_is_found(tmp_path: Path, line: str) -> None:
    modules = tree(tmp_path, hindsight_core__a=line, hindsight_core__settings=line)
    assert environment_readers(modules) == ["hindsight_core.a"]
