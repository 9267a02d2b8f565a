"""Runs on a real database: plans by hand are run by `settle` as workers would end their tasks."""

import random
import time
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
import test_afl_by_hand as by_hand
from running import Failure, Known

import hands as hands_of
from weft.base import ids, json
from weft.db.database import Database
from weft.flows import afterwards, chores, operate, start
from weft.flows.advance import Hands
from weft.flows.start import Wish
from weft.plan.expression import Apply, Value
from weft.plan.model import Block, Compute, Field, Node, Plan, Task
from weft.queue import claim, promote, queues
from weft.queue.lanes import Lane, Take
from weft.queue.model import Claimed
from weft.settle.outcome import How, Outcome
from weft.settle.settle import settle

Do = Callable[[str, dict[str, Any]], Any]


async def run(database: Database, plan: Plan, params: dict[str, Any], do: Do, *, seed: int = 0, most: int = 3) -> Known:
    """Runs a plan to its end, a few tasks at a time in any order."""
    async with database.tx() as tx:
        made = await start.start_plan(tx, plan, org=ids.DEFAULT_ORG, wish=Wish(params=params))
    dice = random.Random(seed)
    for _ in range(10_000):
        held = await claimed(database, dice.randint(1, most))
        if not held:
            break
        dice.shuffle(held)
        async with database.tx() as tx:
            await settle(tx, [outcome(one, do) for one in held])
    async with database.once() as tx:
        row = await tx.row("select state, output, error from weft.runs where id = %(id)s", {"id": made.id})
        assert row is not None
        assert not await tx.value("select count(*) from weft.run_inbox")
    return Known(row[0], row[1], _plain(row[2]))


async def claimed(database: Database, take: int) -> list[Claimed]:
    async with database.once() as tx:
        return await claim.plain(
            tx, node_id=str(uuid.UUID(int=7)), token=str(ids.token()), kinds=KINDS,
            takes=[Take(Lane("default", str(ids.DEFAULT_ORG), plain=True), take)],
        )  # fmt: skip


KINDS = ["geo.Geocode", "Charge", "Notify", "Double", "t"]


def outcome(task: Claimed, do: Do) -> Outcome:
    try:
        result = do(task.kind, json.loads(task.payload))
    except Failure as error:
        text = json.text({"type": type(error).__name__, "message": str(error)})
        return Outcome(task, "failed", error=text, retryable=False, started=time.monotonic() - task.claimed)
    return Outcome(task, "completed", result=json.text(result))


def _plain(error: dict[str, Any] | None) -> dict[str, Any] | None:
    return error and {"type": error["type"], "message": error["message"]}


@pytest.mark.parametrize("seed", range(3))
async def test_a_foreach_collects_its_yields_in_the_order_of_its_elements(database: Database, seed: int) -> None:
    found = await run(database, by_hand.LOCATE, {"cities": ["Ulm", "Bonn", "Berlin"]}, by_hand.geocode, seed=seed)
    assert found == Known("completed", {"lats": [7.5, 8.5, 10.5], "last": 10.25, "found": 1})


async def test_a_foreach_over_nothing_yields_nothing(database: Database) -> None:
    found = await run(database, by_hand.LOCATE, {"cities": [], "country": "fr"}, by_hand.geocode)
    assert found == Known("completed", {"lats": [], "found": 1})


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, {"receipt": "paid 5!", "note": 7}),
        (by_hand.Declined("no money"), {"receipt": "declined: no money", "note": 18}),
        (Failure("boom"), {"receipt": "asked 4", "note": 7}),
    ],
)
async def test_a_catch_makes_the_step_a_success(database: Database, error: Exception | None, result: Any) -> None:
    assert await run(database, by_hand.PAY, {"amount": 5}, by_hand.paying(error)) == Known("completed", result)


async def test_a_catch_that_fails_fails_the_run(database: Database) -> None:
    def everything_fails(kind: str, args: dict[str, Any]) -> Any:
        raise Failure(f"{kind} is down")

    found = await run(database, by_hand.PAY, {"amount": 5}, everything_fails)
    assert found == Known("failed", None, {"type": "Failure", "message": "Notify is down"})


@pytest.mark.parametrize("seed", range(3))
async def test_nested_blocks_see_the_steps_around_them(database: Database, seed: int) -> None:
    found = await run(database, by_hand.DEEP, {"n": 3}, lambda _kind, args: {"y": 2 * args["x"]}, seed=seed)
    assert found == Known("completed", {"total": 66, "path": "6>66"})


