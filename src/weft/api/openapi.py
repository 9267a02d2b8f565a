"""The OpenAPI 3.1 document, made from the table of operations and the Structs they name. Nothing is written twice."""

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from weft.api import fields, policy
from weft.api.dialect import WEFT, Dialect
from weft.api.errors import STATUS
from weft.api.operation import Call, Operation
from weft.base.version import VERSION

_REF = "#/components/schemas/{name}"

MEANINGS = {
    304: "You have this version already.",
    400: "The request is not valid; `message` says what to change. Nothing was stored.",
    401: "No credential, or one that is not known, expired or revoked.",
    403: "The credential's role does not allow this.",
    404: "There is no such thing, or it belongs to another org.",
    409: "The present state forbids this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "Too much at once; try again after Retry-After seconds.",
    503: "The database cannot be reached now; try again after Retry-After seconds.",
}
"""What a status says, in the words of the document."""

_NAME = msgspec.json.schema(fields.Name)

_EVENTS = {
    "type": "object",
    "description": "Each event of the stream; `data` is JSON.",
    "properties": {"event": {"type": "string"}, "id": {"type": "string"}, "data": {"type": "string"}},
    "required": ["data"],
}

_SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key (`weft_…`), made by `weft key create`."},
    "worker": {"type": "http", "scheme": "bearer", "description": "A worker key (`weftw_…`): it claims and runs tasks."},
}


def document(operations: Sequence[Operation], dialect: Dialect = WEFT) -> dict[str, Any]:
    """The whole document."""
    kinds = [kind for one in operations for kind in (one.body, one.query, one.answer) if kind is not None]
    schemas, components = msgspec.json.schema_components([*kinds, dialect.envelope], ref_template=_REF)
    written = {_identity(kind): schema for kind, schema in zip([*kinds, dialect.envelope], schemas, strict=True)}
    for name, extra in _extras(kinds):
        components[name] |= extra
    paths: dict[str, Any] = {}
    for one in operations:
        paths.setdefault(one.template, {})[one.method.lower()] = _operation(one, written, components, dialect)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": dialect.title,
            "version": VERSION,
            "description": dialect.description,
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
    }  # fmt: skip


async def show(call: Call[None, None]) -> dict[str, Any]:
    return _cached(tuple(call.service.operations))


@functools.lru_cache(maxsize=4)
def _cached(operations: tuple[Operation, ...]) -> dict[str, Any]:
    return document(operations)


def _operation(
    one: Operation, written: dict[str, Any], components: dict[str, Any], dialect: Dialect
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation_id(one),
        "summary": one.summary,
        "tags": [one.template.split("/")[2] if one.template.startswith("/v1/") else "server"],
        "responses": _responses(one, written, dialect),
    }
    if one.description:
        found["description"] = one.description
    if parameters := [*_path(one, dialect), *_query(one, written, components), *_headers(one)]:
        found["parameters"] = parameters
    if one.body is not None:
        content: dict[str, Any] = {"schema": written[_identity(one.body)]}
        if one.example is not None:
            content["examples"] = {"example": {"value": one.example}}
        found["requestBody"] = {"required": not one.optional_body, "content": {"application/json": content}}
    if one.action != policy.PUBLIC:
        roles = policy.ACTIONS[one.action]
        worker, key = "worker" in roles or "attempt" in roles, bool(roles - {"worker", "attempt"})
        found["security"] = [{name: []} for name, wanted in (("key", key), ("worker", worker)) if wanted]
        found["x-roles"] = sorted(roles)
    return found


def operation_id(one: Operation) -> str:
    """A stable name for generated clients: `post_v1_tasks_id_cancel`."""
    return re.sub(r"\W+", "_", f"{one.method.lower()}{one.template}").strip("_")


