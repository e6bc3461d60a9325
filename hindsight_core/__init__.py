"""Hindsight: memory that an agent earns by looking back at its finished runs."""

from typing import TYPE_CHECKING, Any

from hindsight_core.errors import HindsightError
from hindsight_core.models import Brief, Lesson, Memory, Page, Reflection, Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.forethought import Forethought
from hindsight_core.settings import ModelSettings, ServerSettings, Settings
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Outcome, Trajectory

if TYPE_CHECKING:
    from hindsight_core.hindsight import Hindsight

__all__ = [
    "Brief",
    "Forethought",
    "Hindsight",
    "HindsightError",
    "Lesson",
    "Memory",
    "ModelSettings",
    "Namespace",
    "Outcome",
    "Page",
    "Reflection",
    "Retrieved",
    "ServerSettings",
    "Settings",
    "Step",
    "ToolCall",
    "Trajectory",
]


def __getattr__(name: str) -> Any:
    """Import the facade, and with it the engine, only when it is first used."""
    if name == "Hindsight":
        from hindsight_core.hindsight import Hindsight

        return Hindsight
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
