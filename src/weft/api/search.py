"""`/v1/search`: one box that finds anything: an id or its beginning, or part of a name."""

import re
import uuid
from typing import Annotated, Any, Literal

import msgspec

from weft.api.operation import Call, Operation
from weft.base import ids
from weft.cluster import nodes
from weft.db.tx import Tx
from weft.flows import search as runs
from weft.jobs import executions as jobs
from weft.queue import counts
from weft.queue import search as tasks

_MOST = 20
_EACH = 8
_QUEUES = 1000
_ID = re.compile(r"[0-9a-f]{8,32}")

Type = Literal["task", "run", "job", "dag", "flow", "workflow", "queue", "kind"]


class SearchQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to look for."""

    q: Annotated[
        str,
        msgspec.Meta(
            min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$",
            description="At least 8 digits of an id, with or without dashes, or part of a name, in any case.",
        ),
    ]  # fmt: skip


class Hit(msgspec.Struct, kw_only=True):
    """Something that was found. `id` is what its page is asked for with; of queues and kinds that is the name."""

    type: Type
    id: str
    name: str
    state: str | None = None


class Hits(msgspec.Struct):
    """At most 20; exact names first."""

    items: list[Hit]


async def search(call: Call[None, SearchQuery]) -> Hits:
    text, org = call.query.q.strip(), call.principal.org
    low, high = bounds(text)
    async with call.tx() as tx:
        found = [*await _by_id(tx, low, high, org=org), *await _by_name(tx, text, low, high, org=org)]
    found.sort(key=lambda one: _rank(one, text))
    return Hits(found[:_MOST])


def bounds(text: str) -> tuple[uuid.UUID, uuid.UUID]:
    """The ids that begin like this; an empty range if it is no beginning of an id."""
    plain = text.lower().replace("-", "")
    if not _ID.fullmatch(plain):
        return ids.NEWEST, uuid.UUID(int=0)
    return uuid.UUID(plain.ljust(32, "0")), uuid.UUID(plain.ljust(32, "f"))


async def _by_id(tx: Tx, low: uuid.UUID, high: uuid.UUID, *, org: uuid.UUID) -> list[Hit]:
    if low > high:
        return []
    within: dict[str, Any] = {"org": org, "low": low, "high": high, "take": _EACH}
    return [
        *(Hit(type="task", id=str(id), name=kind, state=state) for id, kind, state in await tasks.between(tx, **within)),
        *(Hit(type="run", id=str(id), name=name, state=state) for id, name, state in await runs.between(tx, **within)),
    ]


async def _by_name(tx: Tx, text: str, low: uuid.UUID, high: uuid.UUID, *, org: uuid.UUID) -> list[Hit]:
    within: dict[str, Any] = {"org": org, "text": text, "low": low, "high": high, "take": _EACH}
    queues = [name for name in await counts.names(tx, org=org, take=_QUEUES) if text.lower() in name.lower()]
    kinds = await nodes.kinds(tx, org=org, text=text, take=_EACH)
    return [
        *(Hit(type="job", id=str(id), name=name, state=state) for id, name, state in await jobs.search(tx, **within)),
        *(
            Hit(type=kind, id=str(id), name=name, state=state)
            for id, kind, name, state in await runs.definitions(tx, **within)
        ),
        *(Hit(type="queue", id=name, name=name) for name in queues[:_EACH]),
        *(Hit(type="kind", id=name, name=name) for name in kinds),
    ]  # fmt: skip


def _rank(one: Hit, text: str) -> tuple[bool, bool, bool]:
    name, wanted = one.name.lower(), text.lower()
    by_id = one.id.replace("-", "").startswith(wanted.replace("-", ""))
    return not (name == wanted or by_id), not name.startswith(wanted), one.type in ("task", "run")


_EXAMPLE: dict[str, Any] = {
    "items": [{"type": "dag", "id": "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55", "name": "etl-pipeline", "state": "active"}]
}

OPERATIONS = (
    Operation(
        "GET", "/v1/search", action="task.read", handler=search, summary="Find anything by id or name",
        description="Tasks and runs by their id; jobs, DAGs, flows and workflows by id or name; queues and kinds by name.",
        query=SearchQuery, answer=Hits, example={"q": "etl"}, answer_example=_EXAMPLE,
    ),
)  # fmt: skip
