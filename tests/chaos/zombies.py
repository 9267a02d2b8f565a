"""Scenes in which somebody writes too late, step by step and without a clock: what the planted bugs are tried on."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable

from crowd import until, value
from witness import Witness

import hands
from weft import App
from weft.base import config, ids
from weft.cluster import leaders
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import chores, ended, start
from weft.flows.ended import Completed
from weft.plan.model import Block, Node, Plan, Task
from weft.queue import lease, limits, tasks
from weft.queue.lanes import Lane
from weft.queue.lease import Line, Progress
from weft.queue.model import Claimed
from weft.settle import outcome, rescue, settle

Scene = Callable[[Witness], Awaitable[None]]


class Stage:
    """A database and the moves of the play."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self.database = Database(config.Settings(database_url=witness.url))

    async def __aenter__(self) -> "Stage":
        await self.database.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.database.close()

    async def put(self, **options: object) -> str:
        key = uuid.uuid4().hex
        async with self.database.tx() as tx:
            id = await hands.put(tx, "mail", {"k": key}, **options)
        self.witness.told(key, task=id)
        return id

    async def claim(self) -> Claimed:
        async with self.database.tx() as tx:
            return await hands.claim_one(tx)

    async def lose(self, held: Claimed) -> None:
        """The leader takes it away."""
        async with self.database.tx() as tx:
            await rescue._end(tx, [held.id], how="lost", why="its worker died")

    async def end(self, held: Claimed, how: outcome.How = "completed", *, beside: Claimed | None = None) -> None:
        """`beside`: together with another one."""
        text = json.dumps({"attempt": held.attempt})
        error = json.dumps({"type": "Error", "message": f"attempt {held.attempt}"})
        facts = {"result": text} if how == "completed" else {"error": error, "delay": 0}
        both = [held] if beside is None else [held, beside]
        if how == "completed":
            for one in both:
                self.witness.note("end", one)
        async with self.database.once() if how == "completed" else self.database.tx() as tx:
            await settle.settle(tx, [outcome.Outcome(one, how, **facts) for one in both])  # type: ignore[arg-type]


async def late_completion(witness: Witness) -> None:
    """Its worker was given up, another one has it, and the first one reports that it is done."""
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        await stage.lose(stale)
        await stage.claim()
        await stage.end(stale)


async def late_completion_among_others(witness: Witness) -> None:
    """The same in a batch with one that is still held: those of several claims are ended by a statement of their own."""
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        await stage.lose(stale)
        await stage.claim()
        await stage.put()
        await stage.end(stale, beside=await stage.claim())


async def late_completion_of_a_step(witness: Witness) -> None:
    """The same by the way of those who hold a run."""
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        await stage.lose(stale)
        current = await stage.claim()
        async with stage.database.tx() as tx:
            await ended.complete(tx, [Completed(stale, json.dumps({"attempt": stale.attempt}), None)])
        await stage.end(current)


async def late_failure(witness: Witness) -> None:
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        await stage.lose(stale)
        await stage.claim()
        await stage.end(stale, "failed")


async def late_heartbeat(witness: Witness) -> None:
    """Progress is what a task's sign of life writes."""
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        await stage.lose(stale)
        await stage.claim()
        async with stage.database.tx() as tx:
            await lease.report_progress(tx, [Progress(stale.id, stale.token, 10, f"attempt {stale.attempt}", None)])


async def line_beside_a_rescue(witness: Witness) -> None:
    """A log line is being written while rescue takes the task away: it commits first, or it is not kept."""
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        async with stage.database.tx() as tx:
            at = await tx.value("select weft.now()")
            await lease.write_logs(tx, [Line(stale.id, stale.token, at, "info", f"attempt {stale.attempt}", None)])
            rescuing = asyncio.create_task(stage.lose(stale))
            waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            await until(lambda: rescuing.done() or value(witness.url, waiting) > 0, within=20)
        async with asyncio.timeout(20):
            await rescuing


async def two_claims_under_a_limit_of_one(witness: Witness) -> None:
    async with Stage(witness) as stage:
        async with stage.database.tx() as tx:
            narrow = tasks.QueueSettings(max_running=1)
            await tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="narrow", settings=narrow, actor="chaos")
        witness.limits["narrow"] = 1
        for _ in range(2):
            await stage.put(queue="narrow")
        async with stage.database.tx() as first, stage.database.tx() as second:
            for tx in (first, second):
                await _claim_limited(tx)


async def _claim_limited(tx: Tx) -> None:
    lane = Lane("narrow", str(ids.DEFAULT_ORG), plain=True, weight=1, limited=True)
    await limits.claim(tx, node_id=hands.NODE, token=str(ids.token()), kinds=["mail"], lanes=[lane], want=1)


async def a_life(witness: Witness) -> None:
    """Claimed, lost, claimed, completed."""
    async with Stage(witness) as stage:
        await stage.put()
        await stage.lose(await stage.claim())
        await stage.end(await stage.claim())


async def a_run(witness: Witness, *, advance: bool = True) -> None:
    """Of one task."""
    plan = Plan("p", "main", (Block("main", nodes=(Node("a", Task("mail")),)),))
    async with Stage(witness) as stage:
        async with stage.database.tx() as tx:
            await start.start_plan(tx, plan, org=ids.DEFAULT_ORG)
        held = await stage.claim()
        witness.note("end", held)
        done = outcome.Outcome(held, "completed", result=json.dumps({"attempt": held.attempt}))
        async with stage.database.tx() as tx:
            await settle.settle(tx, [done], advance=advance)
        async with stage.database.tx() as tx:
            await chores.sweep(tx)


async def a_run_that_is_left_to_others(witness: Witness) -> None:
    """Whoever ends its tasks does not advance it: the chore does."""
    await a_run(witness, advance=False)


async def two_leaders_in_turn(witness: Witness) -> None:
    async with Stage(witness) as stage:
        for _ in range(2):
            async with stage.database.tx() as tx:
                await leaders.take(tx, role="scheduler", node_id=str(uuid.uuid4()))


async def an_enqueue_that_fails(witness: Witness) -> None:
    """The transaction of the client does not commit, and the client knows."""
    app = App(database_url=witness.url)
    async with app:
        try:
            async with app.tx() as tx:
                await hands.put(tx, "mail", {"k": "never"})
                raise LookupError
        except LookupError:
            witness.told("never", error=LookupError())
