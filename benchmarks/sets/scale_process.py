"""Jobs in processes of their own, and what such a process holds in memory."""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["Footprint", "footprint", "in_own_process"]

R = TypeVar("R")
STATUS = Path("/proc/self/status")
JOB = (
    "import pickle, sys; job, arguments = pickle.load(sys.stdin.buffer); "
    "answer = job(*arguments); sys.stdout.buffer.write(pickle.dumps(answer))"
)


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of this process in MB (10⁶ bytes), NaN where the system does not tell.

    Attributes:
        resident: What of it is in memory now, mapped files included.
        anonymous: The part of it that is no file's, which only swapping could free.
        peak: The most that was ever resident.
    """

    resident: float
    anonymous: float
    peak: float


def in_own_process(job: Callable[..., R], *arguments: object) -> R:
    """Return `job(*arguments)`, run in a new interpreter that ends afterwards.

    The interpreter imports the module of `job` and nothing else of the benchmarks, so that what
    it holds in memory is the job's. Its progress bars and errors go to standard error.

    Args:
        job: A function of a module.
        arguments: What it is given; whatever can be pickled.

    Raises:
        CalledProcessError: If the job raised something.
    """
    done = subprocess.run(
        [sys.executable, "-c", JOB],
        input=pickle.dumps((job, arguments)),
        stdout=subprocess.PIPE,
        check=True,
    )
    answer: R = pickle.loads(done.stdout)
    return answer


def footprint() -> Footprint:
    """Return what this process holds in memory.

    Linux tells all three in `/proc/self/status`. Its `getrusage` would not do: a process starts
    with the peak of the one that started it.
    """
    try:
        lines = STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1_024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
        return Footprint(float("nan"), float("nan"), peak)
    told = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    resident, anonymous, peak = (
        int(told[name][0]) * 1_024 / 1e6 for name in ("VmRSS", "RssAnon", "VmHWM")
    )
    return Footprint(resident, anonymous, peak)
