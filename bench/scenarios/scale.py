"""Scale: does the claim rate depend on what else is in the tables? One worker process, 50 orgs.

Each case has its own database, loaded once. A round measures all cases one after another, so that what drifts drifts
for all, and the ratios are made within a round. One measurement, a *piece*, is the same everywhere:

    top the queue up to the case's depth, vacuum ── gate ── worker starts ── gate opens, t0
    ── `want` more tasks are committed as finished, t1 ── worker stops

`want` is nine tenths of the smaller depth, so that no case has its last, slow batch in the number. A piece from 10 k is
short and mostly ramp-up, so there is one from 50 k too; each is compared with a piece of the same length from the depths.
Counting thousands of rows fifty times a second would take as much of the processors as the worker does: it is only asked
whether each org's last wanted task is there, and when all are, what is finished is counted once.
"""

import contextlib
import datetime as dt
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

import psycopg

from bench import database, gate, loading, processes
from bench.errors import Stalled
from bench.scenarios.measurement import Line, Measurement, percentile
from bench.system import Contender

SHARE = 0.9
PIECES = 3
POLL = 0.02
STALL_TIMEOUT = 60
CLAIM_SIZE = 50

TITLE = "Scale: one worker process, 50 orgs (tasks/s claimed and committed as finished)"
LINES = (
    Line("{small} queued", "small_per_second"),
    Line("{small} of the large case: {queued} queued, {finished} finished", "large_per_second"),
    Line("  ratio", "large_ratio", digits=2, at_least=0.8),
    Line("{medium} queued", "medium_per_second"),
    Line("{medium} of the large case", "large_long_per_second"),
    Line("  ratio", "large_long_ratio", digits=2, at_least=0.8),
    Line("{small} queued, {later} for later, {blocked} behind a full key", "key_per_second"),
    Line("  ratio to {small} queued", "key_ratio", digits=2, at_least=0.8),
    Line("{small} queued, {later} for later, {blocked} behind a full queue", "queue_per_second"),
    Line("  ratio to {small} queued", "queue_ratio", digits=2, at_least=0.8),
    Line("a claim of 50, {small} queued: p50 ms", "small_claim_p50_ms", digits=2),
    Line("  p99 ms", "small_claim_p99_ms", digits=2),
    Line("a claim of 50, large case: p50 ms", "large_claim_p50_ms", digits=2),
    Line("  p99 ms", "large_claim_p99_ms", digits=2),
    Line("a claim of 50, full key: p50 ms", "key_claim_p50_ms", digits=2),
    Line("  p99 ms", "key_claim_p99_ms", digits=2),
    Line("a claim of 50, full queue: p50 ms", "queue_claim_p50_ms", digits=2),
    Line("  p99 ms", "queue_claim_p99_ms", digits=2),
)

ORGS = "select id from weft.orgs where slug like 'bench-%' order by id"
READY = "select count(*) from weft.tasks where state = 'ready' and plain and lane = 'default'"
# A piece's tasks are younger than all that finished before: only they are counted, never the five million.
BOUNDS = """
select
    o.id,
    coalesce(
        (select h.id from weft.task_history as h where h.org_id = o.id order by h.id desc limit 1),
        '00000000-0000-0000-0000-000000000000'::uuid)
from weft.orgs as o
"""
# Of each org the task that is claimed when it has had its share.
LAST = """
select o.id, t.id
from weft.orgs as o
cross join lateral (
    select t.id
    from weft.tasks as t
    where t.state = 'ready' and t.plain and t.lane = 'default' and t.org_id = o.id
    order by t.urgency, t.run_at, t.id
    limit 1 offset %s
) as t
"""
STILL_OUT = """
select count(*)
from unnest(%s::uuid[], %s::uuid[]) as l (org_id, id)
where not exists (select from weft.task_history as h where h.org_id = l.org_id and h.id = l.id)
"""
FINISHED = """
select count(*)
from unnest(%s::uuid[], %s::uuid[]) as b (org_id, id)
cross join lateral (select from weft.task_history as h where h.org_id = b.org_id and h.id > b.id) as h
"""


@dataclass(frozen=True)
class Case:
    """A database with something in it; `queued` tasks are ready at the start of each piece."""

    name: str
    queued: int
    load: Callable[[psycopg.Connection, list[UUID]], None] = lambda connection, orgs: None


@dataclass(frozen=True)
class Loaded:
    """A case whose database is there."""

    case: Case
    url: str


