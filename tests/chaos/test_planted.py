"""Bugs planted one at a time, each into a private copy of what it breaks: the checker finds every one of them.

The same scenes with nothing planted are clean, so what is found is the bug.
"""

import asyncio
import contextlib
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
import zombies
from checker import Left
from crowd import until, value
from cutter import Cutter
from witness import Witness
from zombies import Scene

import bouncer
from weft import App, Context
from weft.base import config, errors
from weft.cluster import leaders, nodes, wakefulness
from weft.db import database as databases
from weft.db.database import Database
from weft.db.lean import Lean
from weft.db.statements import Statements
from weft.db.tx import Tx
from weft.flows import ended
from weft.queue import claim, finish, limits
from weft.settle import ends

Patch = Callable[[pytest.MonkeyPatch], None]

FENCE = "and t.lease_token = v.token"
ONE = "and t.lease_token = %(token)s"
PAIRS = "and ((t.id, t.lease_token) in ("


def text(statements: Statements, name: str, old: str, new: str) -> Patch:
    """A statement that says something else."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        before = statements.texts[name]
        assert old in before, f"{name} has no {old!r} any more: plant it elsewhere"
        patch.setitem(statements.texts, name, before.replace(old, new))

    return plant


def quick(module: Any, name: str, old: str, new: str) -> Patch:
    """The same of one that goes the quick way."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        before = getattr(module, name).source
        assert old in before, f"{name} has no {old!r} any more: plant it elsewhere"
        patch.setattr(module, name, Lean("planted", before.replace(old, new)))

    return plant


def delete_first(patch: pytest.MonkeyPatch) -> None:
    """Deletes in one transaction and dies before the other one."""

    async def planted(tx: Tx, *, ids: Sequence[str], **_: Any) -> None:
        await tx.run("delete from weft.tasks where id = any(%(ids)s::uuid[])", {"ids": list(ids)})
        raise errors.Unavailable("died here")

    patch.setattr(finish, "complete", planted)


def one_token_for_ever(patch: pytest.MonkeyPatch) -> None:
    same = uuid.uuid4()
    patch.setattr("weft.base.ids.token", lambda: same)


def forgets_what_follows(patch: pytest.MonkeyPatch) -> None:
    async def planted(*_: Any, **__: Any) -> None: ...

    patch.setattr(ends, "go_on", planted)


PLANTED: dict[str, tuple[Patch, Scene, str]] = {
    "no fence in settle": (text(finish.SQL, "finish", FENCE, ""), zombies.late_completion, "stale"),
    "no fence in a completion": (text(finish.SQL, "complete_claimed", ONE, ""), zombies.late_completion, "stale"),
    "no fence in a completion of several claims": (
        text(finish.SQL, "complete", PAIRS, f"or {PAIRS[4:]}"), zombies.late_completion_among_others, "stale",
    ),
    "no fence where a step ends": (
        text(ended.SQL, "complete_steps", PAIRS, f"or {PAIRS[4:]}"), zombies.late_completion_of_a_step, "stale",
    ),
    "no fence in a retry": (text(finish.SQL, "requeue", FENCE, ""), zombies.late_failure, "stale"),
    "no fence in heartbeat": (text(finish.SQL, "report_progress", FENCE, ""), zombies.late_heartbeat, "stale"),
    "a fence that only reads": (text(finish.SQL, "write_logs", "for share", ""), zombies.line_beside_a_rescue, "stale"),
    "a loss that is not counted": (
        text(finish.SQL, "requeue", "losses = t.losses + v.lost", "losses = t.losses"), zombies.a_life, "losses",
    ),
    "a limit counted without its lock": (
        quick(limits, "_LOCK", "pg_try_advisory_xact_lock(hashtextextended('weft.limit ' || n.name, 0))", "true"),
        zombies.two_claims_under_a_limit_of_one, "limits",
    ),
    "delete before history insert": (delete_first, zombies.a_life, "lost"),
    "history without delete": (
        text(finish.SQL, "complete_claimed", "delete from weft.tasks as t\n    where", "update weft.tasks as t set "
             "state = 'ready', lease_token = null where"), zombies.a_life, "double",
    ),
    "tokens that repeat": (one_token_for_ever, zombies.late_completion, "leases"),
    "a claim that is no attempt": (
        text(claim.SQL, "claim_plain", "attempt = t.attempt + 1", "attempt = t.attempt"), zombies.a_life, "attempts",
    ),
    "an end that nobody follows up": (forgets_what_follows, zombies.a_run, "standing"),
    "an end that the run is not told of": (
        text(finish.SQL, "finish", "where g.run_id is not null", "where false"), zombies.a_run_that_is_left_to_others,
        "standing",
    ),
    "a term that two have": (
        text(leaders.SQL, "take_term", "term = l.term + 1", "term = greatest(l.term, 1)"), zombies.two_leaders_in_turn,
        "leaders",
    ),
}  # fmt: skip

