"""`weft runner`, `weft afl handlers` and `weft agent`: a flow is started, failed, mended and watched from the shell."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cli_process import PATIENCE
from cli_process import weft as process
from shell import HERE, Shell

import hands
from weft.db.database import Database

PROGRAM = str(Path(__file__).parent.parent.parent / "examples" / "afl" / "hello.afl")


@pytest.fixture
def weft(database_url: str) -> Shell:
    return Shell(DATABASE_URL=database_url)


async def work(database: Database, *, fails: bool = False) -> None:
    async with database.tx() as tx:
        [held] = await hands.claim_plain(tx, kinds=["hello.Greet"])
        if fails:
            await hands.end(tx, [held], "failed", error='{"type": "E", "message": "no voice"}', retryable=False)
        else:
            await hands.end(tx, [held], result='{"greeting": "hi"}')


async def ended(database: Database, run: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            async with database.once() as tx:
                if await tx.value("select finished_at from weft.runs where id = %(id)s::uuid", {"id": run}):
                    return
            await asyncio.sleep(0.05)


async def test_a_run_is_started_failed_mended_and_shown(weft: Shell, database: Database) -> None:
    assert (await weft("afl", "submit", PROGRAM))[0] == 0
    code, run = await weft("runner", "start", "hello", "SayHello", '{"name": "Ada"}')
    assert code == 0, run
    run = run.strip()
    assert (await weft("runner", "pause", run))[1] == "paused\n"
    assert "paused" in (await weft("runner", "explain", run))[1]
    assert (await weft("runner", "resume", run))[0] == 0
    await work(database, fails=True)
    code, planned = await weft("runner", "repair", run, "--dry-run")
    assert code == 0 and "andThen#1/g" in planned and "no voice" in planned
    found: Any = await weft.json("runner", "show", run)
    assert found["state"] == "failed"
    step = found["steps"][0]["steps"][0]["id"]
    assert (await weft("runner", "retry", run, step))[0] == 0
    await work(database)
    code, shown = await weft("runner", "show", run)
    assert code == 0 and "completed" in shown and step in shown and '{"message":"hi"}' in shown.replace(" ", "")
    assert (await weft("runner", "rerun", run, step))[0] == 0
    await work(database)
    assert (await weft("runner", "reset", run, found["steps"][0]["id"]))[0] == 0
    [listed] = await weft.json("runner", "--state", "running")
    again: Any = await weft.json("runner", "show", run)
    marked = again["steps"][0]["steps"][0]["id"]
    assert (await weft("runner", "mark", run, marked, "completed", '{"greeting": "hey"}'))[0] == 0
    assert (await weft.json("runner", "show", run))["output"] == {"message": "hey"}
    assert listed["id"] == run
    assert (await weft("runner", "cancel", run))[0] == 0
    code, said = await weft("runner", "repair", run)
    assert code == 1 and "nothing in this run failed" in said


async def test_an_agent_is_run_and_what_it_handles_is_said(weft: Shell, database: Database, database_url: str) -> None:
    code, said = await weft("agent", "handlers", "cli_agent")
    assert (code, said) == (0, "Tell  (every facet of this last name)\nhello.Greet\n")
    assert (await weft("afl", "handlers", PROGRAM))[1] == "hello.Greet\n"
    await weft("afl", "submit", PROGRAM)
    assert (await weft("afl", "handlers", "--flow", "hello"))[1] == "hello.Greet  nobody handles it\n"
    run = (await weft("runner", "start", "hello"))[1].strip()
    async with process("agent", "run", "cli_agent", env={"DATABASE_URL": database_url}, cwd=HERE) as agent:
        await agent.says("weft worker is ready")
        await ended(database, run)
        assert await weft.json("afl", "handlers", "--flow", "hello") == [{"handler": "hello.Greet", "agents": 1}]
    assert (await weft.json("runner", "show", run))["output"] == {"message": "Hello, world"}
