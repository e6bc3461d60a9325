"""Finished runs from files: messages, traces, and the published formats of agent benchmarks.

```python
for trajectory in read_runs("runs.jsonl"):
    hindsight.submit(trajectory)
```
"""

from hindsight_core.runs.readers.base import ReadProblem
from hindsight_core.runs.readers.reader import FORMATS, read_run, read_runs

__all__ = ["FORMATS", "ReadProblem", "read_run", "read_runs"]
