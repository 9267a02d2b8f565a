"""DAGs from Python to their end, by a worker of this process."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from dag_tasks import declare, states, task

from weft import App
from weft.base import errors
from weft.flows.look import RunView
from weft.testing import inline as testing


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        declare(made)
        yield made


TWO = [task("a", "add", {"a": 1, "b": 1}), task("b", "add", {"a": 1, "b": 1}, dependencies=["a"])]


async def test_outputs_flow_from_task_to_task(app: App) -> None:
    await app.dags.create({
        "name": "sums", "params": {"x": 1},
        "tasks": [
            task("one", "add", {"a": "${params.x}", "b": 1}),
            task("two", "add", {"a": "${tasks.one.output}", "b": 10}),
        ],
        "outputs": {"sum": "${tasks.two.output}"},
    })  # fmt: skip
    run = await app.dags.trigger("sums", {"x": 5})
    await testing.run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == {"sum": 16}
    assert await states(app, run.id) == {"one": "completed", "two": "completed"}


async def test_a_key_starts_one_run(app: App) -> None:
    await app.dags.create({"name": "d", "tasks": [task("a", "add", {"a": 1, "b": 2})]})
    first, second = await app.dags.trigger("d", key="k"), await app.dags.trigger("d", key="k")
    assert first.id == second.id and first.created and not second.created


async def test_params_that_do_not_fit_start_nothing(app: App) -> None:
    await app.dags.create({"name": "d", "params": {"n": {"type": "integer"}}, "tasks": [task("a", "numbers", {"n": 1})]})
    with pytest.raises(errors.InvalidInput, match="'n'"):
        await app.dags.trigger("d", {"n": "x"})
    assert await app.runs.list() == []


async def test_what_hangs_on_a_failure_does_not_run_unless_its_rule_says_so(app: App) -> None:
    await app.dags.create({
        "name": "d",
        "tasks": [
            task("bad", "fail"), task("after", "add", {"a": 1, "b": 1}, dependencies=["bad"]),
            task("always", "add", {"a": 1, "b": 1}, dependencies=["bad"], trigger_rule="all_done"),
            task("skipped", "add", {"a": 1, "b": 1}, condition="1 == 2"),
        ],
    })  # fmt: skip
    run = await app.dags.trigger("d")
    await testing.run_pending(app)
    with pytest.raises(errors.TaskFailed, match=r"in 'bad': no"):
        await app.runs.result(run.id, timeout=30)
    assert await states(app, run.id) == {
        "bad": "failed", "after": "upstream_failed", "always": "completed", "skipped": "skipped",
    }  # fmt: skip


async def test_a_foreach_maps_over_what_a_task_answered(app: App) -> None:
    await app.dags.create({
        "name": "d",
        "tasks": [
            task("list", "numbers", {"n": 7}),
            task("each", "add", {"a": "${item}", "b": 1}, foreach="${tasks.list.output}", max_parallel=2),
            task("sum", "total", {"values": "${tasks.each.output}"}),
        ],
        "outputs": {"sum": "${tasks.sum.output}"},
    })  # fmt: skip
    run = await app.dags.trigger("d")
    await testing.run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == {"sum": 28}


async def test_a_foreach_over_more_than_a_slice(app: App) -> None:
    await app.dags.create({
        "name": "d",
        "tasks": [task("each", "add", {"a": "${item}", "b": 1}, foreach=list(range(1201)), max_parallel=700)],
        "outputs": {"count": "${length(tasks.each.output)}", "last": "${last(tasks.each.output)}"},
    })  # fmt: skip
    run = await app.dags.trigger("d")
    await testing.run_pending(app, concurrency=50)
    assert await app.runs.result(run.id, timeout=30) == {"count": 1201, "last": 1201}


async def test_what_failed_is_run_again_with_all_that_hangs_on_it(app: App) -> None:
    broken = True

    @app.task(max_attempts=1)
    async def sometimes() -> int:
        if broken:
            raise ValueError("broken")
        return 3

    await app.dags.create({
        "name": "d",
        "tasks": [
            task("first", "add", {"a": 1, "b": 1}), task("middle", "sometimes", dependencies=["first"]),
            task("last", "add", {"a": "${tasks.middle.output}", "b": "${tasks.first.output}"}),
        ],
        "outputs": {"sum": "${tasks.last.output}"},
    })  # fmt: skip
    run = await app.dags.trigger("d")
    await testing.run_pending(app)
    assert (await app.runs.get(run.id)).state == "failed"
    broken = False
    assert await app.runs.rerun(run.id) == ["last", "middle"]
    await testing.run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == {"sum": 5}
    again = await app.runs.clear(run.id, ["first"])
    assert again == ["first", "last", "middle"]
    await testing.run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, found.output, found.reruns, found.nodes_ended) == ("completed", {"sum": 5}, 2, 3)


async def test_a_task_that_is_marked_lets_the_run_go_on(app: App) -> None:
    await app.dags.create({
        "name": "d",
        "tasks": [task("bad", "fail"), task("next", "add", {"a": "${tasks.bad.output.n}", "b": 1})],
        "outputs": {"sum": "${tasks.next.output}"},
    })  # fmt: skip
    run = await app.dags.trigger("d")
    await testing.run_pending(app)
    await app.runs.mark(run.id, "bad", "completed", output={"n": 4})
    await testing.run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == {"sum": 5}
    waiting = await app.dags.trigger("d")
    await app.runs.mark(waiting.id, "bad", "completed", output={"n": 7})
    await testing.run_pending(app)
    assert await app.runs.result(waiting.id, timeout=30) == {"sum": 8}


async def test_a_cancelled_run_starts_nothing_more(app: App) -> None:
    await app.dags.create({"name": "d", "tasks": TWO})
    run = await app.dags.trigger("d")
    assert await app.runs.cancel(run.id)
    assert not await app.runs.cancel(run.id)
    await testing.run_pending(app)
    assert await states(app, run.id) == {"a": "cancelled", "b": "cancelled"}
    with pytest.raises(errors.TaskCancelled):
        await app.runs.result(run.id, timeout=30)


async def test_a_paused_run_stands_still_until_it_is_resumed(app: App) -> None:
    await app.dags.create({"name": "d", "tasks": TWO})
    run = await app.dags.trigger("d")
    await app.runs.pause(run.id)
    assert await testing.run_pending(app) == 0
    assert (await app.runs.explain(run.id)).code == "paused"
    await app.runs.resume(run.id)
    await testing.run_pending(app)
    assert (await app.runs.get(run.id)).state == "completed"


async def test_more_runs_than_may_be_active_wait(app: App) -> None:
    await app.dags.create({"name": "d", "max_active_runs": 2, "tasks": [task("a", "add", {"a": 1, "b": 1})]})
    runs = [await app.dags.trigger("d") for _ in range(5)]
    found = [(await app.runs.get(run.id)).state for run in runs]
    assert found == ["running", "running", "created", "created", "created"]
    assert (await app.runs.explain(runs[-1].id)).code == "max_active_runs"
    await testing.run_pending(app)
    assert {(await app.runs.get(run.id)).state for run in runs} == {"completed"}


async def test_a_run_that_is_started_in_your_transaction_is_there_when_you_commit(app: App, database_url: str) -> None:
    await app.dags.create({"name": "d", "tasks": [task("a", "add", {"a": 1, "b": 1})]})
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        lost = await app.dags.trigger("d", tx=connection)
        await connection.rollback()
        kept = await app.dags.trigger("d", tx=connection)
        await connection.commit()
    await testing.run_pending(app)
    assert [one.id for one in await app.runs.list()] == [kept.id] != [lost.id]
    assert (await app.runs.get(kept.id)).state == "completed"


async def test_a_run_in_your_transaction_has_its_config_and_tags_and_is_there_once_for_a_key(
    app: App, database_url: str
) -> None:
    await app.dags.create({"name": "d", "tasks": [task("a", "add", {"a": 1, "b": 1})]})
    wish: dict[str, Any] = {"key": "k", "config": {"queue": "slow", "timeout_seconds": 60}, "tags": ["x"]}
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        first = await app.dags.trigger("d", tx=connection, **wish)
        again = await app.dags.trigger("d", tx=connection, **wish)
        assert (first.created, again.created, again.id) == (True, False, first.id)
        with pytest.raises(errors.InvalidInput, match="unknown config 'colour'"):
            await app.dags.trigger("d", tx=connection, config={"colour": "red"})
        await connection.commit()
    run = await app.runs.get(first.id)
    assert (run.config, run.tags) == (wish["config"], ["x"])
    await testing.run_pending(app)
    assert (await app.runs.get(first.id)).state == "completed"


async def test_config_overrides_what_the_dag_says(app: App) -> None:
    words = {"queue": "usual", "priority": 2}
    await app.dags.create({"name": "d", "timeout_seconds": 5000, "tasks": [task("a", "add", {"a": 1, "b": 1}, **words)]})
    plain = await app.dags.trigger("d")
    told = await app.dags.trigger("d", config={"queue": "slow", "priority": 90, "timeout_seconds": 60})
    async with app.tx() as tx:
        rows = await tx.rows(
            "select r.id, t.queue, t.urgency, extract(epoch from r.deadline_at - r.created_at)::integer "
            "from weft.runs as r join weft.tasks as t on t.run_id = r.id"
        )
    assert {row[0]: tuple(row[1:]) for row in rows} == {plain.id: ("usual", 78, 5000), told.id: ("slow", 10, 60)}
    for config, said in (
        ({"timeout_seconds": 1e300}, "ten years"), ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"priority": 101}, "priority"), ({"queue": ""}, "queue"), ({"tags": []}, "unknown config 'tags'"),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidInput, match=said):
            await app.dags.trigger("d", config=config)


async def test_a_task_can_start_another_dag(app: App) -> None:
    await app.dags.create({"name": "inner", "params": {"n": 0}, "tasks": [task("a", "numbers", {"n": "${params.n}"})],
                           "outputs": {"all": "${tasks.a.output}"}})  # fmt: skip
    await app.dags.create({"name": "outer", "tasks": [{"name": "go", "payload": {"dag": "inner", "params": {"n": 3}}}],
                           "outputs": {"run": "${tasks.go.output.run_id}"}})  # fmt: skip
    run = await app.dags.trigger("outer")
    async with app.worker(concurrency=5):
        inner = (await app.runs.result(run.id, timeout=60))["run"]
        assert await app.runs.result(uuid.UUID(inner), timeout=60) == {"all": [0, 1, 2]}
    assert (await app.runs.get(uuid.UUID(inner))).parent_run_id == run.id


async def waiting_for_inner(app: App, **inner: Any) -> uuid.UUID:
    """A run of a DAG whose one task waits for a run of `inner`."""
    await app.dags.create({"name": "inner", **inner})
    go = {"name": "go", "payload": {"dag": "inner", "wait": True}, "max_retries": 0}
    then = task("then", "total", {"values": "${tasks.go.output.output.all}"})
    await app.dags.create({"name": "outer", "tasks": [go, then], "outputs": {
        "sum": "${tasks.then.output}", "run": "${tasks.go.output.run_id}"}})  # fmt: skip
    return (await app.dags.trigger("outer")).id


async def the_inner(app: App) -> RunView:
    while True:
        if found := await app.runs.list(name="inner"):
            return found[0]
        await asyncio.sleep(0.05)


async def test_a_task_can_wait_for_the_dag_it_starts(app: App) -> None:
    tasks = [task("a", "numbers", {"n": 4}), task("b", "numbers", {"n": 4}, dependencies=["a"])]
    run = await waiting_for_inner(app, tasks=tasks, outputs={"all": "${tasks.b.output}"})
    async with app.worker(concurrency=5):
        output = await app.runs.result(run, timeout=60)
    inner = await the_inner(app)
    assert output == {"sum": 6, "run": str(inner.id)}
    assert (inner.state, inner.parent_run_id) == ("completed", run)
    assert [one.attempt for one in await app.runs.steps(run)] == [1, 1], "sleeping uses up no attempt"


async def test_a_dag_that_fails_fails_the_task_that_waits_for_it(app: App) -> None:
    run = await waiting_for_inner(app, tasks=[task("a", "fail", {"message": "the moon is full"})], outputs={"all": []})
    async with app.worker(concurrency=5):
        with pytest.raises(errors.TaskFailed, match=r"in 'go'.*the moon is full"):
            await app.runs.result(run, timeout=60)


async def test_a_run_that_is_waited_for_is_cancelled_with_the_one_that_waits(app: App) -> None:
    @app.task
    async def forever() -> None:
        await asyncio.sleep(3600)

    run = await waiting_for_inner(app, tasks=[task("a", "forever")], outputs={"all": []})
    async with app.worker(concurrency=5):
        async with asyncio.timeout(60):
            inner = await the_inner(app)
            while (why := await app.runs.explain(run)).code != "awaiting":
                await asyncio.sleep(0.05)
        assert str(inner.id) in why.summary
        await app.runs.cancel(run)
        with pytest.raises(errors.TaskCancelled):
            await app.runs.result(inner.id, timeout=60)


async def test_a_chain_goes_from_hand_to_hand(app: App) -> None:
    tasks = [task("t0", "add", {"a": 0, "b": 1})]
    tasks += [task(f"t{n}", "add", {"a": f"${{tasks.t{n - 1}.output}}", "b": 1}) for n in range(1, 30)]
    await app.dags.create({"name": "chain", "tasks": tasks, "outputs": {"sum": "${tasks.t29.output}"}})
    async with app.worker(concurrency=5):
        runs = [await app.dags.trigger("chain") for _ in range(5)]
        assert [await app.runs.result(run.id, timeout=60) for run in runs] == [{"sum": 30}] * 5


async def test_a_run_that_takes_too_long_fails(app: App) -> None:
    started = asyncio.Event()

    @app.task
    async def forever() -> None:
        started.set()
        await asyncio.sleep(3600)

    tasks = [task("a", "forever"), task("b", "add", dependencies=["a"])]
    # long enough for its first task to begin, also where processors are busy
    await app.dags.create({"name": "d", "timeout_seconds": 4, "tasks": tasks})
    async with app.worker(concurrency=5):
        run = await app.dags.trigger("d")
        await asyncio.wait_for(started.wait(), 60)
        with pytest.raises(errors.TaskFailed, match="longer than it may"):
            await app.runs.result(run.id, timeout=60)


async def test_an_expression_that_fails_fails_its_task_and_no_other(app: App) -> None:
    await app.dags.create({
        "name": "d",
        "tasks": [task("a", "add", {"a": 1, "b": 1}), task("bad", "add", {"a": "${tasks.a.output.nothing}", "b": 1}),
                  task("good", "add", {"a": "${tasks.a.output}", "b": 1})],
    })  # fmt: skip
    run = await app.dags.trigger("d")
    await testing.run_pending(app)
    found = {one.node: one for one in await app.runs.steps(run.id)}
    assert {name: one.state for name, one in found.items()} == {"a": "completed", "bad": "failed", "good": "completed"}
    assert "nothing" in (found["bad"].error or {})["message"]
