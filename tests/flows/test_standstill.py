"""Runs that nothing will move again are found and set going, or told of once; test_resting.py has those that only rest."""

import datetime as dt
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import still
from dag_tasks import declare
from still import LONGER, look, noted, say, told, triggered

import hands
import prepared
from weft import App
from weft.base import errors
from weft.db import connect
from weft.flows import beginning, chores, operate, standstill
from weft.flows.standstill import Standstill
from weft.settle import ends
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


async def test_a_task_that_is_nowhere_is_told_of_once_and_done_again_when_somebody_asks(app: App, clock: Clock) -> None:
    run = await triggered(app)
    await say(app, "delete from weft.tasks")
    await clock.advance(standstill.PATIENCE / 2)
    assert await look(app) == 0
    await clock.advance(LONGER)
    assert await look(app) == 1
    found = await app.runs.get(run)
    assert found.state == "running" and found.stalled_at is not None
    assert abs(found.stalled_at - await clock.now()) < dt.timedelta(minutes=1)
    for _ in range(2):
        await clock.advance(LONGER)
        assert await look(app) == 0
    assert await told(app, run) == ["run.stalled"]
    assert await noted(app, run) == [("error", "it stands still: nothing is running and nothing is awaited")]
    why = await app.runs.explain(run)
    assert why.code == "stuck" and f"weft run repair {run}" in why.summary
    planned = await app.runs.repair(run, dry_run=True)
    assert [one.path for one in planned] == ["a"]
    assert (await app.runs.get(run)).stalled_at is not None
    assert await app.runs.repair(run) == planned
    assert (await app.runs.get(run)).stalled_at is None
    with pytest.raises(errors.Conflict):
        await app.runs.repair(run)
    await run_pending(app)
    assert (await app.runs.get(run)).state == "completed"


async def test_an_end_that_was_not_told_is_told_again_by_the_chore_itself(app: App, clock: Clock) -> None:
    run = await still.is_told_something(app)
    await say(app, "delete from weft.run_inbox")
    await clock.advance(LONGER)
    assert await look(app) == 1 and await look(app) == 0
    assert (await app.runs.get(run)).stalled_at is None
    assert await told(app, run) == ["run.revived"]
    assert await noted(app, run) == [("warning", "it stood still and was set going again")]
    await run_pending(app)
    assert (await app.runs.get(run)).state == "completed"


