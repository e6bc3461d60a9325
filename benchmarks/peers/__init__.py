"""The real peers beside Hindsight: `python -m benchmarks peers --data DIR`.

| row | what runs |
| --- | --- |
| `QdrantVectorStore` | `langchain-qdrant`: the store's retriever, on a local path |
| `VectorMemoryBlock` | LlamaIndex: the block over its `QdrantVectorStore`, on a local path |
| `mem0` | `mem0ai`: `add` with `infer=False`, and `search`, over Qdrant on a local path |
| `InMemoryStore` | LangGraph: the store with an index over the text |

They live in a virtual environment of their own, which is made once from `requirements.txt`
beside the cache of embeddings; `HINDSIGHT_BENCHMARK_PEERS` names the Python of another
one. Each runs in a process of its own (see `worker`) that sees no key, tells nobody anything
and can reach no other machine, and each gets the embeddings that Hindsight gets, from files.

The environment takes about 400 MB. `langchain-qdrant`, `llama-index-core`, its Qdrant store and
`langgraph` are under the MIT license, `mem0ai` and `qdrant-client` under Apache-2.0; nothing of
them goes into the package. mem0 is measured as `pip install mem0ai` gives it: without fastembed
and spaCy, which want models from the network, it has neither keywords nor entities.
`VectorMemoryBlock` stores nothing beside a session by itself, so that it is filled through its
vector store (see `worker.llamaindex`).

Every query goes to all of them and to Hindsight in turn, so that what else the machine does
meets all alike and the ratio of their times is fair.
"""
