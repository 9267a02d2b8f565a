"""Collects the three logs of a run: what clients were told, what tasks wrote themselves, what the database stored."""

import os
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import checker
import decoding
import psycopg
from checker import Asked, Finding, Left, Logs, Ran
from crowd import until, value
from decoding import Change
from eyes import Eyes

from weft import App
from weft.base import config, errors, ids
from weft.db.database import Database
from weft.queue import tasks

LIVENESS_CLASS = 0x77650001
NOTHING = Left()

IDLE = "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()"
NOBODYS = """
select count(*) from pg_locks as l where l.locktype = 'advisory' and l.granted and l.classid = %s::bigint::oid
    and l.database = (select oid from pg_database where datname = current_database())
    and not exists (select from weft.nodes as n where n.liveness = l.objid::bigint)
"""
WITHOUT_NODE = """
select count(*) from weft.tasks as t where t.state = 'running' and t.lease_until is null
    and not exists (select from weft.nodes as n where n.id = t.node_id and n.status <> 'dead')
"""
RECOUNT = """
select queue || ' ' || state, count(*) from weft.tasks where org_id = %s group by queue, state
"""


class Witness:
    """Watches one database from its beginning."""

    def __init__(self, url: str, *, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.asked: list[Asked] = []
        self.harmed: set[int] = set()
        self.limits: dict[str, int] = {}
        self.changes: list[Change] = []
        self.begun: Counter[int] = Counter()
        """How many attempts each process has begun, as of the last look into the diary."""
        self._ran: list[Ran] = []
        self._read_to = 0
        with self._connection() as connection:
            decoding.watch(connection)

    def close(self) -> None:
        with self._connection() as connection:
            decoding.forget(connection)

    def told(self, key: str, *, error: BaseException | None = None, task: object = None) -> None:
        """What a client knows after an enqueue."""
        if error is None:
            self.asked.append(Asked(key, "ok", str(task)))
        else:
            self.asked.append(Asked(key, "unknown" if isinstance(error, UNKNOWN) else "failed"))

    def note(self, what: str, attempt: Any) -> None:
        """A line of the side log, for tasks that run in this process."""
        id = getattr(attempt, "task_id", None) or attempt.id
        with (self.folder / "diary").open("a") as file:
            file.write(f"{what} {id} {os.getpid()} {time.time()} {attempt.attempt}\n")

    async def enqueue(self, app: App, count: int = 1, **options: object) -> list[str]:
        """Tasks for the checker, one by one, each with a key; whatever the answer, it is noted."""
        payload = {name: options.pop(name) for name in ("fail", "seconds", "first", "padding", "meet") if name in options}
        made = []
        for _ in range(count):
            key = uuid.uuid4().hex
            try:
                one = await app.enqueue("checked", {"k": key, **payload}, check=False, **options)  # type: ignore[arg-type]
            except errors.WeftError as error:
                self.told(key, error=error)
            else:
                self.told(key, task=one.id)
                made.append(str(one.id))
        return made

    def read(self) -> list[Change]:
        """Everything that was committed so far."""
        with self._connection() as connection:
            self.changes += decoding.read(connection)
        return self.changes

    def ran(self) -> list[Ran]:
        """Every line of the diary so far; only what is new is read."""
        file = self.folder / "diary"
        if file.exists():
            with file.open() as opened:
                opened.seek(self._read_to)
                text = opened.read()
            # a line may be half written
            whole = text[: text.rfind("\n") + 1]
            self._read_to += len(whole.encode())
            for what, task, pid, at, attempt in map(str.split, whole.splitlines()):
                self._ran.append(Ran(what, task, int(pid), int(attempt), float(at)))
                self.begun[int(pid)] += what == "start"
        return self._ran

    async def all_ended(self, *, within: float = 60.0) -> None:
        async with Eyes(self.url) as eyes:
            await eyes.until("select not exists (select from weft.tasks)", within=within, pause=0.05)

    async def findings(self, *, over: bool = True) -> list[Finding]:
        """What the checker says. What is held for a moment only is waited for."""
        left = await self._left()
        return self.verdict(over=over, left=left)

    def verdict(self, *, over: bool = False, left: Left = NOTHING) -> list[Finding]:
        """What the checker says of the logs so far."""
        logs = Logs(
            asked=self.asked, changes=self.read(), ran=self.ran(), left=left, limits=self.limits,
            harmed=frozenset(self.harmed), over=over,
        )  # fmt: skip
        return checker.check(logs)

    async def _left(self) -> Left:
        found: dict[str, int] = {}
        for name, statement, arguments in (
            ("idle_in_transaction", IDLE, ()), ("advisory_locks_of_nobody", NOBODYS, (LIVENESS_CLASS,)),
            ("running_without_node", WITHOUT_NODE, ()),
        ):  # fmt: skip
            try:
                await until(lambda s=statement, a=arguments: value(self.url, s, *a) == 0, within=12)
                found[name] = 0
            except AssertionError:
                found[name] = value(self.url, statement, *arguments)
        return Left(**found, counters=await self._counters())

    async def _counters(self) -> Mapping[str, tuple[int, int]]:
        """What `stats` says of each queue beside a recount, both in one snapshot."""
        # not an App: that refuses a schema newer than itself
        database = Database(config.Settings(database_url=self.url))
        async with database.tx() as tx:
            await tx.run("set transaction isolation level repeatable read")
            said: dict[str, int] = {}
            for one in await tasks.stats(tx, org=ids.DEFAULT_ORG):
                for state in ("ready", "scheduled", "blocked", "running"):
                    if getattr(one, state):
                        said[f"{one.queue} {state}"] = getattr(one, state)
            rows: Iterable[tuple[str, int]] = await tx.rows(RECOUNT.replace("%s", "%(org)s"), {"org": ids.DEFAULT_ORG})  # type: ignore[assignment]
            counted = dict(rows)
        await database.close()
        return {name: (said.get(name, 0), counted.get(name, 0)) for name in said | counted}

    def _connection(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self.url, autocommit=True, connect_timeout=10, options="-c statement_timeout=60s")


UNKNOWN = (errors.OutcomeUnknown, errors.Unavailable)
"""An error that leaves open whether it happened. Of a single statement whose connection broke this is all one knows."""
