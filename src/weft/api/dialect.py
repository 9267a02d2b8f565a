"""`Dialect`: how one application on the frame speaks: what its refusals look like, and what its document says of itself.

Weft's own is `WEFT`. An application on top brings its operations, a prefix to serve them under, and its own dialect;
`server.build(applications=…)` serves them beside Weft's, and `server.build(operations=…, dialect=…)` serves one alone.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.api import errors as refusals
from weft.api import policy
from weft.api.operation import Operation
from weft.base import errors

PUBLIC = frozenset({"GET /health", "GET /ready"})


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Dialect:
    """The words of an application."""

    title: str
    description: str
    envelope: Any
    """The type of every refusal's body."""
    write: Callable[[errors.WeftError | None, str], bytes]
    """The body of a refusal, from the error (None: our own fault) and the request's id."""
    status: Mapping[str, int]
    """Code → status."""
    lists: str
    """Where what there is to ask for is listed."""
    public: frozenset[str] = PUBLIC
    """Operations that need no credential."""
    words: Mapping[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """Path parameters that are plain words, and what they must look like."""
    unlocked: bool = False
    """Whether everybody on this machine may come in as long as there is no key and no issuer of tokens."""

    def status_of(self, error: errors.WeftError) -> int:
        return self.status.get(error.code, 500)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Application:
    """Operations under a prefix, in their own dialect."""

    prefix: str
    operations: Sequence[Operation]
    dialect: Dialect

    def mounted(self) -> list[Operation]:
        """The operations with the prefix in their paths."""
        return [dataclasses.replace(one, path=self.prefix + one.path) for one in self.operations]

    def has(self, path: str) -> bool:
        return path == self.prefix or path.startswith(f"{self.prefix}/")


def _write(error: errors.WeftError | None, request_id: str) -> bytes:
    if error is None:
        return refusals.internal(request_id=request_id)
    return refusals.envelope(error, request_id=request_id)


WEFT = Dialect(
    title="Weft",
    public=policy.EXEMPT,
    description="Work that must not be lost, on PostgreSQL. Every refusal is `{\"error\": {code, message, "
    "request_id}}`. Lists are keyset pages: pass `next_cursor` as `cursor`.",
    envelope=refusals.ErrorEnvelope,
    write=_write,
    status=refusals.STATUS,
    lists="/v1/openapi.json",
)  # fmt: skip