TWO = Plan("two", "main", (Block("main", nodes=(Node("a", Task("t")), Node("b", Task("t"), after=("a",)))),))
BESIDE = Plan("beside", "main", (Block("main", nodes=(Node("a", Task("t")), Node("b", Task("t")))),))


def hands(**changed: Any) -> Hands:
    told: dict[str, Any] = {
        "node_id": str(uuid.UUID(int=7)), "token": str(ids.token()), "kinds": frozenset({"t"}), "room": 1,
        "serves": lambda lane: lane == "default", **changed,
    }  # fmt: skip
    return Hands(**told)


async def _handed(database: Database, given: Hands | None) -> list[Claimed]:
    """What whoever ends the first of two tasks is given."""
    async with database.tx() as tx:
        await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
    [first] = await claimed(database, 1)
    async with database.tx() as tx:
        settled = await settle(tx, [Outcome(first, "completed")], hands=given)
    assert settled.advanced is not None
    return [] if given is None else given.given


async def test_a_successor_is_handed_to_whoever_ended_the_task_before(database: Database) -> None:
    given = hands()
    [task] = await _handed(database, given)
    assert (task.kind, task.attempt, task.token) == ("t", 1, given.token)
    async with database.once() as tx:
        row = await tx.row("select state, node_id::text, lease_token::text, attempt from weft.tasks")
    assert row == ("running", given.node_id, given.token, 1)
    async with database.tx() as tx:
        settled = await settle(tx, [Outcome(task, "completed")])
        assert settled.lost == []
        assert await tx.value("select state from weft.runs") == "completed"


@pytest.mark.parametrize("given", [
    None, hands(room=0), hands(kinds=frozenset({"u"})), hands(serves=lambda _lane: False),
])  # fmt: skip
async def test_what_a_worker_cannot_take_is_left_for_others(database: Database, given: Hands | None) -> None:
    assert await _handed(database, given) == []
    assert len(await claimed(database, 1)) == 1


@pytest.mark.parametrize("limit", [
    "insert into weft.queues (org_id, name, max_running) values ('00000000-0000-0000-0000-000000000000', 'default', 5)",
    "insert into weft.queues (org_id, name, paused) select id, 'default', true from weft.orgs",
    "update weft.orgs set max_concurrent = 9",
    "update weft.orgs set suspended_at = weft.now()",
])  # fmt: skip
async def test_under_a_limit_nothing_is_handed_over(database: Database, limit: str) -> None:
    async with database.tx() as tx:
        await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
    [first] = await claimed(database, 1)
    async with database.tx() as tx:
        await tx.run(limit)
    async with database.tx() as tx:
        worker = hands()
        settled = await settle(tx, [Outcome(first, "completed")], hands=worker)
        assert settled.advanced is not None and worker.given == [] and settled.advanced.ready == 1


async def test_a_run_that_somebody_holds_is_told_and_goes_on_afterwards(database: Database) -> None:
    async with database.tx() as tx:
        made = await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
    [first] = await claimed(database, 1)
    async with database.tx() as holder:
        await holder.rows("select id from weft.runs for update")
        async with database.tx() as tx:
            settled = await settle(tx, [Outcome(first, "completed", result="1")])
    assert settled.advanced is not None and settled.advanced.busy == [str(made.id)]
    assert await claimed(database, 1) == []
    async with database.tx() as tx:
        await afterwards.once_more(tx, settled.advanced)
    assert len(await claimed(database, 1)) == 1


async def test_what_nobody_took_is_swept(database: Database) -> None:
    async with database.tx() as tx:
        await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
    [first] = await claimed(database, 1)
    async with database.tx() as tx:
        await settle(tx, [Outcome(first, "completed")], advance=False)
        assert "run sweeper" in await hands_of.stirs(tx)
    async with database.tx() as tx:
        assert await chores.sweep(tx) == 1
        assert "run sweeper" not in await hands_of.stirs(tx)
    assert len(await claimed(database, 1)) == 1


