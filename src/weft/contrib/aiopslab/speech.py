"""How this API speaks: `{"error": "text", "code": "CODE", "details": {}}`, and 400 for whatever is wrong with a request."""

from typing import Any

import msgspec

from weft.api import errors as refusals
from weft.api.dialect import Dialect
from weft.base import errors, json
from weft.contrib.aiopslab.model import WorkerId

STATUS = {**refusals.STATUS, "UNSUPPORTED_MEDIA_TYPE": 400}


class Problem(msgspec.Struct):
    """Every answer that is not a success."""

    error: str
    code: str
    details: dict[str, Any]


def write(error: errors.WeftError | None, request_id: str) -> bytes:
    """The body of a refusal. What is our own fault is logged, not told."""
    if error is None or STATUS.get(error.code, 500) == 500:
        words = "something went wrong on the server; its log has the request id"
        return json.dumps(Problem(words, "INTERNAL", {"request_id": request_id}))
    details = {name: value for name, value in error.details.items() if name != "sqlstate" and _is_plain(value)}
    return json.dumps(Problem(error.message, error.code, {**details, "request_id": request_id}))


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | list)


AIOPSLAB = Dialect(
    title="AIOpsLab task execution",
    description="Problems for agents, run by workers with a cluster each. Every refusal is "
    '`{"error": "text", "code": "CODE", "details": {}}`; whatever is wrong with a request is 400, and nothing was stored.',
    envelope=Problem,
    write=write,
    status=STATUS,
    lists="/openapi.json (below /aiopslab, if it is served there)",
    public=frozenset({"GET /health"}),
    words={"worker": msgspec.json.schema(WorkerId)},
    unlocked=True,
)