def measure(
    contender: Contender, *, url: str, rounds: int, small: int, medium: int, queued: int, finished: int, later: int,
    blocked: int,
) -> list[Measurement]:  # fmt: skip
    """Load the cases, then measure all of them in each round."""

    def history(connection: psycopg.Connection, orgs: list[UUID]) -> None:
        loading.finished(connection, orgs, count=finished)

    def waiting(behind: Callable[..., None]) -> Callable[[psycopg.Connection, list[UUID]], None]:
        def load(connection: psycopg.Connection, orgs: list[UUID]) -> None:
            loading.queued(connection, orgs, count=later, delay=dt.timedelta(days=1))
            behind(connection, orgs[0], count=blocked)

        return load

    cases = [
        Case("small", small),
        Case("medium", medium),
        Case("large", queued, history),
        Case("key", small, waiting(loading.blocked)),
        Case("queue", small, waiting(loading.behind_queue)),
    ]
    with contextlib.ExitStack() as stack:
        loaded = {}
        for case in cases:
            place = stack.enter_context(database.fresh(url, name=f"bench_scale_{case.name}"))
            loaded[case.name] = Loaded(case, place)
            _load(contender, loaded[case.name])
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("checkpoint")
        return [_round(contender, loaded, small=small, medium=medium) for _ in range(rounds)]


def _load(contender: Contender, loaded: Loaded) -> None:
    contender.run("setup", url=loaded.url)
    with psycopg.connect(loaded.url, autocommit=True, options="-c synchronous_commit=off") as connection:
        loaded.case.load(connection, _orgs(connection))
    _top_up(loaded)
    database.settle(loaded.url)


def _round(contender: Contender, loaded: dict[str, Loaded], *, small: int, medium: int) -> Measurement:
    short: dict[str, list[float]] = {name: [] for name in ("small", "large", "key", "queue")}
    for _ in range(PIECES):
        for name, rates in short.items():
            rates.append(_piece(contender, loaded[name], want=round(small * SHARE)))
    long = {name: _piece(contender, loaded[name], want=round(medium * SHARE)) for name in ("medium", "large")}
    values = {f"{name}_per_second": statistics.median(rates) for name, rates in short.items()}
    values |= {"medium_per_second": long["medium"], "large_long_per_second": long["large"]}
    values["large_long_ratio"] = long["large"] / long["medium"]
    for name in ("large", "key", "queue"):
        values[f"{name}_ratio"] = values[f"{name}_per_second"] / values["small_per_second"]
    for name in short:
        taken = _claims(contender, loaded[name], count=round(small * SHARE) // CLAIM_SIZE)
        values |= {f"{name}_claim_p50_ms": percentile(taken, 0.5), f"{name}_claim_p99_ms": percentile(taken, 0.99)}
    return Measurement(values)


def _piece(contender: Contender, loaded: Loaded, *, want: int) -> float:
    """Return the rate at which the first `want` tasks were finished."""
    _top_up(loaded)
    url = loaded.url
    running = processes.started(
        contender.worker_command(), label=contender.name, environment=contender.environment(url)
    )
    with psycopg.connect(url, autocommit=True) as observer, gate.closed(url, table="weft.tasks") as entrance:
        bounds = _columns(observer.execute(BOUNDS))
        last = _columns(observer.execute(LAST, [want // len(_orgs(observer)) - 1]))
        with running as programs:
            gate.wait_for(programs, url=url)
            start = gate.opened(entrance)
            while True:
                time.sleep(POLL)
                asked = time.monotonic()
                if not observer.execute(STILL_OUT, last).fetchone()[0]:
                    asked = time.monotonic()
                    return observer.execute(FINISHED, bounds).fetchone()[0] / (asked - start)
                programs[0].check()
                if asked - start > STALL_TIMEOUT:
                    raise Stalled(f"not {want} tasks in {STALL_TIMEOUT} s\n{programs[0].log_tail()}")


def _claims(contender: Contender, loaded: Loaded, *, count: int) -> list[float]:
    """Return the milliseconds of each of `count` claims; what they took is thrown away."""
    _top_up(loaded)
    command = [sys.executable, "-m", "bench.weft_claims", str(count - 1), str(CLAIM_SIZE)]
    environment = contender.environment(loaded.url)
    printed = processes.finished(command, label="claims", environment=environment, timeout=STALL_TIMEOUT)
    with psycopg.connect(loaded.url, autocommit=True) as connection:
        connection.execute("delete from weft.tasks where state = 'running' and lease_until is null")
    return json.loads(printed)


def _top_up(loaded: Loaded) -> None:
    with psycopg.connect(loaded.url, autocommit=True, options="-c synchronous_commit=off") as connection:
        ready = connection.execute(READY).fetchone()[0]
        if ready < loaded.case.queued:
            loading.queued(connection, _orgs(connection), count=loaded.case.queued - ready)
        connection.execute("vacuum (analyze) weft.tasks")


def _columns(rows: Iterable[tuple[UUID, UUID]]) -> list[list[UUID]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _orgs(connection: psycopg.Connection) -> list[UUID]:
    return [row[0] for row in connection.execute(ORGS)]