async def test_a_run_that_the_database_refuses_fails_alone(database: Database, database_url: str) -> None:
    """Swept together with others, of whatever org, it must not keep them from going on."""
    async with database.tx() as tx:
        runs = [str((await start.start_plan(tx, BESIDE, org=ids.DEFAULT_ORG)).id) for _ in range(5)]
    held = {one.run_id: one for one in await claimed(database, 10)}
    refused = runs[2]
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(f"""
            create function refuse() returns trigger language plpgsql as $$
            begin raise exception 'not this one' using errcode = 'untranslatable_character'; end $$;
            create trigger refuse before update on weft.steps for each row
            when (new.run_id = '{refused}') execute function refuse();
        """.encode())
    async with database.tx() as tx:
        await settle(tx, [Outcome(held[run], "completed", result="1") for run in runs], advance=False)
    async with database.tx() as tx:
        assert await chores.sweep(tx) == 5
    async with database.tx() as tx:
        found = dict(await tx.rows("select r.id::text, r.state from weft.runs as r"))
        assert found == {run: "failed" if run == refused else "running" for run in runs}
        error = await tx.value("select r.error ->> 'message' from weft.runs as r where r.id = %(id)s", {"id": refused})
        assert error == "the run cannot go on: not this one"
        ended = "select count(*) from weft.steps where state = 'completed'"
        assert await tx.value(ended) == 4
        await chores.sweep(tx)
        assert "run sweeper" not in await hands_of.stirs(tx)


async def test_a_run_whose_plan_only_another_version_knows_waits_for_that_one_alone(database: Database) -> None:
    async with database.tx() as tx:
        runs = [str((await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)).id) for _ in range(3)]
        hash = uuid.uuid4().hex * 2
        await tx.run("""
            insert into weft.plans (org_id, hash, plan, nodes)
            select p.org_id, %(hash)s, '{"format": 99}', p.nodes from weft.plans as p
        """, {"hash": hash})  # fmt: skip
        await tx.run("update weft.runs set plan_hash = %(hash)s where id = %(id)s", {"hash": hash, "id": runs[1]})
    held = await claimed(database, 3)
    async with database.tx() as tx:
        await settle(tx, [Outcome(one, "completed", result="1") for one in held], advance=False)
    async with database.tx() as tx:
        assert await chores.sweep(tx) == 2
        assert await tx.value("select count(*) from weft.runs where state = 'running'") == 3
        assert await tx.rows("select distinct run_id::text from weft.run_inbox") == [(runs[1],)]
    assert {one.run_id for one in await claimed(database, 3)} == {runs[0], runs[2]}
    async with database.tx() as tx:
        await tx.run("update weft.runs set deadline_at = weft.now() - interval '1 second'")
        assert await chores.deadlines(tx) == 2
        assert await tx.rows("select id::text from weft.runs where state = 'running'") == [(runs[1],)]


async def test_what_ends_while_its_run_is_free_goes_without_the_inbox(database: Database) -> None:
    async with database.tx() as tx:
        await start.start_plan(tx, BESIDE, org=ids.DEFAULT_ORG)
    held = await claimed(database, 2)
    async with database.tx() as tx:
        await settle(tx, [Outcome(one, "completed", result="1") for one in held])
        assert await tx.value("select state from weft.runs") == "completed"
        first = """
            insert into weft.run_inbox (run_id, org_id, task_id, state, attempt)
            select id, org_id, id, 'completed', 1 from weft.runs returning id
        """
        assert await tx.value(first) == 1, "nothing was ever there"


async def test_what_others_left_is_taken_along(database: Database) -> None:
    async with database.tx() as tx:
        await start.start_plan(tx, BESIDE, org=ids.DEFAULT_ORG)
    first, second = await claimed(database, 2)
    async with database.tx() as tx:
        await settle(tx, [Outcome(first, "completed")], advance=False)
    async with database.tx() as tx:
        await settle(tx, [Outcome(second, "completed")])
        assert await tx.value("select state from weft.runs") == "completed"
        assert "run sweeper" not in await hands_of.stirs(tx)


async def test_of_a_batch_the_runs_that_are_free_go_on_and_the_others_are_told(database: Database) -> None:
    async with database.tx() as tx:
        runs = [str((await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)).id) for _ in range(2)]
    held = await claimed(database, 2)
    async with database.tx() as holder:
        await holder.rows("select id from weft.runs where id = %(id)s for update", {"id": runs[0]})
        async with database.tx() as tx:
            settled = await settle(tx, [Outcome(one, "completed") for one in held])
            assert await tx.rows("select run_id::text from weft.run_inbox") == [(runs[0],)]
    assert settled.advanced is not None and settled.advanced.busy == [runs[0]]
    assert [one.run_id for one in await claimed(database, 2)] == [runs[1]]


async def test_the_same_fact_twice_is_one_ending(database: Database) -> None:
    async with database.tx() as tx:
        await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
    [first] = await claimed(database, 1)
    async with database.tx() as tx:
        await settle(tx, [Outcome(first, "completed")])
        await tx.run("""
            insert into weft.run_inbox (run_id, org_id, step_id, task_id, state, attempt)
            select run_id, org_id, step_id, id, 'failed', 1 from weft.task_history
        """)
    async with database.tx() as tx:
        await chores.sweep(tx)
        assert await tx.rows("select node, state from weft.steps order by node") == [("a", "completed"), ("b", "running")]


