"""Tasks that succeed end with their steps in one statement; what nothing follows from is only counted; much is written in
portions. On a real database."""

from typing import Any

import pytest
from test_advance import claimed, hands

from weft.base import errors, ids, json
from weft.db import statements
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import beginning, compiled, start
from weft.flows.course import Course
from weft.plan.expression import Get, Output
from weft.plan.model import Block, Call, Field, Node, Plan, Task
from weft.settle.outcome import Outcome
from weft.settle.settle import settle

STEPS = "select node, state, output, error->>'type', attempt from weft.steps order by node"


def plan(*nodes: Node, outputs: dict[str, Any] | None = None) -> Plan:
    return Plan("p", "main", (Block("main", nodes=nodes, outputs=outputs or {}),))


def wide(count: int) -> Plan:
    return plan(*(Node(f"n{number:03}", Task("t")) for number in range(count)))


async def begin(database: Database, made: Plan) -> str:
    async with database.tx() as tx:
        return str((await start.start_plan(tx, made, org=ids.DEFAULT_ORG)).id)


async def end(database: Database, result: Any, *, take: int = 100) -> None:
    held = await claimed(database, take)
    async with database.tx() as tx:
        settled = await settle(tx, [Outcome(one, "completed", json.text(result), started=0.01) for one in held])
        assert settled.lost == []


async def run_state(tx: Tx) -> tuple[str, Any]:
    row = await tx.row("select state, output from weft.runs")
    assert row is not None
    return row[0], row[1]


async def test_steps_from_which_nothing_follows_are_completed_and_close_their_block(database: Database) -> None:
    await begin(database, wide(3))
    await end(database, {"x": 1}, take=2)
    async with database.tx() as tx:
        assert await run_state(tx) == ("running", None)
        assert await tx.value("select nodes_ended from weft.runs") == 2
        [running] = await tx.rows("select output, finished_at from weft.steps where state = 'running'")
        assert running == (None, None)
    await end(database, {"x": 1})
    async with database.tx() as tx:
        assert await run_state(tx) == ("completed", {})
        assert await tx.rows(STEPS) == [(f"n00{number}", "completed", {"x": 1}, None, 1) for number in range(3)]
        assert await tx.value("select count(*) from weft.steps where started_at <= finished_at") == 3
        assert await tx.rows("select distinct state, result from weft.task_history") == [("completed", {"x": 1})]


async def test_an_old_fact_about_the_same_step_does_not_hide_its_end(database: Database) -> None:
    """As after a repair: the end of the task that the step had before was left for whoever advances the run next."""
    nodes = Node("a", Task("t")), Node("b", Task("t"), after=("a",))
    await begin(database, plan(*nodes, outputs={"x": Get(Output("b"), "x")}))
    async with database.tx() as tx:
        await tx.run("""
            insert into weft.run_inbox (run_id, org_id, step_id, task_id, state, attempt)
            select s.run_id, s.org_id, s.id, weft.uuid7(), 'cancelled', 1 from weft.steps as s where s.node = 'a'
        """)
    await end(database, {"x": 1})
    await end(database, {"x": 2})
    async with database.tx() as tx:
        assert await run_state(tx) == ("completed", {"x": 2})
        assert await tx.value("select count(*) from weft.run_inbox") == 0


async def test_what_the_run_gives_back_is_read_although_its_steps_were_not(database: Database) -> None:
    made = plan(Node("a", Task("t")), Node("b", Task("t")), outputs={"x": Get(Output("a"), "x")})
    await begin(database, made)
    await end(database, {"x": 7}, take=1)
    await end(database, {"x": 7})
    async with database.tx() as tx:
        assert await run_state(tx) == ("completed", {"x": 7})


@pytest.mark.parametrize("result", [{"n": "seven"}, {}, "seven", None])
async def test_a_result_of_the_wrong_type_fails_the_step_and_is_not_its_output(database: Database, result: Any) -> None:
    made = plan(Node("a", Task("t", returns=(Field("n", "integer"),))), Node("b", Task("t")))
    await begin(database, made)
    await end(database, result)
    async with database.tx() as tx:
        assert await tx.rows(STEPS) == [("a", "failed", None, "InvalidInput", 1), ("b", "completed", result, None, 1)]
        assert (await run_state(tx))[0] == "failed"


async def test_a_result_that_is_filled_up_is_kept_as_it_was_filled_up(database: Database) -> None:
    made = plan(Node("a", Task("t", returns=(Field("n", "integer"), Field("m", "string", nullable=True)))))
    await begin(database, made)
    await end(database, {"n": 1, "more": True})
    async with database.tx() as tx:
        assert await tx.rows(STEPS) == [("a", "completed", {"n": 1, "m": None, "more": True}, None, 1)]


async def test_a_task_that_its_step_has_forgotten_ends_alone(database: Database) -> None:
    """It was set going again meanwhile, with another task."""
    await begin(database, wide(1))
    held = await claimed(database, 1)
    async with database.tx() as tx:
        await tx.run("update weft.steps set task_id = weft.uuid7()")
    async with database.tx() as tx:
        settled = await settle(tx, [Outcome(one, "completed", "{}") for one in held])
        assert settled.lost == [] and await tx.value("select count(*) from weft.task_history") == 1
        assert await tx.value("select state from weft.steps") == "running"
        assert (await run_state(tx))[0] == "running"


