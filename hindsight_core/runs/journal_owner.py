"""Names for whoever holds a lease, from which others on the host can tell whether it lives."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from pathlib import Path

__all__ = ["new_owner", "owner_in_child", "owner_is_alive"]


def new_owner() -> str:
    """Return a name for a worker of this process: host, process id, its start, a random part."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_start_of(pid)}:{uuid.uuid4().hex[:8]}"


def owner_in_child(owner: str) -> str:
    """Return the name for a worker of this process that was `owner` before a fork."""
    if _parts(owner) is not None:
        return new_owner()
    return f"{owner.partition('~')[0]}~{os.getpid()}"


def owner_is_alive(owner: str) -> bool:
    """Whether the process that made `owner` with `new_owner` may still be running.

    In doubt it is: on another host, on a system that does not tell, or for a name of another
    form. Such a lease ends by its time.
    """
    parts = _parts(owner)
    if parts is None or parts[0] != _host() or sys.platform == "win32":
        return True
    _, pid, start = parts
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is there but not ours to signal, or no process id
        return True
    # A process id may have been given to another process since.
    return start == "" or _start_of(pid) in ("", start)


def _parts(owner: str) -> tuple[str, int, str] | None:
    parts = owner.split(":")
    if len(parts) != 4 or not parts[1].isdecimal():
        return None
    return parts[0], int(parts[1]), parts[2]


def _host() -> str:
    return socket.gethostname().replace(":", "_")


def _start_of(pid: int) -> str:
    """Return when the process started, in the system's own count, `""` where it does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name in parentheses may hold anything; the start is the 20th field after it.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""
