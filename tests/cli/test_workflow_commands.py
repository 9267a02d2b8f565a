"""weft workflow, weft run and weft deploy check, on a database with a worker of this process."""

import json
import os

import pytest
from shell import Shell

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
