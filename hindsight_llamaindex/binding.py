"""How a component refers to an open memory: as data that can be copied, pickled and stored.

LlamaIndex copies components, pickles them, and writes the fields of those in a workflow's
context as JSON. An open memory can't go along, so components hold a `Binding`: where the memory
is and whose part of it. It finds the open memory again within the process, and opens it where
there is none, for example in the process that goes on with a stored context.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, TypeAlias

from llama_index.core.bridge.pydantic import BaseModel, ConfigDict

from hindsight_core.adapting import before_close
from hindsight_core.errors import ClosedError, ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings

__all__ = ["Binding", "bind"]

MAX_VIEWS = 1_000
"""Views of open memories that are kept; past it, the one unused for longest goes."""

_ViewKey: TypeAlias = tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...], str | None]

_lock = threading.RLock()
_open: dict[str, Hindsight] = {}
_views: OrderedDict[_ViewKey, Hindsight] = OrderedDict()
"""By token, namespaces and user, the views that were asked for: a run asks dozens of times."""
_closed: set[str] = set()
"""Tokens of memories that were closed here: they are not opened again behind anybody's back."""


class Binding(BaseModel):
    """Where an open memory is and whose part of it is meant.

    Attributes:
        path: Its folder.
        url: Its server, `""` for the embedded store. Keys are never kept here.
        namespace: The namespace that is written to.
        read_namespaces: The shared namespaces that are read as well.
        token: Which open memory of this process it is.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    url: str = ""
    namespace: tuple[str, ...]
    read_namespaces: tuple[tuple[str, ...], ...] = ()
    token: str = ""

    def hindsight(self, user_id: Any = None) -> Hindsight:
        """Return the memory, opened if this process has not got it open.

        Args:
            user_id: The user whose view it is to be, `None` for nobody in particular.

        Raises:
            ClosedError: If it was closed in this process.
            NamespaceError: If the id can't be part of a namespace.
            HindsightError: If it can't be opened.
        """
        # Only text is looked up: 1 and True are one key, and no id at all where True is given.
        is_plain = user_id is None or type(user_id) is str
        key = (self.token, self.namespace, self.read_namespaces, user_id if is_plain else None)
        with _lock:
            view = _views.get(key) if is_plain else None
            if view is not None:
                _views.move_to_end(key)
                return view
            found = self._found()
            view = found.scoped(self.namespace, read_namespaces=self.read_namespaces)
            if user_id is not None:
                view = view.for_user(user_id)
            if is_plain and _open.get(self.token) is found:
                _views[key] = view
                while len(_views) > MAX_VIEWS:
                    _views.popitem(last=False)
        return view

    def _found(self) -> Hindsight:
        found = _open.get(self.token) or self._elsewhere()
        if found is None and self.token in _closed:
            raise ClosedError(
                f"the memory at {self.url or self.path} was closed; open it again with "
                "Hindsight.open(…) to go on with it"
            )
        return found or self._opened()

    def _elsewhere(self) -> Hindsight | None:
        """Return a memory of this process at the same place."""
        for hindsight in _open.values():
            place = hindsight.location
            same = (str(place.path.resolve()), place.url) == (self.path, self.url)
            if same and not hindsight.is_closed:
                return hindsight
        return None

    def _opened(self) -> Hindsight:
        key = Settings.location_from_env()[2] if self.url else None
        hindsight = Hindsight.open(
            self.path,
            url=self.url or None,
            api_key=key or None,
            namespace=self.namespace,
            read_namespaces=self.read_namespaces,
            wait_for_store=True,
        )
        bind(hindsight)
        return hindsight


@dataclass(frozen=True, slots=True)
class _Forget:
    token: str

    def __call__(self) -> None:
        with _lock:
            _open.pop(self.token, None)
            _closed.add(self.token)
            for key in [key for key in _views if key[0] == self.token]:
                del _views[key]


def bind(hindsight: Hindsight) -> Binding:
    """Return how to refer to `hindsight`, and remember it as open in this process.

    Raises:
        ConfigurationError: If it is no open memory.
    """
    if not isinstance(hindsight, Hindsight):
        raise ConfigurationError(
            f"hindsight is {type(hindsight).__name__}, not an open memory; pass "
            "hindsight=Hindsight.open(…, namespace=…)"
        )
    location = hindsight.location
    with _lock:
        token = next((t for t, known in _open.items() if known.location is location), "")
        if not token and not hindsight.is_closed:
            token = uuid.uuid4().hex
            _open[token] = hindsight
            before_close(hindsight, _Forget(token))
    return Binding(
        path=str(location.path.resolve()),
        url=location.url,
        namespace=hindsight.namespace.parts,
        read_namespaces=tuple(other.parts for other in hindsight.read_namespaces),
        token=token,
    )
