"""weft workflow, weft run and weft deploy check, on a database with a worker of this process."""

import json
import os

import pytest
from shell import Shell

from weft import App
from weft.flows.standstill import Standstill
from weft.sdk import loading
from weft.testing.inline import run_pending


@pytest.fixture
def weft(database_url: str) -> Shell:
    return Shell(DATABASE_URL=database_url)


async def test_a_workflow_is_started_watched_and_signalled_from_the_shell(
    weft: Shell, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "DATABASE_URL", database_url)
    made = loading.load("cli_app:app")
    app = type(made)(database_url=database_url)
    app.declared = made.declared
    async with app:
        await run_pending(app)
        assert "checkout" in (await weft("workflow"))[1]
        run = (await weft.json("workflow", "start", "checkout", '{"cents": 5}', "--idempotency-key", "k"))["run_id"]
        assert (await weft("workflow", "start", "checkout", '{"cents": 5}', "--idempotency-key", "k")) == (0, f"{run}\n")
        # the workflow waits with made.wait_for, which asks nothing of the app it was declared with
        await run_pending(app)
        code, said = await weft("run", "show", run)
        assert code == 0 and "charged#1" in said and "waiting" in said
        code, said = await weft("deploy", "check", "cli_app:app")
        assert (code, said.strip()) == (0, "1 unfinished runs, 0 would break")
        assert (await weft("run", "signal", run, "approval", "true"))[0] == 0
        await run_pending(app)
        shown = await weft.json("run", "show", run)
        assert (shown["state"], shown["output"]) == ("completed", ["p-5", True])
        assert (await weft("workflow", "replay", "cli_app:app", run))[0] == 0
        fork = (await weft("run", "fork", run, "--output", 'charged#1="free"'))[1].strip()
        await run_pending(app)
        assert [one["node"] for one in json.loads((await weft("run", "diff", run, fork, "--json"))[1])] == ["charged#1"]
        assert (await weft("run", "list", "--state", "completed"))[1].count("checkout") == 2
        assert await weft("run", "wait", run) == (0, "completed\n")
        assert (await weft.json("run", "wait", run, "--for", "waiting", "--for", "completed"))["state"] == "completed"
        code, said = await weft("run", "wait", run, "--for", "waiting")
        assert code == 1 and f"the run is completed; see what became of it with: weft run show {run}" in said
        code, said = await weft("run", "signal", run, "approval", "true")
        assert code == 1 and "has ended" in said


async def test_a_run_is_steered_from_the_shell(weft: Shell, database_url: str) -> None:
    broken = True
    async with App(database_url=database_url) as app:

        @app.step
        async def ship(item: str) -> str:
            if broken:
                raise ValueError("no stock")
            return f"{item} shipped"

        @app.workflow
        async def ships(item: str) -> str:
            app.set_state("waiting")
            request = await app.receive("go")
            assert request is not None
            app.answer(request, "gone")
            return str(await ship(item))

        await run_pending(app)
        made = [
            (await weft("workflow", "start", "ships", '{"item": "hat"}', "--queue", "mine", "--priority", "80"))[1].strip()
            for _ in range(4)
        ]
        async with app.tx() as tx:
            assert await tx.rows("select distinct queue, urgency from weft.tasks") == [("mine", 20)]
            await tx.run("update weft.tasks set queue = 'default', lane = 'default'")
        first, second, third, fourth = made
        assert await weft("run", "pause", first) == (0, "paused\n")
        await run_pending(app)
        assert (await weft.json("run", "show", first))["state"] == "paused"
        assert await weft("run", "resume", first) == (0, "it goes on\n")
        await run_pending(app)
        assert await weft("run", "state", first) == (0, '"waiting"\n')
        assert await weft("run", "cancel", fourth) == (0, "it will end\n")
        for run in (first, second, third):
            code, said = await weft("run", "update", run, "go", "--wait", "0")
            assert code == 1 and "it may still come" in said
        await run_pending(app)
        assert [(await weft.json("run", "show", run))["state"] for run in made] == ["failed"] * 3 + ["cancelled"]
        code, said = await weft("run", "skip", first, "ship#9")
        assert code == 1 and "did you mean 'ship#2'" in said
        assert await weft("run", "skip", first, "ship#2", '"by hand"') == (0, "skipped ship#2\n")
        broken = False
        assert await weft("run", "retry", second) == (0, "it goes on from where it failed\n")
        assert (await weft.json("run", "retry", third))["step"] == "ship#2"
        await run_pending(app)
        outputs = [(await weft.json("run", "show", run))["output"] for run in made]
        assert outputs == ["by hand", "hat shipped", "hat shipped", None]
        code, said = await weft("run", "pause", first)
        assert code == 1 and "the run is completed" in said


async def test_a_workflow_is_explained_as_a_run_though_its_task_has_the_same_id(weft: Shell, database_url: str) -> None:
    async with App(database_url=database_url) as app:

        @app.workflow
        async def patient() -> None:
            await app.wait_for("go")

        run = str((await app.start(patient)).id)
        await run_pending(app)
        assert await weft("explain", run) == (0, "its code waits for a signal, or for a child to end\n")
        assert (await weft("run", "cancel", run))[0] == 0
        await run_pending(app)
        assert await weft("explain", run) == (0, "it has ended: cancelled\n")


async def test_a_run_that_stands_still_is_shown_and_set_going_from_the_shell(weft: Shell, database_url: str) -> None:
    async with App(database_url=database_url) as app:

        @app.task
        async def load() -> int:
            return 1

        await app.dags.create({"name": "etl", "tasks": [{"name": "load", "payload": {"task": "load"}}]})
        run = str((await app.dags.trigger("etl")).id)
        assert (await weft("run", "explain", run))[0] == 0
        code, said = await weft("run", "repair", run)
        assert code == 1 and "the run is running; wait until it has ended" in said
        async with app.tx() as tx:
            await tx.run("delete from weft.tasks")
            await tx.run("update weft.runs set created_at = created_at - interval '1 hour', started_at = null")
            await tx.run("update weft.steps set created_at = created_at - interval '1 hour', started_at = null")
            chore = Standstill()
            assert await chore.peek(tx) and await chore.once(tx) == 1
        for command in (("run",), ("run", "show", run), ("dag", "runs", "etl"), ("dag", "show", run)):
            code, said = await weft(*command)
            assert code == 0 and "stands still" in said, said
        assert f"weft run repair {run}" in (await weft("run", "show", run))[1]
        assert (await weft("run", "explain", run)) == (0, (
            f"it stands still: nothing is running and nothing is awaited; set it going again: weft run repair {run}\n"
        ))  # fmt: skip
        assert await weft("explain", run) == await weft("run", "explain", run)
        assert (await weft.json("run", "explain", run))["code"] == "stuck"
        assert (await weft.json("run", "show", run))["stalled_at"] is not None
        assert await weft("run", "repair", run, "--dry-run") == (0, "load  running\nnothing was changed\n")
        assert (await weft.json("run", "repair", run))["run"]["stalled_at"] is None
        await run_pending(app)
        assert await weft("run", "wait", run) == (0, "completed\n")
        assert "stands still" not in (await weft("run", "show", run))[1]
