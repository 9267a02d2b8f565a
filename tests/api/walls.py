"""Two orgs full of things that must not be seen, every way to ask for them, and each wall that can be taken down.

A request is made for every place of every operation where an id or a name can stand (path, query, body, header), and
for everything the other org has that could stand there (with WEFT_LONG; else for one of each kind, every place for the next
ones: `Planted.some`). Whatever belongs to the other org and was not in the request
must not be in the answer, and nothing of the other org may change.
"""

import contextlib
import dataclasses
import datetime as dt
import itertools
import os
import types
import typing
import urllib.parse
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import kinds
import msgspec

import hands
from weft.access import keys, logins, orgs, roles, users
from weft.access.principal import Principal
from weft.api import policy, routes
from weft.api.operation import Operation
from weft.cluster import locks
from weft.db.database import Database
from weft.db.tx import Tx
from weft.jobs import backfill, manage, trigger
from weft.journal import record
from weft.queue import lease, tasks
from weft.queue.tasks import QueueSettings

LONG = bool(os.environ.get("WEFT_LONG"))
NAMES, IDS = 2, 8
"""Where text is asked for: one in so many of the names, and of the ids."""
HEADERS = ("x-org", "x-weft-org", "weft-org", "x-org-id")
"""By which somebody might ask for another org; none of them means anything."""
ROLES = ("reader", "writer", "admin", "worker")
"""Not operators: they may see every org."""


class OneWall(Database):
    """A database that can be told not to use row-level security, or to use that of an org whatever it is asked for."""

    rls: bool = True
    pinned: uuid.UUID | None = None

    @contextlib.asynccontextmanager
    async def tx(self, *, org: uuid.UUID | None = None, engine: bool = False, labelled: bool = False) -> AsyncIterator[Tx]:
        within = None if org is None or not self.rls else self.pinned or org
        async with super().tx(org=within, engine=engine and within is not None, labelled=labelled) as tx:
            # a walk runs more statements than a connection keeps, and each that was forgotten is planned again
            tx.connection.prepared_max = None
            yield tx


@dataclasses.dataclass
class Planted:
    """What an org has, and who may come in."""

    org: uuid.UUID
    keys: dict[str, str]
    actors: dict[str, str]
    """What the keys are called, by role."""
    ids: list[str]
    """UUIDs: of tasks in every state, keys, users, the org, nodes, leases."""
    names: list[str]
    """Names of queues, kinds, locks, roles; tags, keys."""
    canaries: list[str]
    """What stands in payloads, results, errors, logs, names and settings."""
    attempt: dict[str, Any]
    """A running attempt: task_id, attempt, lease_token, token."""
    cursors: list[str]
    alike: list[list[str]]
    """The ids, those of the same table in the same state together."""

    def some(self, kind: str, turn: int) -> list[str]:
        """What to say in a place. For an id that is one of each kind there is, for text some names and ids: each place has
        its turn, so that everything is said in many places."""
        if LONG:
            return self.ids if kind == "uuid" else [*self.names, *self.ids]
        if kind == "uuid":
            return [same[turn % len(same)] for same in self.alike]
        return [*self.names[turn % NAMES :: NAMES], *self.ids[turn % IDS :: IDS]]

    @property
    def secrets(self) -> list[str]:
        return [*self.ids, *self.names, *self.canaries, *self.cursors, self.attempt["token"]]


