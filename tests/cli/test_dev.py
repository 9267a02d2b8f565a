"""`weft dev` and `weft demo`: everything with one command, with nothing set up before."""

import asyncio
import re
import signal
import time
from pathlib import Path

import cli_process
import pytest
from shell import Shell

from weft.cli import birth, changes
from weft.client.client import Client

HERE = Path(__file__).parent


async def test_the_demo_runs_shows_and_stops(folder: Path) -> None:
    here = {"WEFT_FOLDER": str(folder / ".weft"), "DATABASE_URL": "postgresql://not.to.be.used"}
    async with cli_process.weft("dev", "--port", "0", env=here) as program:
        await program.says("the embedded PostgreSQL in")
        await program.says("the first task was finished ")
        await program.says("Hello, ")
        await program.says("retry at")
        url, key = re.findall(r"the API: (http://127\.0\.0\.1:\d+)|its key: (weft_\S+)", program.said)
        async with Client(url[0], key[1]) as client:
            assert (await client.get("/v1/tasks", query={"limit": 1}))["items"]
            # no page of the demo is empty: a DAG, a durable workflow and a flow with its agent run to their ends
            for kind in ("workflow", "flow"):
                while not (await client.get("/v1/runs", query={"kind": kind, "state": "completed", "limit": 1}))["items"]:
                    await asyncio.sleep(0.1)
            assert [one["name"] for one in (await client.get("/v1/workflows"))["items"]] == ["order"]
            [flow] = (await client.get("/v1/flows"))["items"]
            handlers = (await client.get(f"/v1/flows/{flow['id']}/handlers"))["items"]
            assert {one["handler"]: one["agents"] > 0 for one in handlers} == {"demo.Ask": True, "demo.Sum": True}
        local = Shell(WEFT_FOLDER=here["WEFT_FOLDER"])
        assert await local("enqueue", "hello", '{"name": "test"}', "--wait", "--within", "20s") == (0, '"Hello, test!"\n')
        far = ("enqueue", "far_away", '{"city": "Oslo"}', "-q", "far", "--wait", "--within", "20s")
        assert await local(*far) == (0, '"it is raining in Oslo"\n')
        await program.says("worked on attempt 3")
        program.send(signal.SIGINT)
        assert await program.ends() == 0
        assert "Traceback" not in program.said
    # the key is kept, and only its owner can read it
    file = folder / ".weft" / "dev-admin.key"
    assert file.read_text().strip() == key[1] and file.stat().st_mode & 0o077 == 0


async def test_it_runs_an_app_of_yours_and_starts_it_anew_when_you_change_it(folder: Path, database_url: str) -> None:
    code = "from weft import App\n\napp = App()\n\n\n@app.task\nasync def greet() -> str:\n    return '{}'\n"
    (folder / "greeting.py").write_text(code.format("one"))
    weft = Shell(DATABASE_URL=database_url)
    async with cli_process.weft("dev", "greeting:app", "--plain", "--port", "0", env=weft.env, cwd=folder) as program:
        await program.says("1 kinds of task on the PostgreSQL of DATABASE_URL")
        await program.says("weft worker is ready")
        assert await weft("enqueue", "greet", "--wait", "--within", "20s") == (0, '"one"\n')
        (folder / "greeting.py").write_text("this is no Python")
        await program.says("greeting.py changed: starting the worker anew")
        await program.says("SyntaxError")
        await program.says("change the code to start it again")
        (folder / "greeting.py").write_text(code.format("two, at last"))
        await program.says("weft worker is ready", times=2)
        assert await weft("enqueue", "greet", "--wait", "--within", "20s") == (0, '"two, at last"\n')
        await program.says('completed on attempt 1: "two, at last"')
        program.send(signal.SIGTERM)
        assert await program.ends() == 0


def test_changes_are_new_gone_and_different_files(folder: Path) -> None:
    for name in ("kept.py", "gone.py", "different.py", "notes.txt", ".hidden/x.py", "env/lib/y.py", "node_modules/z.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1")
    (folder / "env" / "pyvenv.cfg").write_text("")
    before = changes.snapshot(folder)
    assert {Path(path).name for path in before} == {"kept.py", "gone.py", "different.py"}
    (folder / "gone.py").unlink()
    (folder / "different.py").write_text("12")
    (folder / "new").mkdir()
    (folder / "new" / "one.py").write_text("1")
    after = changes.snapshot(folder)
    assert [Path(path).name for path in changes.changed(before, after)] == ["different.py", "gone.py", "one.py"]
    assert changes.changed(after, changes.snapshot(folder)) == []


def test_a_process_knows_how_long_it_has_lived() -> None:
    first = birth.ago()
    assert 0 < first <= birth.ago()
    assert birth.made_ago() is None


def test_make_tells_when_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_MADE_AT", str(int(time.time()) - 100))
    made = birth.made_ago()
    assert made is not None and made >= 100


@pytest.mark.chaos
async def test_a_killed_worker_loses_nothing_and_one_sees_it(folder: Path) -> None:
    weft = Shell(WEFT_FOLDER=str(folder / ".weft"))
    told = await weft.json("demo", "crash")
    assert (told["state"], told["attempts"], told["losses"]) == ("completed", 2, 1)
    story = "\n".join(one["what"] for one in told["events"])
    runs = re.findall(r"process (\d+) runs it, attempt (\d)", story)
    killed = re.findall(r"SIGKILL to process (\d+)", story)
    assert [attempt for _, attempt in runs] == ["1", "2"] and killed == [runs[0][0]] and runs[1][0] != killed[0]
    shown = await weft.json("tasks", "show", told["id"])
    assert (shown["result"], shown["losses"]) == ("10 steps, attempt 2", 1)
