"""What each module offers is what its `__all__` says, no more and no less."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import hindsight_core
import hindsight_langchain
import hindsight_llamaindex

PACKAGES: tuple[ModuleType, ...] = (hindsight_core, hindsight_langchain, hindsight_llamaindex)


def module_names() -> list[str]:
    names = [package.__name__ for package in PACKAGES]
    for package in PACKAGES:
        names += [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [name for name in names if not name.endswith("__main__")]


def defined_publicly(module: ModuleType) -> set[str]:
    """Return the names without underscore that `module` itself defines as class or function."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = ast.parse(inspect.getsource(module)).body
    return {n.name for n in nodes if isinstance(n, kinds) and not n.name.startswith("_")}


def missing_from_all(module: ModuleType) -> set[str]:
    return defined_publicly(module) - set(getattr(module, "__all__", ()))


@pytest.mark.parametrize("name", module_names())
def test_every_exported_name_exists_and_every_public_one_is_exported(name: str) -> None:
    module = importlib.import_module(name)
    exported = list(getattr(module, "__all__", ()))
    assert len(exported) == len(set(exported))
    assert [n for n in exported if getattr(module, n, None) is None] == []
    assert missing_from_all(module) == set()


def test_the_core_offers_the_facade_and_what_it_takes_and_returns() -> None:
    wanted = {"Hindsight", "Trajectory", "Memory", "Retrieved", "Brief", "Reflection", "Settings"}
    assert wanted <= set(hindsight_core.__all__)
    assert hindsight_core.Hindsight.__module__ == "hindsight_core.hindsight"


def test_a_public_name_that_is_not_exported_is_found() -> None:
    module = importlib.import_module("hindsight_core.clock")
    forgetful = ModuleType("forgetful")
    forgetful.__dict__.update(vars(module))
    forgetful.__all__ = ["Clock"]  # type: ignore[attr-defined]
    assert "as_utc" in missing_from_all(forgetful)
