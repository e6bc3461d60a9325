"""The program that runs one peer in the peers' own environment; it imports nothing of Hindsight.

It reads one JSON object a line from standard input and answers each with one on standard
output:

| request | answer |
| --- | --- |
| `{"op": "open", "folder", "dimension"}` | `{"versions": {distribution: version}}` |
| `{"op": "vectors", "use", "texts", "matrix"}` | `{"count"}` |
| `{"op": "fill", "memories"}`: in bulk, in whatever way is fastest | `{"count"}` |
| `{"op": "store", "memories"}`: as a user of the peer does | `{"count", "ms", "cpu_ms"}` |
| `{"op": "search", "text", "namespace", "k"}` | `{"places", "ms", "cpu_ms"}` |
| `{"op": "close"}` | `{"refused": [hosts that something wanted to reach]}` |

`use` is `document` or `query`; `texts` is a file with a JSON list, and `matrix` a `.npy` file
with a row for each of them.

A memory is `{"place", "text", "namespace", "metadata"}`, its status in the metadata; only
active ones of the namespace are found. `ms` is the time by the clock and `cpu_ms` the
processor time of all threads, both without the time in the embedder. What goes wrong is
answered with `{"error"}`.
"""
