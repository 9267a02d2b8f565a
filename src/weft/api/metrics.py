"""`/metrics`: the caller's org and this server's traffic, in Prometheus' text format.

Its cost is bounded: counts stop at a cap (`queue/counts.py`), queues at `MOST_QUEUES`, and what the database said is
told again for `REMEMBERED` seconds, however many scrape.
"""

import collections
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator

from weft.api import traffic
from weft.api.operation import Answer, Call, Operation
from weft.cluster import nodes
from weft.queue import counts

MOST_QUEUES = 200
REMEMBERED = 5.0
_MOST_REMEMBERED = 1000
_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = dict[str, str]
Sample = tuple[str, Labels, float]


class Remembered:
    """What the database said of each org a moment ago. One per server."""

    def __init__(self) -> None:
        self._lines: dict[uuid.UUID, tuple[float, list[str]]] = {}

    async def lines(self, call: Call[None, None]) -> list[str]:
        org, now = call.principal.org, time.monotonic()
        at, found = self._lines.get(org, (-REMEMBERED, []))
        if now - at >= REMEMBERED:
            found = [line async for line in _kernel(call)]
            if len(self._lines) >= _MOST_REMEMBERED:
                self._lines.clear()
            self._lines[org] = now, found
        return found


async def show(call: Call[None, None]) -> Answer:
    lines = [*await call.service.metrics.lines(call), *traffic_of(call.service.traffic.seen_by(call.principal.org))]
    return Answer(body=("\n".join(lines) + "\n").encode(), headers={"content-type": _TYPE})


async def _kernel(call: Call[None, None]) -> AsyncIterator[str]:
    org = call.principal.org
    async with call.tx() as tx:
        names = await counts.names(tx, org=org, take=MOST_QUEUES)
        queues = await counts.queues(tx, org=org, names=names)
        totals = await counts.by_state(tx, org=org)
        known = collections.Counter(one.status for one in await nodes.known(tx, org=org))
    waiting: list[Sample] = [
        ("weft_queue_tasks", {"queue": one.queue, "state": state}, float(getattr(one, state).count))
        for one in queues
        for state in ("ready", "scheduled", "blocked", "running")
    ]
    oldest: list[Sample] = [("weft_queue_oldest_ready_seconds", {"queue": one.queue}, one.oldest_ready) for one in queues]
    capped = f"Counted up to {counts.CAP}."
    for line in family("weft_queue_tasks", "gauge", f"Unfinished tasks by queue and state. {capped}", waiting):
        yield line
    for line in family("weft_queue_oldest_ready_seconds", "gauge", "Age of the oldest ready task of a queue.", oldest):
        yield line
    dead: list[Sample] = [("weft_tasks_dead", {}, float(totals["dead"].count))]
    for line in family("weft_tasks_dead", "gauge", f"Tasks on the dead letter list. {capped}", dead):
        yield line
    states: list[Sample] = [("weft_nodes", {"status": str(status)}, float(count)) for status, count in sorted(known.items())]
    for line in family("weft_nodes", "gauge", "Processes of the cluster by status.", states):
        yield line


def traffic_of(found: Iterable[traffic.Counts]) -> Iterator[str]:
    """Requests of this process since it started."""
    requests: list[Sample] = []
    durations: list[Sample] = []
    for counted in found:
        for (operation, status), count in counted.requests.items():
            requests.append(("weft_http_requests_total", {**_named(operation), "status": str(status)}, count))
        for operation, latency in counted.latency.items():
            durations += _histogram("weft_http_request_seconds", _named(operation), latency)
    yield from family("weft_http_requests_total", "counter", "Requests by operation and status.", requests)
    yield from family("weft_http_request_seconds", "histogram", "How long requests took.", durations)


def _histogram(name: str, labels: Labels, latency: traffic.Latency) -> Iterator[Sample]:
    total = 0
    for bound, count in zip([*map(str, traffic.BOUNDS), "+Inf"], latency.buckets, strict=True):
        total += count
        yield f"{name}_bucket", {**labels, "le": bound}, total
    yield f"{name}_sum", labels, latency.seconds
    yield f"{name}_count", labels, total


def _named(operation: str) -> Labels:
    method, _, path = operation.partition(" ")
    return {"method": method if path else "", "path": path or "unknown"}


def family(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> Iterator[str]:
    """The lines of one metric."""
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
    for full, labels, value in samples:
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{full}{{{inner}}} {value:g}" if inner else f"{full} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


OPERATIONS = (
    Operation(
        "GET", "/metrics", action="metrics.read", handler=show, summary="Metrics in Prometheus' text format",
        description="Queues, nodes and dead tasks of the key's org, and the requests this server has served for it. What "
        f"the database says is up to {REMEMBERED:g} seconds old.",
        media_type=_TYPE,
    ),
)  # fmt: skip
