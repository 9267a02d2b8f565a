"""Whatever a run may rest for: the chore that looks for runs which stand still leaves it alone."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import still
from dag_tasks import declare, task
from still import feeds_elements, is_told_something

import hands
from weft import App
from weft.base import ids
from weft.flows import beginning, start
from weft.flows.advance import Hands
from weft.flows.start import Wish
from weft.plan.model import Block, Node, Plan, Task
from weft.testing.clock import Clock
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        declare(made)
        yield made


@pytest.fixture
async def clock(app: App) -> Clock:
    return await Clock.install(app)


async def sleeps(app: App) -> uuid.UUID:
    @app.workflow
    async def long() -> None:
        await app.sleep("30d")

    return (await app.start(long)).id


async def waits_for_a_signal(app: App) -> uuid.UUID:
    @app.workflow
    async def long() -> None:
        await app.wait_for("go")

    return (await app.start(long)).id


async def waits_for_a_signal_for_a_while(app: App) -> uuid.UUID:
    @app.workflow
    async def long() -> None:
        await app.wait_for("go", timeout="30d")

    return (await app.start(long)).id


async def was_sent_what_it_does_not_want(app: App) -> uuid.UUID:
    run = await waits_for_a_signal(app)
    await run_pending(app)
    await app.signal(run, "another")
    return run


async def waits_for_a_child(app: App) -> uuid.UUID:
    @app.workflow
    async def child() -> None:
        await app.sleep("30d")

    @app.workflow
    async def parent() -> None:
        await child()

    return (await app.start(parent)).id


async def gathers(app: App) -> uuid.UUID:
    @app.step
    async def quick() -> None: ...

    @app.workflow
    async def long() -> None:
        await app.gather(quick(), app.sleep("30d"), app.wait_for("go"))

    return (await app.start(long)).id


async def waits_for_the_next_attempt(app: App) -> uuid.UUID:
    @app.step(retries=3, retry={"base": "9d", "cap": "9d"})
    async def fails() -> None:
        raise ValueError("no")

    @app.workflow
    async def long() -> None:
        await fails()

    return (await app.start(long)).id


async def waits_to_undo_once_more(app: App) -> uuid.UUID:
    @app.step(retries=3, retry={"base": "9d", "cap": "9d"})
    async def refund() -> None:
        raise ValueError("the bank is closed")

    @app.step(compensate=refund)
    async def charge() -> None: ...

    @app.workflow
    async def buys() -> None:
        await charge()
        raise RuntimeError("no")

    run = (await app.start(buys)).id
    await run_pending(app)
    assert (await app.runs.get(run)).state == "compensating"
    return run


async def is_blocked(app: App) -> uuid.UUID:
    @app.workflow
    async def foreign() -> None:
        await asyncio.sleep(0)

    run = (await app.start(foreign)).id
    await run_pending(app)
    assert (await app.runs.get(run)).state == "blocked"
    return run


async def is_paused(app: App) -> uuid.UUID:
    run = await sleeps(app)
    await run_pending(app)
    await app.runs.pause(run)
    return run


async def is_to_be_cancelled(app: App) -> uuid.UUID:
    run = await sleeps(app)
    await run_pending(app)
    await app.runs.cancel(run)
    return run


async def nobody_has_begun_it(app: App) -> uuid.UUID:
    return await still.triggered(app)


async def is_in_the_hands_of_another_process(app: App) -> uuid.UUID:
    """Begun by a worker, which took its first task with it."""
    plan = Plan("p", "main", (Block("main", nodes=(Node("a", Task("t")),)),))
    worker = Hands(node_id=hands.NODE, token=str(ids.token()), kinds=frozenset("t"), serves=lambda _: True, room=1)
    async with app.tx() as tx:
        run = await start.start_plan(tx, plan, org=still.ORG, wish=Wish(hands=worker))
    assert len(worker.given) == 1
    return run.id


async def is_tried_again_tomorrow(app: App) -> uuid.UUID:
    again = {"max_attempts": 3, "backoff_seconds": 86400}
    await app.dags.create({"name": "d", "tasks": [{"name": "a", "payload": {"task": "fail"}, "retry_config": again}]})
    run = (await app.dags.trigger("d")).id
    await run_pending(app)
    return run


async def is_paused_between_tasks(app: App) -> uuid.UUID:
    """What was running has ended meanwhile, and its fact waits."""
    run = await still.triggered(app)
    async with app.tx() as tx:
        held = await hands.claim_one(tx, kinds=["add"])
    await app.runs.pause(run)
    async with app.tx() as tx:
        await hands.end(tx, [held], result="2")
    return run


async def has_a_task_that_is_to_end(app: App) -> uuid.UUID:
    run = await still.triggered(app)
    await still.say(app, "update weft.tasks set cancel_requested_at = weft.now(), state = 'blocked'")
    return run


async def waits_to_be_let_in(app: App) -> uuid.UUID:
    await app.dags.create({**still.ONE, "max_active_runs": 1})
    await app.dags.trigger("d")
    return (await app.dags.trigger("d")).id


async def waits_for_another_run(app: App) -> uuid.UUID:
    await app.dags.create({"name": "inner", "tasks": [task("never", "nobody")]})
    await app.dags.create({"name": "d", "tasks": [{"name": "go", "payload": {"dag": "inner", "wait": True}}]})
    run = (await app.dags.trigger("d")).id
    await run_pending(app)
    return run


async def asks_what_nobody_handles(app: App) -> uuid.UUID:
    await app.flows.save(source=still.AFL)
    run = (await app.flows.start("n", "W", {"all": "abc"})).id
    await run_pending(app)
    return run


async def is_past_its_deadline(app: App) -> uuid.UUID:
    """The chore that ends it is about to."""
    await app.dags.create({**still.ONE, "timeout_seconds": 60})
    run = (await app.dags.trigger("d")).id
    await still.say(app, "delete from weft.tasks")
    return run


RESTS: list[Callable[[App], Awaitable[uuid.UUID]]] = [
    sleeps, waits_for_a_signal, waits_for_a_signal_for_a_while, was_sent_what_it_does_not_want, waits_for_a_child, gathers,
    waits_for_the_next_attempt, waits_to_undo_once_more, is_blocked, is_paused, is_to_be_cancelled, nobody_has_begun_it,
    is_in_the_hands_of_another_process, is_tried_again_tomorrow, is_paused_between_tasks, has_a_task_that_is_to_end,
    is_told_something, waits_to_be_let_in, waits_for_another_run, feeds_elements, asks_what_nobody_handles,
    is_past_its_deadline,
]  # fmt: skip
WAITING = {
    sleeps, waits_for_a_signal, waits_for_a_signal_for_a_while, waits_for_a_child, gathers, waits_for_the_next_attempt,
}  # fmt: skip
"""Told to wait by their code, which must have been run for that."""


@pytest.mark.parametrize("rest", RESTS, ids=lambda one: one.__name__)
async def test_a_run_that_rests_for_a_reason_is_left_alone(
    app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch, rest: Callable[[App], Awaitable[uuid.UUID]]
) -> None:
    monkeypatch.setattr(beginning, "MOST_MADE", 100)
    monkeypatch.setattr(beginning, "SLICE", 20)
    run = await rest(app)
    if rest in WAITING:
        await run_pending(app)
        assert (await app.runs.get(run)).state in ("running", "waiting")
    before = await app.runs.get(run)
    assert before.finished_at is None
    await clock.advance(still.LONGER)
    assert await still.look(app) == 0
    assert await app.runs.get(run) == before and await still.told(app, run) == []
    if rest is not is_past_its_deadline:
        assert (await app.runs.explain(run)).code != "stuck"