SCENES = [
    zombies.late_completion, zombies.late_completion_among_others, zombies.late_completion_of_a_step, zombies.late_failure,
    zombies.late_heartbeat, zombies.line_beside_a_rescue, zombies.a_life,
    zombies.two_claims_under_a_limit_of_one, zombies.two_leaders_in_turn, zombies.an_enqueue_that_fails,
    zombies.a_run, zombies.a_run_that_is_left_to_others,
]  # fmt: skip


@pytest.mark.parametrize("scene", SCENES, ids=lambda one: one.__name__)
async def test_without_a_bug_there_is_nothing_to_find(witness: Witness, scene: Scene) -> None:
    await scene(witness)
    assert witness.verdict() == []
    assert witness.changes or scene is zombies.an_enqueue_that_fails


@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_bug_is_found(witness: Witness, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plant, scene, rule = PLANTED[name]
    plant(monkeypatch)
    # a bug may also be noticed by whoever meets it; what counts is what it left
    with contextlib.suppress(errors.WeftError):
        await scene(witness)
    assert rule in {one.rule for one in witness.verdict()}


def worker_app(witness: Witness, url: str) -> App:
    """The task of the checker, run in this process."""
    app = App(database_url=url)

    @app.task
    async def checked(ctx: Context, k: str, seconds: float = 0.0) -> dict[str, int]:
        witness.note("start", ctx)
        await asyncio.sleep(seconds)
        witness.note("end", ctx)
        return {"attempt": ctx.attempt, "pid": os.getpid()}

    return app


LIVELINESS: dict[str, Patch] = {
    "lease by client clock": text(nodes.SQL, "beat", "beat_at = weft.now()", "beat_at = weft.now() - interval '1 hour'"),
    "rescue that ignores the liveness rule": text(
        nodes.SQL, "look", "when held.objid is null and pg_postmaster_start_time() < statement_timestamp() - %(quiet)s then",
        "when %(quiet)s > interval '0' then",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [None, *LIVELINESS])
async def test_who_is_well_keeps_its_tasks_and_a_bug_in_that_is_found(
    witness: Witness, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    witness.harmed.add(1)  # nobody was; this process certainly not
    if name is not None:
        LIVELINESS[name](monkeypatch)
    app = worker_app(witness, witness.url)
    async with app, app.worker(concurrency=2):
        await witness.enqueue(app, 1, seconds=60 if name else 4)
        lost = "select count(*) from weft.tasks where losses > 0"
        if name is None:
            await witness.all_ended(within=30)
        else:
            await until(lambda: value(witness.url, lost) > 0, within=30)
            with psycopg.connect(witness.url, autocommit=True, connect_timeout=10) as owner:
                owner.execute("update weft.tasks set cancel_requested_at = weft.now()")
    found = {one.rule for one in witness.verdict()}
    assert found == (set() if name is None else {"rescues"})


@pytest.fixture
def deaf_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-deaf-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("planted", [False, True])
async def test_a_lost_notification_is_only_a_hint_and_a_bug_in_that_is_found(
    witness: Witness, monkeypatch: pytest.MonkeyPatch, planted: bool, deaf_folder: Path
) -> None:
    """Notify-only wake-up."""
    if planted:
        monkeypatch.setattr(wakefulness, "_POLL_ASLEEP", 3600.0)
    async with Cutter(witness.url, folder=deaf_folder) as cutter:
        cutter.drop_notifications = True
        app = worker_app(witness, cutter.url)
        async with app, app.worker(concurrency=2):
            await until(lambda: value(witness.url, "select count(*) from weft.nodes where asleep") == 1, within=30)
            await witness.enqueue(app, 1)
            # long after the slow poll of a worker that does its duty
            done, _ = await asyncio.wait([asyncio.create_task(witness.all_ended(within=30))], timeout=7)
            found = {one.rule for one in witness.verdict(over=True)}
    assert found == ({"stuck"} if planted else set())
    assert bool(done) == (not planted)


@pytest.mark.skipif(bouncer.PGBOUNCER is None, reason=bouncer.REASON)
@pytest.mark.parametrize("planted", [False, True])
async def test_a_setting_that_outlives_its_transaction_is_found(
    witness: Witness, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    """`set` instead of `set local`."""
    if planted:

        @contextlib.asynccontextmanager
        async def transaction(connection: Any, settings: dict[str, str], **_: bool) -> AsyncIterator[Tx]:
            async with connection.transaction():
                await connection.execute("select set_config('weft.org', %s, false)", (settings["weft.org"],))
                yield Tx(connection)

        monkeypatch.setattr(databases, "_transaction", transaction)
    with bouncer.pooled(witness.url) as url:
        database = Database(config.Settings(database_url=url, direct_url=witness.url, pooled=True))
        async with database.tx(org=uuid.uuid4()) as tx:
            await tx.value("select 1")
        await database.close()
        leaked = []
        for _ in range(4):
            async with await psycopg.AsyncConnection.connect(url, prepare_threshold=None, connect_timeout=10) as stranger:
                cursor = await stranger.execute("select coalesce(current_setting('weft.org', true), '')")
                leaked += [row[0] for row in await cursor.fetchall() if row[0]]
    found = {one.rule for one in witness.verdict(left=Left(leaked=leaked))}
    assert found == ({"leaked"} if planted else set())