async def test_of_a_run_that_was_cancelled_meanwhile_only_the_task_ends(database: Database) -> None:
    await begin(database, wide(1))
    held = await claimed(database, 1)
    async with database.tx() as tx:
        await tx.run("update weft.runs set state = 'cancelled', finished_at = weft.now()")
        await tx.run("update weft.steps set state = 'cancelled', finished_at = weft.now()")
    async with database.tx() as tx:
        assert (await settle(tx, [Outcome(one, "completed", "{}") for one in held])).lost == []
        assert await tx.value("select state from weft.task_history") == "completed"
        assert await tx.value("select state from weft.steps") == "cancelled"
        assert (await run_state(tx))[0] == "cancelled"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions of few."""
    monkeypatch.setattr(beginning, "FIRST", 2)
    monkeypatch.setattr(beginning, "PORTION", 3)


async def test_a_run_that_begins_in_portions_begins_whole(database: Database, small: None) -> None:
    nodes = [Node(f"n{number:02}", Task("t")) for number in range(10)]
    last = Node("z", Task("t"), after=tuple(node.name for node in nodes))
    run = await begin(database, plan(*nodes, last))
    async with database.tx() as tx:
        assert await tx.value("select count(distinct step_id) from weft.tasks where state = 'ready'") == 10
        assert await tx.value("select count(*) from weft.steps where state = 'running' and task_id is not null") == 10
        assert await tx.rows("select node, waits from weft.steps where state = 'pending'") == [("z", 10)]
        assert await tx.value("select nodes from weft.runs where id = %(id)s", {"id": run}) == 11
    await end(database, {})
    await end(database, {})
    async with database.tx() as tx:
        assert (await run_state(tx))[0] == "completed"
        assert await tx.value("select count(*) from weft.steps where state = 'completed'") == 11


async def test_no_more_is_handed_over_than_there_is_room_for_in_all_portions(database: Database, small: None) -> None:
    await begin(database, plan(Node("a", Task("t")), *(Node(f"n{number}", Task("t"), after=("a",)) for number in range(9))))
    held = await claimed(database, 1)
    async with database.tx() as tx:
        worker = hands(room=5)
        settled = await settle(tx, [Outcome(one, "completed", "{}") for one in held], hands=worker)
        assert settled.advanced is not None
        assert (len(worker.given), settled.advanced.ready) == (5, 4)
        running = "select count(*) from weft.tasks where state = 'running' and lease_token = %(token)s"
        assert await tx.value(running, {"token": worker.token}) == 5


async def test_a_run_that_breaks_after_a_portion_fails_and_takes_its_tasks_back(
    database: Database, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Course._begin

    def breaks(course: Course, step: Any) -> None:
        if step.node == "n007":
            raise RuntimeError("a plan that cannot be")
        begun(course, step)

    monkeypatch.setattr(Course, "_begin", breaks)
    await begin(database, wide(10))
    async with database.tx() as tx:
        assert (await run_state(tx))[0] == "failed"
        assert await tx.value("select count(*) from weft.tasks where cancel_requested_at is null") == 0
        assert await tx.value("select count(*) from weft.tasks") == 5


async def test_an_error_of_the_database_in_a_portion_is_the_callers(database: Database, small: None) -> None:
    """And the connection is free again: nothing is left in the middle of being written."""
    async with database.tx() as holder:
        await holder.run("lock table weft.steps in exclusive mode")
        with pytest.raises(errors.Unavailable, match="lock timeout"):
            async with database.tx() as tx:
                await tx.run("set local lock_timeout = '50ms'")
                await start.start_plan(tx, wide(10), org=ids.DEFAULT_ORG)
    await begin(database, wide(10))
    async with database.tx() as tx:
        assert await tx.value("select count(*) from weft.runs") == 1


async def test_the_ends_of_many_are_found_by_their_keys(database: Database) -> None:
    flows = statements.load("weft.flows")
    await begin(database, wide(200))
    arguments = {"ids": [ids.DEFAULT_ORG] * 100, "tokens": [ids.DEFAULT_ORG] * 100, "results": [None] * 100,
                 "started": [0.1] * 100}  # fmt: skip
    async with database.tx() as tx:
        found = "\n".join(row[0] for row in await tx.rows(f"explain {flows.complete_steps}", arguments))
    assert "steps_pkey" in found and "tasks_pkey" in found, found
    assert "Seq Scan on steps" not in found and "Seq Scan on tasks" not in found, found


def inside(count: int) -> Plan:
    """A large block that a node has opened."""
    nodes = tuple(Node(f"n{number:03}", Task("t")) for number in range(count))
    return Plan("p", "main", (Block("main", nodes=(Node("all", Call("all")),)), Block("all", nodes=nodes)))


@pytest.mark.parametrize("known", [True, False])
async def test_a_large_block_counts_what_nothing_follows_from_until_its_last_step_closes_it(
    database: Database, known: bool
) -> None:
    await begin(database, inside(120))
    counted = "select parts_ended, state from weft.steps where node = 'all'"
    for ended in (50, 100):
        if not known:  # as in a process that has not seen the run
            compiled._slot.cache_clear()
        await end(database, {"x": 1}, take=50)
        async with database.tx() as tx:
            assert await tx.rows(counted) == [(ended, "running")]
            assert await run_state(tx) == ("running", None)
    await end(database, {"x": 1})
    async with database.tx() as tx:
        assert await tx.rows(counted) == [(120, "completed")]
        assert await run_state(tx) == ("completed", {})
        assert await tx.value("select count(*) from weft.steps where state = 'completed' and output = '{\"x\": 1}'") == 120