async def test_a_lost_lease_tells_a_run_nothing(database: Database) -> None:
    async with database.tx() as tx:
        await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
    [first] = await claimed(database, 1)
    first.token = str(ids.token())
    async with database.tx() as tx:
        settled = await settle(tx, [Outcome(first, "completed")])
        assert len(settled.lost) == 1 and settled.advanced is None
        assert not await tx.value("select count(*) from weft.run_inbox")


POOLED = Node("a", Task("t", options={"pool": Value("few"), "max_attempts": Value(2)}))


@pytest.mark.parametrize("how", ["failed", "lost", "released"])
@pytest.mark.parametrize("node", [Node("a", Task("t")), POOLED])
async def test_what_comes_back_while_its_run_is_paused_waits_for_the_run(database: Database, node: Node, how: How) -> None:
    async with database.tx() as tx:
        made = await start.start_plan(tx, Plan("one", "main", (Block("main", nodes=(node,)),)), org=ids.DEFAULT_ORG)
        task = await hands_of.claim_one(tx, kinds=["t"])
    async with database.tx() as tx:
        await operate.pause(tx, made.id, org=ids.DEFAULT_ORG, actor="me")
    async with database.tx() as tx:
        await settle(tx, [Outcome(task, how)])
        await promote.unblock(tx)
        assert await tx.value("select state from weft.tasks") == "blocked"
    async with database.tx() as tx:
        await operate.resume(tx, made.id, org=ids.DEFAULT_ORG, actor="me")
        assert await tx.value("select state from weft.tasks") == ("scheduled" if how == "failed" else "ready")


async def test_a_pool_lets_as_many_run_as_it_has_slots(database: Database) -> None:
    nodes = tuple(Node(name, Task("t", options={"pool": Value("few")})) for name in "abcde")
    async with database.tx() as tx:
        await queues.change(tx, org=ids.DEFAULT_ORG, name="pool:few", actor="me", max_running=2)
        for _ in range(2):
            await start.start_plan(tx, Plan("five", "main", (Block("main", nodes=nodes),)), org=ids.DEFAULT_ORG)
    ended = 0
    while True:
        async with database.tx() as tx:
            running = await hands_of.claim_special(tx, 10, kinds=["t"])
            assert await hands_of.claim_special(tx, 10, kinds=["t"]) == []
        if not running:
            break
        assert len(running) == 2
        ended += len(running)
        async with database.tx() as tx:
            await settle(tx, [Outcome(one, "completed") for one in running])
    assert ended == 10


async def test_what_follows_a_mark_waits_for_a_paused_run(database: Database) -> None:
    async with database.tx() as tx:
        made = await start.start_plan(tx, TWO, org=ids.DEFAULT_ORG)
        await operate.pause(tx, made.id, org=ids.DEFAULT_ORG, actor="me")
        await operate.mark(tx, made.id, org=ids.DEFAULT_ORG, node="a", state="completed", actor="me")
    assert await claimed(database, 9) == []
    async with database.tx() as tx:
        await operate.resume(tx, made.id, org=ids.DEFAULT_ORG, actor="me")
    [task] = await claimed(database, 9)
    async with database.tx() as tx:
        await settle(tx, [Outcome(task, "completed")])
        assert await tx.value("select state from weft.runs") == "completed"


FAILS = Apply("+", (Value("x"), Value(1)))


@pytest.mark.parametrize(("node", "caught"), [
    (Node("a", Compute(Value(1)), when=FAILS, catch="catch"), [-1]),
    (Node("a", Compute(FAILS), foreach=Value([1, 2]), catch="catch"), [0, 1]),
    (Node("a", Compute(Value(1)), foreach=FAILS, catch="catch"), []),
])  # fmt: skip
async def test_elements_are_caught_each_and_their_list_is_not(database: Database, node: Node, caught: list[int]) -> None:
    catch = Block("catch", params=(Field("error"), Field("error_type")), nodes=(Node("b", Compute(FAILS)),), within="main")
    async with database.tx() as tx:
        await start.start_plan(tx, Plan("p", "main", (Block("main", nodes=(node,)), catch)), org=ids.DEFAULT_ORG)
        rows = await tx.rows("select element from weft.steps where catching order by element")
        assert [row[0] for row in rows] == caught
        assert await tx.value("select state from weft.runs") == "failed"