async def plant(database: Database, slug: str, *, app: Any) -> Planted:
    """An org with some of everything."""
    words = iter(f"{slug}-canary-{uuid.uuid4().hex[:12]}" for _ in range(1000))
    what = ("queue", "kind", "lock", "role", "tag", "correlation", "dedupe", "idem", "secret", "dag", "flow")
    name = {one: f"{slug}-{one}" for one in what}
    canaries: list[str] = []

    def canary() -> str:
        canaries.append(next(words))
        return canaries[-1]

    found: list[str] = []
    async with database.tx() as tx:
        made = await orgs.create(tx, name=canary(), slug=slug, actor="test", settings={"note": canary()})
        org = made.id
        common: dict[str, Any] = {
            "org": org, "tags": [name["tag"]], "correlation_id": name["correlation"], "max_attempts": 1,
        }  # fmt: skip
        run = await hands.put(tx, name["kind"], {"secret": canary()}, queue="run", **common)
        bad = await hands.put(tx, name["kind"], {"secret": canary()}, queue="bad", **common)
        held = {task.id: task for task in await hands.claim_plain(tx, kinds=[name["kind"]])}
        line = (bad, held[bad].token, dt.datetime.now(dt.UTC), "info", canary(), None)
        await lease.write_logs(tx, [lease.Line(*line)])
        await hands.end(tx, [held[run]], result=f'{{"secret": "{canary()}"}}')
        await hands.end(tx, [held[bad]], "failed", error=f'{{"type": "E", "message": "{canary()}"}}')
        waits = await hands.put(tx, name["kind"], {"secret": canary()}, queue=name["queue"], **common)
        late = await hands.put(tx, name["kind"], {"secret": canary()}, queue=name["queue"], delay=3600, **common)
        keyed = await hands.put(tx, name["kind"], {}, dedupe_key=name["dedupe"], dedupe="forever", **common)
        found += [run, bad, waits, late, keyed, str(org)]
        settings = QueueSettings(max_running=7)
        await tasks.set_queue(tx, org=org, queue=name["queue"], settings=settings, actor=canary())
        lock = await locks.acquire(
            tx, org_id=org, name=name["lock"], duration=dt.timedelta(hours=1), owner=canary(), metadata={"secret": canary()}
        )
        assert lock is not None
        user = await users.create(tx, org=org, external_id=canary(), role="admin", actor="test", email=f"{canary()}@x.org")
        role = await roles.create(tx, org=org, slug=name["role"], name=canary(), actor="test")
        await roles.assign(tx, slug=role.slug, user=user.id, org=org, actor="test")
        opens: dict[str, str] = {}
        actors = {kind: canary() for kind in ROLES}
        for kind in ROLES:
            key, opens[kind] = await keys.create(tx, org=org, name=actors[kind], role=kind, actor="test")  # type: ignore[arg-type]
            found.append(str(key.id))
            who = Principal(org=org, actor=f"key:{actors[kind]}", role="reader", key=key.id)
            opened, _ = await logins.open(tx, who, agent=canary())
            found.append(str(opened.id))
        await record.record(tx, org_id=org, actor=canary(), action="a", object_type="t", object_id=canary())
        found += [str(lock.token), str(user.id), str(role.id)]
        await hands.lead(tx)
        payload = {"task": canary(), "args": {"x": canary()}}
        what_and_when = {"name": canary(), "cron_expression": "0 * * * *", "payload": payload}
        job = await manage.create(tx, what_and_when, org=org, actor="test")
        execution, _ = await trigger.trigger(tx, id=job.id, org=org, actor="test")
        past = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)
        back = await backfill.create(
            tx, job_id=job.id, org=org, start=past, end=past + dt.timedelta(days=1), max_active=1, actor="test"
        )
        found += [str(job.id), str(execution), str(back.id)]
        found += await _planted_workflow(tx, org, canary)
        running = await hands.claim_plain(tx, kinds=[str(payload["task"])])
        at = dt.datetime.now(dt.UTC)
        await lease.write_logs(tx, [lease.Line(str(execution), running[0].token, at, "info", canary(), None)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://weft") as client:
        head = {"authorization": f"Bearer {opens['writer']}", "idempotency-key": name["idem"]}
        once = await client.post("/v1/tasks", json={"kind": "once", "payload": {"secret": canary()}}, headers=head)
        found.append(once.json()["id"])
        del head["idempotency-key"]
        await client.post("/v1/tasks", json={"kind": "held", "payload": {"secret": canary()}}, headers=head)
        as_worker = {"authorization": f"Bearer {opens['worker']}"}
        claimed = await client.post(
            "/v1/task/claim", json={"worker": canary(), "kinds": ["held"], "claim_id": "c"}, headers=as_worker
        )
        [attempt] = claimed.json()["tasks"]
        as_admin = {"authorization": f"Bearer {opens['admin']}"}
        kept = await client.put(f"/v1/secrets/{name['secret']}", json={"value": canary()}, headers=as_admin)
        assert kept.is_success, kept.text
        found += await _planted_dag(client, as_admin, name["dag"], canary)
        found += await _planted_flow(client, as_admin, name["flow"], canary)
        cursors = []
        for path in ("tasks", "keys", "dead", "users", "audit", "jobs", "dags", "runs", "flows", "runners"):
            listed = await client.get(f"/v1/{path}?limit=1", headers=as_admin)
            cursors.append(listed.json()["next_cursor"])
    async with database.tx() as tx:
        node = await tx.value("select id::text from weft.nodes where org_id = %(org)s", {"org": org})
    found += [attempt["task_id"], attempt["lease_token"], node]
    which = {field: attempt[field] for field in ("task_id", "attempt", "lease_token", "token")}
    alike = await kinds.alike(database, found)
    return Planted(org, opens, actors, found, list(name.values()), canaries, which, [one for one in cursors if one], alike)


async def _planted_workflow(tx: Tx, org: uuid.UUID, canary: Callable[[], str]) -> list[str]:
    """A run of a workflow with a step, and something that was done to it; their ids."""
    run = await tx.value(
        "insert into weft.runs (org_id, kind, name, version, state, published) "
        "values (%(org)s, 'workflow', %(name)s, '1', 'waiting', to_jsonb(%(said)s::text)) returning id",
        {"org": org, "name": canary(), "said": canary()},
    )
    step = await tx.value(
        "insert into weft.steps (id, run_id, org_id, frame_id, node, state, output, operation, number) "
        "values (weft.uuid7(), %(run)s, %(org)s, %(run)s, 'charge#1', 'completed', to_jsonb(%(said)s::text), 'step', 1) "
        "returning id",
        {"run": run, "org": org, "said": canary()},
    )
    await record.record(tx, org_id=org, actor=canary(), action="run.pause", object_type="run", object_id=str(run))
    return [str(run), str(step)]


async def _planted_dag(client: Any, head: dict[str, str], name: str, canary: Callable[[], str]) -> list[str]:
    """DAGs, one with versions, a run and its steps; their ids."""
    found = []
    for title in (f"{name}-2", name):
        task = {"name": "go", "payload": {"task": "nobody", "args": {"secret": canary()}}}
        dag = {"name": title, "tasks": [task], "description": canary()}
        made = await client.post("/v1/dags", json=dag, headers=head)
        assert made.is_success, made.text
        params = {"tags": [canary()]}
        run = await client.post(f"/v1/dags/{title}/trigger", json=params, headers=head)
        steps = await client.get(f"/v1/runs/{run.json()['dag_run_id']}/steps", headers=head)
        [step] = steps.json()["items"]
        found += [made.json()["dag_id"], run.json()["dag_run_id"], step["id"], step["task_id"]]
        found += [one["task_id"] for one in made.json()["tasks"]]
    return found


async def _planted_flow(client: Any, head: dict[str, str], name: str, canary: Callable[[], str]) -> list[str]:
    """Flows, each with a run and its steps; ids of one of them."""
    found: list[str] = []
    for title in (f"{name}-2", name):
        facet = f"Ask{canary().rpartition('-')[2]}"
        text = (
            f'namespace here {{ /** {canary()} */ event facet {facet}(q: String = "{canary()}") => (a: String) '
            f'workflow W(q: String) => (a: String) andThen {{ s = {facet}(q = $.q) yield W(a = s.a) }} }}'
        )
        body = {"name": title, "path": canary(), "sources": [{"name": canary(), "text": text}]}
        made = await client.post("/v1/flows", json=body, headers=head)
        assert made.is_success, made.text
        run = await client.post("/v1/runners", json={"flow": title, "params": {"q": canary()}}, headers=head)
        assert run.is_success, run.text
        steps = await client.get(f"/v1/runs/{run.json()['id']}/steps", headers=head)
        found = [made.json()["id"], run.json()["id"], steps.json()["items"][0]["id"], made.json()["workflows"][0]["id"]]
    return found


@dataclasses.dataclass(frozen=True)
class Ask:
    """One request; `path_swapped`: an id in its path is another org's, so there is nothing there."""

    operation: Operation
    path: str
    query: dict[str, Any]
    body: Any
    headers: dict[str, str]
    path_swapped: bool = False

    @property
    def said(self) -> str:
        """Everything the request says, which its answer may therefore say too."""
        query = urllib.parse.unquote_plus(urllib.parse.urlencode(self.query, doseq=True))
        return " ".join([urllib.parse.unquote(self.path), query, str(self.body), str(self.headers)])


def asks(mine: Planted, theirs: Planted, *, without: tuple[str, ...] = ()) -> Iterator[Ask]:
    """Every operation, with everything of theirs in every place where something of ours could stand."""
    turns = itertools.count()
    # reads first: what is written is then the asker's own, whatever it is called
    for operation in sorted(routes.operations(), key=lambda one: one.method != "GET"):
        if operation.action == policy.PUBLIC or operation.action.startswith(without or "\0"):
            continue
        path, body, query = _path(operation, mine), _body(operation, mine), _query(operation)
        if not operation.stream:
            yield Ask(operation, path, query, body, {})
            for header in HEADERS if LONG else HEADERS[next(turns) % len(HEADERS) :][:1]:
                yield Ask(operation, path, query, body, {header: str(theirs.org)})
        for name, kind in operation.parameters.items():
            turn = next(turns)
            for value in theirs.some("uuid", turn) if kind == "uuid" else [*theirs.names, *theirs.some("uuid", turn)]:
                yield Ask(operation, _path(operation, mine, **{name: value}), query, body, {}, path_swapped=kind == "uuid")
        if operation.stream:
            continue
        for name, kind in _fields(operation.query):
            for value in [*theirs.cursors] if name == "cursor" else _values(kind, theirs, next(turns)):
                yield Ask(operation, path, {**query, name: value}, body, {})
        for place, kind in _places(operation.body, body):
            for value in _values(kind, theirs, next(turns)):
                yield Ask(operation, path, query, _replaced(body, place, value), {})
        if operation.idempotent:
            yield Ask(operation, path, query, body, {"idempotency-key": "theirs-idem"})
        if operation.action == "work.report":
            triple = {name: theirs.attempt[name] for name in ("task_id", "attempt", "lease_token")}
            for said in (triple, {**triple, "token": theirs.attempt["token"]}, {"token": theirs.attempt["token"]}):
                if operation.method == "GET":
                    yield Ask(operation, path, {name: said[name] for name in said if name != "token"}, body, {})
                else:
                    one = {**{name: value for name, value in body.items() if name not in triple}, **said}
                    yield Ask(operation, path, query, one, {})
                    yield Ask(operation, path, query, {"items": [one]}, {})


def _path(operation: Operation, mine: Planted, **values: str) -> str:
    own = {"uuid": mine.ids[0], "path": mine.names[0], "str": "mine-role"}
    filled = {name: values.get(name, own[kind]) for name, kind in operation.parameters.items()}
    return operation.template.format(**{name: urllib.parse.quote(value) for name, value in filled.items()})


def _body(operation: Operation, mine: Planted) -> Any:
    return operation.example if operation.body is not None else None


def _query(operation: Operation) -> dict[str, Any]:
    """What it cannot be asked without, as its example has it."""
    fields = msgspec.structs.fields(operation.query) if operation.query is not None else ()
    return {one.encode_name: operation.example[one.encode_name] for one in fields if one.required}


def _values(kind: str, theirs: Planted, turn: int) -> list[str]:
    some = theirs.some(kind, turn)
    return some if kind == "uuid" else [*some, theirs.attempt["token"]]


def _fields(kind: Any) -> Iterator[tuple[str, str]]:
    """Fields of a Struct that take text or an id, and which."""
    if kind is None:
        return
    for field in msgspec.structs.fields(kind):
        leaves = set(_leaves(field.type))
        if uuid.UUID in leaves:
            yield field.encode_name, "uuid"
        elif str in leaves:
            yield field.encode_name, "text"


def _places(kind: Any, example: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Where in a body text or an id may stand: fields of its type, and leaves of its example."""
    seen = set()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for name, what in _fields(kind):
            seen.add((name,))
            yield (name,), what
    for place in _texts(example):
        if place not in seen:
            yield place, "text"


def _texts(value: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield before
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _texts(one, *before, name)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _texts(one, *before, number)


def _replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    first, *rest = place
    if isinstance(value, list):
        return [_replaced(one, tuple(rest), new) if number == first else one for number, one in enumerate(value)]
    return {**value, first: _replaced(value.get(first), tuple(rest), new)}


def _leaves(kind: Any) -> Iterator[Any]:
    if typing.get_origin(kind) is typing.Annotated:
        yield from _leaves(typing.get_args(kind)[0])
    elif typing.get_origin(kind) in (typing.Union, types.UnionType, list):
        for one in typing.get_args(kind):
            yield from _leaves(one)
    else:
        yield kind


async def everything_of(database: Database, org: uuid.UUID) -> dict[str, str]:
    """Every row of an org in every table that has orgs, but for when its keys were last used."""
    async with database.tx() as tx:
        tables = await tx.rows(
            """
            select c.oid::regclass::text
            from pg_class as c
            join pg_attribute as a on a.attrelid = c.oid and a.attname = 'org_id'
            where c.relnamespace = 'weft'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            order by 1
            """
        )
        found = {}
        for table, column in [*((table, "org_id") for (table,) in tables), ("weft.orgs", "id")]:
            rows = f"select (to_jsonb(r) - 'last_used_at' - 'beat_at')::text from {table} as r where r.{column} = %(org)s"
            found[table] = "\n".join(sorted(row for (row,) in await tx.rows(rows, {"org": org})))
    return found
