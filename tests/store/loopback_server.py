"""A Qdrant server's REST interface over the client's local mode, on the loopback address.

It lets the tests drive the real remote clients, sync and async, over real sockets. What the
engine answers is local mode's; what this proves is the way there and back.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models

Answer = tuple[int, Any]


class Loopback:
    """The server.

    Attributes:
        requests: Method and path of every request, in order.
        paths: The same with the query string.
        keys: The API key that each request brought.
        made: What each collection was made with.
        searches: What each batch of queries asked for.
        before: Asked first with method and path; may give the whole answer.
    """

    def __init__(self) -> None:
        self.local = QdrantClient(":memory:")
        self.lock = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.indexes: dict[str, Any] = {}
        self.made: dict[str, dict[str, Any]] = {}
        self.searches: list[Any] = []
        self.before: Callable[[str, str], Answer | None] = lambda method, path: None
        self.url = ""

    def answer(self, method: str, path: str, body: Any) -> Answer:
        with self.lock:
            self.requests.append((method, path))
            early = self.before(method, path)
            if early is not None:
                return early
            _, _, collection, *rest = path.split("/")
            try:
                handle = getattr(self, "_".join([method.lower(), *rest]))
                return 200, handle(collection, body)
            except ValueError as error:
                exists = "already exists" in str(error)
                return 409 if exists else 400, {"error": str(error)}

    def get_exists(self, collection: str, _: Any) -> Any:
        return {"exists": self.local.collection_exists(collection)}

    def put(self, collection: str, body: Any) -> Any:
        self.made[collection] = body
        wanted = models.CreateCollection.model_validate(body)
        return self.local.create_collection(
            collection,
            vectors_config=wanted.vectors,
            sparse_vectors_config=wanted.sparse_vectors,
            metadata=wanted.metadata,
        )

    def get(self, collection: str, _: Any) -> Any:
        found = self.local.get_collection(collection).model_dump(mode="json")
        return {**found, "payload_schema": self.indexes}

    def put_index(self, _: str, body: Any) -> Any:
        schema = body["field_schema"]
        kind = schema if isinstance(schema, str) else schema["type"]
        self.indexes[body["field_name"]] = {"data_type": kind, "points": 0}
        return {"operation_id": 1, "status": "completed"}

    def put_points(self, collection: str, body: Any) -> Any:
        points = models.PointsList.model_validate(body).points
        return self.local.upsert(collection, points).model_dump(mode="json")

    def post_points(self, collection: str, body: Any) -> Any:
        asked = models.PointRequest.model_validate(body)
        found = self.local.retrieve(collection, asked.ids, with_payload=asked.with_payload or False)
        return [record.model_dump(mode="json") for record in found]

    def put_points_payload(self, collection: str, body: Any) -> Any:
        wanted = models.SetPayload.model_validate(body)
        selector = wanted.filter or wanted.points
        assert selector is not None
        done = self.local.overwrite_payload(collection, wanted.payload, selector)
        return done.model_dump(mode="json")

    def post_points_scroll(self, collection: str, body: Any) -> Any:
        asked = models.ScrollRequest.model_validate(body)
        points, following = self.local.scroll(
            collection,
            scroll_filter=asked.filter,
            limit=asked.limit or 10,
            offset=asked.offset,
            with_payload=asked.with_payload or False,
        )
        return {
            "points": [p.model_dump(mode="json") for p in points],
            "next_page_offset": following,
        }

    def post_points_count(self, collection: str, body: Any) -> Any:
        asked = models.CountRequest.model_validate(body)
        return self.local.count(collection, asked.filter, exact=True).model_dump(mode="json")

    def post_facet(self, collection: str, body: Any) -> Any:
        asked = models.FacetRequest.model_validate(body)
        found = self.local.facet(
            collection, asked.key, facet_filter=asked.filter, limit=asked.limit or 10, exact=True
        )
        return found.model_dump(mode="json")

    def post_points_delete(self, collection: str, body: Any) -> Any:
        selector = models.FilterSelector.model_validate(body)
        return self.local.delete(collection, selector).model_dump(mode="json")

    def post_points_query_batch(self, collection: str, body: Any) -> Any:
        self.searches.append(body["searches"])
        asked = models.QueryRequestBatch.model_validate(body)
        for search in asked.searches:
            for part in (search, *(search.prefetch or [])):
                if part.params and part.params.quantization:  # local mode has none
                    part.params = None
        found = self.local.query_batch_points(collection, asked.searches)
        return [response.model_dump(mode="json") for response in found]


@contextmanager
def serving() -> Iterator[Loopback]:
    """Serve until the block ends."""
    loopback = Loopback()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            loopback.keys.append(self.headers.get("api-key"))
            loopback.paths.append(self.path)
            status, result = loopback.answer(self.command, self.path.partition("?")[0], body)
            text = json.dumps({"result": result, "status": "ok", "time": 0.0}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            with suppress(ConnectionError):  # a client that timed out is gone
                self.end_headers()
                self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_DELETE = _respond  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    loopback.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield loopback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        loopback.local.close()
