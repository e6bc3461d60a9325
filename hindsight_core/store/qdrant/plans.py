"""What each operation asks of a Qdrant client, written once for its sync and its async one.

A plan is a generator: it yields calls, is sent their answers, and returns the operation's
result. `store.py` has the two drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from qdrant_client import models

from hindsight_core.errors import SchemaMismatchError, StoreCorruptError, StoreError
from hindsight_core.models import Change
from hindsight_core.settings import ServerSettings
from hindsight_core.store.base import (
    Count,
    Facet,
    Get,
    MemoryFilter,
    Patch,
    Purge,
    Put,
    Record,
    Schema,
    Scroll,
    ScrollPage,
    Search,
    StoreOp,
)
from hindsight_core.store.checks import (
    check_page,
    check_points,
)
from hindsight_core.store.filters import (
    DATETIME_FIELDS,
    FLOAT_FIELDS,
    KEYWORD_FIELDS,
    TENANT_FIELD,
    WORDS_FIELD,
    conditions_of,
)
from hindsight_core.store.folder import check_schema
from hindsight_core.store.payload import (
    changes_to_payload,
    point_id,
    record_from_stored,
    stored_payload,
)
from hindsight_core.store.qdrant.searching import Call, Calls, engine_filter, search
from hindsight_core.store.unreadable import Unreadable

__all__ = ["Call", "Calls", "plan_of", "preparing", "read_schema"]

_BATCH = 256
_ALL_VALUES = 100_000
_STORE = "hindsight-memory"


def plan_of(
    op: StoreOp[Any], schema: Schema, unreadable: Unreadable, *, quantized: bool = False
) -> Calls:
    """Return the plan of `op` against a collection made for `schema`.

    Args:
        op: The operation.
        schema: What the vectors are made with.
        unreadable: Takes note of what is damaged and left out.
        quantized: Whether the collection's vectors are quantized.

    Raises:
        StoreError: If there is no such operation.
    """
    if isinstance(op, Search):
        return search(op, schema, unreadable, quantized=quantized)
    if isinstance(op, Scroll):
        return _scroll(op, unreadable)
    plan = _PLANS.get(type(op))
    if plan is None:
        raise StoreError(f"the Qdrant store does not know {type(op).__name__} operations")
    return plan(op, schema)


def preparing(
    schema: Schema, location: str, layout: ServerSettings, *, with_indexes: bool
) -> Calls:
    """Plan to make the collection and its indexes where they are missing, and check it.

    Several processes may do this at once; whoever comes second takes what is there.

    Args:
        schema: What the vectors are made with.
        location: How messages call the collection.
        layout: How a collection that is missing is laid out.
        with_indexes: Whether the engine has payload indexes; local mode has none.
    """
    if not (yield Call("collection_exists", {})):
        yield Call("create_collection", _collection(schema, layout), may_exist=True)
    found = yield Call("get_collection", {})
    recorded = read_schema(found, location)
    check_schema(recorded, schema, location)
    if with_indexes:
        present = set(found.payload_schema or {})
        for name, kind in _indexes().items():
            if name not in present:
                yield Call(
                    "create_payload_index",
                    {"field_name": name, "field_schema": kind, "wait": True},
                    may_exist=True,
                )


def read_schema(found: models.CollectionInfo, location: str) -> Schema:
    """Return what a collection was made with.

    Raises:
        StoreCorruptError: If it is not one of Hindsight's.
        SchemaMismatchError: If its vectors are not as wide as it says.
    """
    metadata = found.config.metadata or {}
    try:
        if metadata["store"] != _STORE:
            raise KeyError("store")
        schema = Schema(
            str(metadata["model"]), int(metadata["dimension"]), int(metadata["format_version"])
        )
        vectors = found.config.params.vectors
        width = vectors["dense"].size  # type: ignore[index]
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorruptError(
            f"{location} was not made by Hindsight, or by a server that drops the metadata of "
            "collections; nothing was changed. Choose another collection, and Qdrant 1.16 or later"
        ) from error
    if width != schema.dimension:
        raise SchemaMismatchError(
            f"{location} says it has vectors of {schema.dimension} dimensions and has vectors of "
            f"{width}; nothing was changed. Choose another collection and reflect the runs again"
        )
    return schema


def _collection(schema: Schema, layout: ServerSettings) -> dict[str, Any]:
    dense = models.VectorParams(
        size=schema.dimension,
        distance=models.Distance.COSINE,
        on_disk=layout.on_disk or None,
        quantization_config=_quantization(layout),
    )
    wanted: dict[str, Any] = {
        "vectors_config": {"dense": dense},
        "sparse_vectors_config": {
            "sparse": models.SparseVectorParams(modifier=models.Modifier.IDF)
        },
        "metadata": {
            "store": _STORE,
            "model": schema.model,
            "dimension": schema.dimension,
            "format_version": schema.format_version,
        },
        "shard_number": layout.shards or None,
        "replication_factor": layout.replicas or None,
        "on_disk_payload": layout.on_disk or None,
    }
    if layout.graph_per_namespace:
        # https://qdrant.tech/documentation/guides/multitenancy/: no links across tenants.
        wanted["hnsw_config"] = models.HnswConfigDiff(m=0, payload_m=16)
    return {name: value for name, value in wanted.items() if value is not None}


def _quantization(layout: ServerSettings) -> Any:
    if layout.quantization == "scalar":
        kind = models.ScalarType.INT8
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=kind, always_ram=True)
        )
    if layout.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _indexes() -> dict[str, Any]:
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    indexes: dict[str, Any] = {TENANT_FIELD: tenant}
    indexes |= dict.fromkeys(KEYWORD_FIELDS, models.PayloadSchemaType.KEYWORD)
    indexes |= dict.fromkeys(DATETIME_FIELDS, models.PayloadSchemaType.DATETIME)
    indexes |= dict.fromkeys(FLOAT_FIELDS, models.PayloadSchemaType.FLOAT)
    indexes[WORDS_FIELD] = models.TextIndexParams(
        type=models.TextIndexType.TEXT,
        tokenizer=models.TokenizerType.WHITESPACE,
        lowercase=False,
    )
    indexes["version"] = models.PayloadSchemaType.INTEGER
    return indexes


def _put(op: Put, schema: Schema) -> Calls:
    check_points(op.points, schema.dimension)
    points: dict[str, models.PointStruct] = {}
    for point in op.points:
        id_ = point_id(point.memory.namespace, point.memory.id)
        # An empty sparse vector is sent too: the size of the corpus, which IDF is a function
        # of, counts the points that have one.
        vectors: dict[str, Any] = {
            "dense": list(point.dense),
            "sparse": models.SparseVector(
                indices=list(point.sparse.indices), values=list(point.sparse.values)
            ),
        }
        payload = stored_payload(point.memory, point.changes)
        points[id_] = models.PointStruct(id=id_, vector=vectors, payload=payload)
    batch = list(points.values())
    for start in range(0, len(batch), _BATCH):
        yield Call("upsert", {"points": batch[start : start + _BATCH], "wait": True})


def _patch(op: Patch, _: Schema) -> Calls:
    """Compare and set: the server answers alike whether the filter let a write through or not.

    So each write leaves a mark of its own, and reading it back shows who won. Where a third
    writer has already built on the result, its history shows the change that it built on.
    """
    id_ = point_id(op.memory.namespace, op.memory.id)
    found = yield Call("retrieve", {"ids": [id_], "with_payload": ["version"]})
    if not found or op.expected_version not in (None, found[0].payload["version"]):
        return False
    mark = uuid4().hex
    must: list[models.Condition] = [models.HasIdCondition(has_id=[id_])]
    if op.expected_version is not None:
        version = models.MatchValue(value=op.expected_version)
        must.append(models.FieldCondition(key="version", match=version))
    yield Call(
        "overwrite_payload",
        {
            "payload": {**stored_payload(op.memory, op.changes), "mark": mark},
            "points": models.Filter(must=must),
            "wait": True,
            # Replicas must not disagree about who came first.
            "ordering": models.WriteOrdering.STRONG,
        },
    )
    after = yield Call("retrieve", {"ids": [id_], "with_payload": ["mark", "body", "history"]})
    if not after:
        return False
    return after[0].payload.get("mark") == mark or _built_on(after[0].payload, op)


def _built_on(payload: Mapping[str, Any], op: Patch) -> bool:
    ours: Sequence[Change] = op.changes[-1:]
    if not ours:
        return False
    later = changes_to_payload(record_from_stored(payload).changes)
    return changes_to_payload(ours)[0] in later


def _get(op: Get, _: Schema) -> Calls:
    where = MemoryFilter(namespaces=op.namespaces, statuses=())
    ids = list(dict.fromkeys(point_id(n, id_) for id_ in op.ids for n in where.namespaces))
    by_id: dict[str, Record] = {}
    for start in range(0, len(ids), _BATCH):
        part = ids[start : start + _BATCH]
        found = yield Call("retrieve", {"ids": part, "with_payload": ["body", "history"]})
        by_id |= {str(point.id): record_from_stored(point.payload) for point in found}
    return tuple(by_id[id_] for id_ in ids if id_ in by_id)


def _scroll(op: Scroll, unreadable: Unreadable) -> Calls:
    check_page(op.limit, op.cursor)
    points, following = yield Call(
        "scroll",
        {
            "scroll_filter": engine_filter(conditions_of(op.where)),
            "limit": op.limit,
            "offset": op.cursor,
            "with_payload": ["body", "history"],
        },
    )
    read = [unreadable.read(point.id, point.payload, record_from_stored) for point in points]
    records = tuple(record for record in read if record is not None)
    return ScrollPage(records, None if following is None else str(following))


def _count(op: Count, _: Schema) -> Calls:
    answer = yield Call(
        "count", {"count_filter": engine_filter(conditions_of(op.where)), "exact": True}
    )
    return answer.count


def _facet(op: Facet, _: Schema) -> Calls:
    answer = yield Call(
        "facet",
        {
            "key": op.field,
            "facet_filter": engine_filter(conditions_of(op.where)),
            "limit": _ALL_VALUES,
            "exact": True,
        },
    )
    return {str(hit.value): hit.count for hit in answer.hits}


def _purge(op: Purge, _: Schema) -> Calls:
    where = models.Filter(must=[]) if op.where is None else engine_filter(conditions_of(op.where))
    answer = yield Call("count", {"count_filter": where, "exact": True})
    if answer.count:
        selector = models.FilterSelector(filter=where)
        yield Call("delete", {"points_selector": selector, "wait": True})
    return answer.count


_PLANS: dict[type[Any], Callable[[Any, Schema], Calls]] = {
    Put: _put,
    Patch: _patch,
    Get: _get,
    Count: _count,
    Facet: _facet,
    Purge: _purge,
}
