"""AFL runs that are paused or cancelled while agents work on them: nothing of them is handed out or begun any more."""

import asyncio
import contextlib
from typing import Any

from weft import App, Context
from weft.services.postgres import Services, connect

PROGRAM = """
namespace n {
    event facet Hold(k: String) => (k2: String)
    workflow W(all: [String]) => (out: [String]) andThen foreach v in $.all {
        a = Hold(k = v)
        b = Hold(k = "after " ++ a.k2)
        yield W(out = b.k2)
    }
    workflow Beside() => (out: String) andThen { a = Hold(k = "beside") yield Beside(out = a.k2) }
}
"""
LONG = 60


class Agents:
    """Say what they were asked, and hold the first of it until they are let go."""

    def __init__(self, app: App) -> None:
        self.asked: list[str] = []
        self.held, self.gate, self.stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()

        @app.task(name="n.Hold")
        async def hold(ctx: Context, k: str) -> dict[str, str]:
            self.asked.append(k)
            if len(self.asked) == 1:
                self.held.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await self.gate.wait()
                    return {"k2": k}
                self.stopped.set()
                raise asyncio.CancelledError
            return {"k2": k}


async def beside(app: App) -> None:
    """A run that comes after another and is done by the same agent: what it passed over, it was not given."""
    run = await app.flows.start("flow", "Beside")
    assert await app.runs.result(run.id, timeout=LONG) == {"out": "beside"}


async def test_a_run_paused_in_the_middle_stands_still_until_it_is_resumed(database_url: str) -> None:
    with connect(database_url) as services:
        await paused_and_resumed(database_url, services)


async def paused_and_resumed(database_url: str, services: Services) -> None:
    async with App(database_url=database_url) as app:
        agents = Agents(app)
        await app.flows.save(source=PROGRAM, name="flow")
        run = await app.flows.start("flow", "W", {"all": ["x", "y", "z"]})
        async with app.worker(concurrency=1), asyncio.timeout(LONG):
            await agents.held.wait()
            await asyncio.to_thread(services.runner.update_state, str(run.id), "paused")
            agents.gate.set()
            await beside(app)
            assert agents.asked == ["x", "beside"]
            found = await app.runs.get(run.id)
            assert (found.state, found.output) == ("paused", None)
            await asyncio.to_thread(services.runner.update_state, str(run.id), "running")
            assert await app.runs.result(run.id, timeout=LONG) == {"out": ["after x", "after y", "after z"]}
    # what was done before the pause was kept: nothing was asked twice
    assert sorted(agents.asked) == sorted(["beside", *(f"{after}{k}" for k in "xyz" for after in ("", "after "))])


async def test_a_run_cancelled_in_the_middle_stops_its_agent_and_begins_nothing_more(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        agents = Agents(app)
        await app.flows.save(source=PROGRAM, name="flow")
        run = await app.flows.start("flow", "W", {"all": ["x", "y"]})
        async with app.worker(concurrency=1), asyncio.timeout(LONG):
            await agents.held.wait()
            assert await app.runs.cancel(run.id)
            await agents.stopped.wait()
            await beside(app)
        assert agents.asked == ["x", "beside"]
        found: Any = await app.runs.get(run.id)
        assert found.state == "cancelled"
        async with app.tx() as tx:
            assert await tx.value("select count(*) from weft.tasks where run_id = %(run)s", {"run": run.id}) == 0
