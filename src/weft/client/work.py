"""The worker protocol, from the worker's side: what `weft worker --http` says to a server.

    work = Work(Client(url, key, tries=1), worker="ada-4711")
    for task in (await work.claim(kinds=["resize"], limit=10, wait=30)).tasks:
        ...
        await work.complete([{"token": task.token, "result": {"width": 640}}])

Nothing is repeated here: whoever calls knows what may be said twice (everything but a claim may).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from weft.base import errors
from weft.client.client import Client

MOST = 500
"""Items per request."""

MOST_BYTES = 900_000
"""Of items in one request; a server takes 1 MiB."""

# compressing costs the server more than a local network does
_PLAIN = {"accept-encoding": "identity"}
_PATIENCE = 30.0

Status = Literal["active", "draining", "gone"]


class Handed(msgspec.Struct):
    """A claimed task."""

    task_id: str
    attempt: int
    lease_token: str
    token: str
    kind: str
    queue: str
    lease_seconds: float
    payload: msgspec.Raw = msgspec.Raw()
    timeout: float | None = None
    heartbeat_timeout: float | None = None
    losses: int = 0
    max_attempts: int | None = None
    concurrency_key: str | None = None
    correlation_id: str | None = None
    trace_parent: str | None = None
    tags: list[str] | None = None
    run_id: str | None = None
    step_id: str | None = None


class Verdict(msgspec.Struct):
    """What a server says to one item."""

    task_id: str | None = None
    status: int = 200
    state: str | None = None
    cancelled: bool = False
    reason: str | None = None
    token: str | None = None
    code: str | None = None
    message: str | None = None


class Handout(msgspec.Struct):
    """What a claim got."""

    tasks: list[Handed]
    org: str = ""


class Report(msgspec.Struct):
    """Verdicts in the order of the items, and what the worker should stop."""

    items: list[Verdict] = []
    stop: list[str] | None = None


class Work:
    """A worker's words to one server."""

    def __init__(self, client: Client, *, worker: str) -> None:
        self.client = client
        self.worker = worker

    async def claim(
        self, *, kinds: Sequence[str], limit: int, queues: Sequence[str] = (), capabilities: Sequence[str] = (),
        idle: int | None = None, concurrency: int | None = None, wait: float = 0.0, claim_id: str | None = None,
        unanswered: Sequence[str] = (), shorts: Sequence[str] = (),
    ) -> Handout:  # fmt: skip
        """Takes tasks. Name the claim, and if no answer comes say that name in `unanswered` the next time."""
        body = {
            "worker": self.worker, "kinds": list(kinds), "queues": list(queues), "capabilities": list(capabilities),
            "limit": limit, "idle": limit if idle is None else min(idle, limit), "concurrency": concurrency, "wait": wait,
            "claim_id": claim_id, "unanswered": list(unanswered), "shorts": list(shorts),
        }  # fmt: skip
        answer: Handout = await self.client.post(
            "/v1/task/claim", body, headers=_PLAIN, timeout=wait + _PATIENCE, type=Handout
        )
        return answer

    async def heartbeat(self, items: Sequence[Mapping[str, Any]] = (), *, status: Status = "active") -> Report:
        """Keeps leases, and says how the worker itself is."""
        body = {"worker": self.worker, "status": status, "items": list(items)}
        report: Report = await self.client.post("/v1/task/heartbeat", body, headers=_PLAIN, type=Report)
        return report

    async def complete(self, items: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        return await self._say("complete", items)

    async def fail(self, items: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        return await self._say("fail", items)

    async def log(self, items: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        return await self._say("log", items)

    async def fetch(self, token: str) -> Handed:
        """The task of a token, payload and all."""
        found: Handed = await self.client.call(
            "GET", "/v1/task/fetch", headers={"authorization": f"Bearer {token}"}, type=Handed
        )
        return found

    async def secrets(self, token: str) -> dict[str, str]:
        """The secrets that the payload of a token's task names, if workers over HTTP may have them."""
        found: Mapping[str, dict[str, str]] = await self.client.post("/v1/task/secrets", {"token": token}, headers=_PLAIN)
        return found["secrets"]

    async def _say(self, verb: str, items: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for chunk in chunks(items):
            body = b'{"items":[' + b",".join(chunk) + b"]}"
            report: Report = await self.client.post(f"/v1/task/{verb}", body, headers=_PLAIN, type=Report)
            if len(report.items) != len(chunk):
                raise errors.WeftError(f"{self.client.url} answered {len(report.items)} verdicts to {len(chunk)} items")
            verdicts += report.items
        return verdicts


def chunks(items: Sequence[Mapping[str, Any]]) -> list[list[bytes]]:
    """Items as JSON, in portions a server takes. One that is too large alone goes alone, to be refused alone."""
    portions: list[list[bytes]] = []
    size = MOST_BYTES + 1
    for item in items:
        encoded = msgspec.json.encode(item)
        size += len(encoded) + 1
        if size > MOST_BYTES or len(portions[-1]) >= MOST:
            portions.append([])
            size = len(encoded)
        portions[-1].append(encoded)
    return portions