def _responses(one: Operation, written: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, meaning in {one.status: "Done.", **one.also}.items():
        answer: dict[str, Any] = {"description": meaning}
        if status == 204:
            pass
        elif one.media_type != "application/json":
            shape = _EVENTS if one.media_type == "text/event-stream" else {"type": "string"}
            answer["content"] = {one.media_type: {"schema": shape}}
        elif one.answer is not None:
            content: dict[str, Any] = {"schema": written[_identity(one.answer)]}
            if one.answer_example is not None and status == one.status:
                content["examples"] = {"example": {"value": one.answer_example}}
            answer["content"] = {one.media_type: content}
        found[str(status)] = answer
    if one.etag:
        found["304"] = {"description": MEANINGS[304]}
        found[str(one.status)]["headers"] = {"ETag": {"schema": {"type": "string"}}}
    for status, codes in sorted(_refusals(one, dialect).items()):
        found[str(status)] = {
            "description": f"{MEANINGS[status]} Codes: {', '.join(codes)}.",
            "content": {"application/json": {"schema": written[_identity(dialect.envelope)]}},
        }
    return found


def codes(one: Operation) -> list[str]:
    """Every code an operation refuses with: its own, and what all of its kind have."""
    found = ["INVALID_INPUT", *one.errors]
    if one.action != policy.PUBLIC:
        found += ["UNAUTHENTICATED", "FORBIDDEN", "UNAVAILABLE"]
    if one.body is not None:
        found += ["TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"]
    if one.idempotent:
        found += ["CONFLICT", "IDEMPOTENCY_KEY_REUSED"]
    if one.parameters:
        found.append("NOT_FOUND")
    return sorted(set(found), key=lambda code: (STATUS[code], code))


def _refusals(one: Operation, dialect: Dialect) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for code in codes(one):
        if dialect.status[code] not in one.also:
            found.setdefault(dialect.status[code], []).append(code)
    return found


# a plain `{name}` is a secret's; names of queues and locks are `{name:path}`
_WORDS = {"name": msgspec.json.schema(fields.SecretName), "slug": msgspec.json.schema(fields.Slug)}


def _path(one: Operation, dialect: Dialect) -> Iterable[dict[str, Any]]:
    words = {**_WORDS, **dialect.words}
    for name, kind in one.parameters.items():
        schema = {"type": "string", "format": "uuid"} if kind == "uuid" else words[name] if kind == "str" else _NAME
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query(one: Operation, written: dict[str, Any], components: dict[str, Any]) -> Iterable[dict[str, Any]]:
    if one.query is None:
        return
    schema = components[written[_identity(one.query)]["$ref"].rpartition("/")[2]]
    for name, field in schema["properties"].items():
        field = _without_null(field)
        parameter = {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": field}
        if "description" in field:
            parameter["description"] = field["description"]
        if isinstance(one.example, dict) and one.body is None and name in one.example:
            parameter["example"] = one.example[name]
        yield parameter


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """A query parameter is left out rather than null."""
    if "anyOf" in field:
        others = [choice for choice in field["anyOf"] if choice != {"type": "null"}]
        rest = {name: value for name, value in field.items() if name not in ("anyOf", "default")}
        field = {**rest, **others[0]} if len(others) == 1 else {**rest, "anyOf": others}
    return {name: value for name, value in field.items() if not (name == "default" and value is None)}


def _headers(one: Operation) -> Iterable[dict[str, Any]]:
    if one.idempotent:
        yield {
            "name": "Idempotency-Key", "in": "header", "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
            "description": "Anything unique, such as a UUID. A repeat within 24 hours gets the first answer.",
        }  # fmt: skip
    if one.etag:
        yield {
            "name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"},
            "description": "The ETag you have; 304 if it is still true.",
        }  # fmt: skip


def _extras(kinds: Iterable[Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """What a Struct's types cannot say and its `schema_extra` does."""
    seen: set[Any] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        info = msgspec.inspect.type_info(kind)
        for struct in _structs(info):
            if struct not in seen:
                seen.add(struct)
                if extra := getattr(struct, "schema_extra", None):
                    yield struct.__name__, extra


def _structs(info: Any) -> Iterable[Any]:
    stack, seen = [info], set()
    while stack:
        one = stack.pop()
        if isinstance(one, msgspec.inspect.StructType):
            if one.cls in seen:
                continue
            seen.add(one.cls)
            yield one.cls
            stack += [field.type for field in one.fields]
        elif isinstance(one, msgspec.inspect.Metadata):
            stack.append(one.type)
        elif isinstance(one, msgspec.inspect.UnionType):
            stack += one.types
        elif isinstance(one, msgspec.inspect.ListType):
            stack.append(one.item_type)


def _identity(kind: Any) -> str:
    return repr(kind)


OPERATIONS = (
    Operation(
        "GET", "/v1/openapi.json", action="docs.read", handler=show, summary="This API as an OpenAPI 3.1 document",
        answer=dict[str, Any], etag=True,
    ),
)  # fmt: skip