async def test_a_run_that_was_counted_wrong_is_counted_again_and_ends(
    app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it has ended, and nobody noticed."""
    run = await triggered(app)
    for _ in range(2):
        async with app.tx() as tx:
            held = await hands.claim_one(tx, kinds=["add"])
        with monkeypatch.context() as patch:
            patch.setattr(ends, "go_on", _nothing)
            async with app.tx() as tx:
                await hands.end(tx, [held], result="2")
        assert (await app.runs.explain(run)).code == "stuck"
        await clock.advance(LONGER)
        assert await look(app) == 1
    found = await app.runs.get(run)
    assert (found.state, found.nodes_ended, found.stalled_at) == ("completed", 2, None)


async def _nothing(*_: Any, **__: Any) -> None: ...


async def test_elements_that_were_left_for_later_and_forgotten_are_begun(
    app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "MOST_MADE", 100)
    monkeypatch.setattr(beginning, "SLICE", 20)
    run = await still.feeds_elements(app)
    for _ in range(20):
        if not await say(app, "delete from weft.run_inbox"):
            break
        await clock.advance(LONGER)
        assert await look(app) == 1
    assert (await app.runs.get(run)).output == {"out": [f"{one}!" for one in "abc" * 300]}


async def test_a_lost_task_of_an_element_inside_of_a_flow_is_found_by_its_path(app: App, clock: Clock) -> None:
    @app.task(name="n.Work")
    async def work(v: str) -> dict[str, int]:
        return {"n": ord(v)}

    await app.flows.save(source=still.AFL)
    run = (await app.flows.start("n", "W", {"all": "abc"})).id
    await say(app, "delete from weft.tasks where payload ->> 'v' = 'b'")
    await run_pending(app)
    await clock.advance(LONGER)
    assert await look(app) == 1
    [lost] = await app.runs.repair(run)
    assert "[1]" in lost.path and lost.path.endswith("w"), lost
    await run_pending(app)
    assert (await app.runs.get(run)).output == {"out": [97, 98, 99]}


def shop(app: App) -> dict[str, Any]:
    done: dict[str, Any] = {"log": []}

    @app.step
    async def refund() -> None:
        done["log"].append("refund")

    @app.step(compensate=refund)
    async def charge() -> None:
        done["log"].append("charge")

    @app.workflow
    async def buys() -> str:
        await charge()
        await app.wait_for("go")
        return "bought"

    done["buys"] = buys
    return done


async def test_a_workflow_that_lost_its_wake_up_gets_another_and_does_nothing_twice(app: App, clock: Clock) -> None:
    done = shop(app)
    run = (await app.start(done["buys"])).id
    await run_pending(app)
    await say(app, "delete from weft.tasks")
    assert (await app.runs.explain(run)).code == "stuck"
    await clock.advance(LONGER)
    assert await look(app) == 1 and await look(app) == 0
    assert await told(app, run) == ["run.revived"]
    await run_pending(app)
    await app.signal(run, "go")
    await run_pending(app)
    assert (await app.runs.result(run, timeout=30), done["log"]) == ("bought", ["charge"])


async def test_a_workflow_whose_wake_up_ended_badly_without_it_is_undone(app: App, clock: Clock) -> None:
    done = shop(app)
    run = (await app.start(done["buys"])).id
    await run_pending(app)
    moved = await say(
        app,
        "with gone as (delete from weft.tasks returning *) "
        "insert into weft.task_history (id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses, "
        "created_at, run_at, finished_at) select id, org_id, kind, queue, lane, payload, 'cancelled', urgency, attempt, "
        "uncounted, losses, created_at, run_at, weft.now() from gone",
    )
    assert moved == 1
    await clock.advance(LONGER)
    assert await look(app) == 1
    await run_pending(app)
    assert ((await app.runs.get(run)).state, done["log"]) == ("compensated", ["charge", "refund"])


async def test_a_workflow_that_lost_its_wake_up_while_it_was_undone_is_undone(app: App, clock: Clock) -> None:
    done = shop(app)
    run = (await app.start(done["buys"])).id
    await run_pending(app)
    await say(app, "update weft.runs set state = 'compensating', error = '{\"type\": \"E\", \"message\": \"no\"}'")
    await say(app, "delete from weft.tasks")
    await clock.advance(LONGER)
    assert await look(app) == 1
    await run_pending(app)
    found = await app.runs.get(run)
    assert (found.state, done["log"], (found.error or {})["message"]) == ("compensated", ["charge", "refund"], "no")


async def test_a_workflow_is_repaired_by_hand_before_the_chore_comes_and_not_if_it_goes_on(app: App) -> None:
    done = shop(app)
    run = (await app.start(done["buys"])).id
    await run_pending(app)
    with pytest.raises(errors.Conflict, match="does not stand still"):
        await app.runs.repair(run)
    await say(app, "delete from weft.tasks")
    assert await app.runs.repair(run, dry_run=True) == []
    assert await app.runs.repair(run) == []
    await app.signal(run, "go")
    await run_pending(app)
    assert (await app.runs.result(run, timeout=30), done["log"]) == ("bought", ["charge"])


async def test_the_mark_goes_by_itself_if_the_run_goes_on(app: App, clock: Clock) -> None:
    run = await triggered(app)
    async with app.tx() as tx:
        held = await hands.claim_one(tx, kinds=["add"])
    # as if whoever looks did not see the task
    await say(app, "update weft.runs set stalled_at = weft.now()")
    await look(app)
    assert (await app.runs.get(run)).stalled_at is None
    await say(app, "update weft.runs set stalled_at = weft.now()")
    async with app.tx() as tx:
        await hands.end(tx, [held], result="2")
    assert (await app.runs.get(run)).stalled_at is None
    await say(app, "update weft.runs set stalled_at = weft.now(), state = 'completed', finished_at = weft.now()")
    await look(app)
    assert (await app.runs.get(run)).stalled_at is None


@pytest.mark.parametrize("what", ["pause", "cancel", "fail"])
async def test_whoever_steers_a_run_that_stands_still_takes_the_mark_away(app: App, clock: Clock, what: str) -> None:
    run = await triggered(app)
    await say(app, "delete from weft.tasks")
    await clock.advance(LONGER)
    assert await look(app) == 1
    async with app.tx() as tx:
        await getattr(operate, what)(tx, run, org=still.ORG, actor="test")
    found = await app.runs.get(run)
    assert found.stalled_at is None
    if what == "pause":
        await clock.advance(LONGER)
        assert await look(app) == 0
        with pytest.raises(errors.Conflict, match="the run is paused"):
            await app.runs.repair(run)
        await app.runs.resume(run)
        assert await look(app) == 1 and await told(app, run) == ["run.stalled", "run.stalled"]


async def test_a_run_that_somebody_holds_is_left_to_him(app: App, clock: Clock) -> None:
    run = await triggered(app)
    await say(app, "delete from weft.tasks")
    await clock.advance(LONGER)
    database = await app.open()
    async with database.tx() as holder:
        await holder.rows("select id from weft.runs where id = %(id)s for update", {"id": run})
        assert await look(app) == 0
    assert await look(app) == 1


async def test_a_run_whose_plan_nobody_can_read_is_told_of_and_keeps_nobody_else_waiting(app: App, clock: Clock) -> None:
    await app.dags.create(still.ONE)
    runs = [(await app.dags.trigger("d")).id for _ in range(3)]
    await say(app, "delete from weft.tasks")
    await say(app, "update weft.steps set node = 'other' where run_id = %(run)s and node = 'a'", run=runs[1])
    await clock.advance(LONGER)
    assert await look(app) == 3
    for run in runs:
        assert await told(app, run) == ["run.stalled"]
    assert "do not fit" in (await noted(app, runs[1]))[0][1]
    with pytest.raises(errors.Conflict, match="do not fit"):
        await app.runs.repair(runs[1])


async def test_many_that_stand_still_are_seen_to_in_batches_and_pages(
    app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standstill, "_MOST", 4)
    monkeypatch.setattr(standstill, "BATCH", 2)
    await app.dags.create(still.ONE)
    runs = [(await app.dags.trigger("d")).id for _ in range(10)]
    await say(app, "delete from weft.tasks where run_id <> %(run)s", run=runs[3])
    await clock.advance(LONGER)
    chore, database, seen = Standstill(), await app.open(), []
    for _ in range(20):
        async with database.once() as tx:
            found = await chore.peek(tx)
        if found:
            async with database.tx() as tx:
                seen.append(await chore.once(tx))
    assert sum(seen) == 9 and max(seen) == 2
    marked = [run for run in runs if (await app.runs.get(run)).stalled_at is not None]
    assert marked == runs[:3] + runs[4:]


async def test_a_page_that_takes_long_is_followed_by_smaller_ones(app: App) -> None:
    time = iter([0.0, 5.0, 10.0, 15.0, 20.0, 20.0, 20.0, 20.0])
    chore = Standstill(clock=lambda: next(time))
    sizes = []
    for _ in range(4):
        sizes.append(chore._take)
        async with (await app.open()).once() as tx:
            assert not await chore.peek(tx)
    assert sizes == [5000, 2500, 1250, 2500]


async def test_what_was_written_about_a_run_goes_with_it(app: App, clock: Clock) -> None:
    run = await triggered(app)
    await say(app, "delete from weft.tasks")
    await clock.advance(LONGER)
    assert await look(app) == 1 and await noted(app, run) != []
    await app.runs.cancel(run)
    await clock.advance(dt.timedelta(days=2))
    async with app.tx() as tx:
        assert await chores.pruning(dt.timedelta(days=1))(tx) == 1
    assert await noted(app, run) == []


FILL = f"""
    insert into weft.runs (org_id, kind, name, state, created_at, finished_at)
    select '{still.ORG}', case when n % 3 = 0 then 'workflow' else 'dag' end, 'n',
        case when n % 50 = 0 then 'running' else 'completed' end, now() - interval '1 day',
        case when n % 50 <> 0 then now() end
    from generate_series(1, 20000) as n;
    insert into weft.steps (id, run_id, org_id, frame_id, node, state, task_id, created_at)
    select weft.uuid7(), r.id, r.org_id, r.id, 'n' || k,
        case when r.state = 'running' and k = 3 then 'running' else 'completed' end, weft.uuid7(), r.created_at
    from weft.runs as r, generate_series(1, 5) as k
    where r.kind = 'dag';
    insert into weft.tasks (id, org_id, kind, run_id)
    select s.task_id, s.org_id, 't', s.run_id from weft.steps as s where s.state = 'running';
    insert into weft.tasks (id, org_id, kind, state, run_at)
    select r.id, r.org_id, 'workflow:n:1', 'scheduled', '9000-01-01'
    from weft.runs as r where r.kind = 'workflow' and r.state = 'running';
    insert into weft.tasks (org_id, kind) select '{still.ORG}', 'mail' from generate_series(1, 20000);
"""
ANALYZE = "analyze weft.runs; analyze weft.steps; analyze weft.tasks; analyze weft.run_inbox"


@pytest.mark.parametrize("scripts", [[], [ANALYZE], [FILL], [FILL, ANALYZE], [ANALYZE, FILL]], ids=range(5))
def test_a_look_reads_what_should_go_on_and_neither_what_has_ended_nor_the_queue(
    database_url: str, scripts: list[str]
) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        for script in scripts:
            owner.execute(script.encode())
    work = connect.parameters(database_url, purpose="work")
    text, values = standstill.SQL.find_standing, {"after": uuid.UUID(int=0), "take": 5000, "patience": standstill.PATIENCE}
    with psycopg.connect(**work, autocommit=True, prepare_threshold=0) as connection:  # type: ignore[arg-type]
        plan = prepared.explain(connection, "looks", options=", analyze, buffers", values=values, text=text)
    nodes = list(_nodes(plan["Plan"]))
    assert [one for one in nodes if one["Node Type"] == "Seq Scan"] == [], json.dumps(plan)
    indexes = {one["Index Name"] for one in nodes if "Index Name" in one}
    assert indexes == {"runs_going", "run_inbox_by_run", "tasks_pkey", "steps_place"}
    # a dozen pages for each of the 400 that should go on, whatever else there is
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 400 * 20


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for one in plan.get("Plans", ()):
        yield from _nodes(one)


async def test_where_runs_have_many_steps_they_are_looked_at_from_behind(app: App, database_url: str) -> None:
    """Of elements that are made in windows the last ones are open."""
    run = await triggered(app)
    async with app.tx() as tx:
        await tx.run(
            "insert into weft.steps (id, run_id, org_id, frame_id, node, element, state, task_id) "
            "select weft.uuid7(), r.id, r.org_id, r.id, 'x', n, 'completed', weft.uuid7() "
            "from weft.runs as r, generate_series(0, 20000) as n where r.id = %(run)s", {"run": run},
        )  # fmt: skip
        await tx.run("update weft.steps set node = 'x', element = 20001 where node = 'a'")
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(ANALYZE.encode())
        told = owner.execute(
            f"explain (analyze, buffers, format json) {standstill.SQL.texts['stands_still']}".encode(),
            {"id": run, "org_id": still.ORG},
        ).fetchone()
    assert told is not None and told[0][0]["Plan"]["Shared Hit Blocks"] + told[0][0]["Plan"]["Shared Read Blocks"] < 50
