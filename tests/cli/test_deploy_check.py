"""`weft deploy check` before a deploy: real files, real runs half-way, and afterwards exactly what it said."""

import importlib.util
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli_process
import pytest
from shell import NOWHERE

from weft import App
from weft.testing.inline import run_pending

CODE = '''
from weft import App

app = App()

@app.step
async def check(order: int) -> bool:
    return True

@app.step
async def charge(order: int) -> str:
    if order < 0:
        raise ValueError("no such order")
    return f"p-{order}"

@app.step
async def ship(order: int) -> str:
    return f"s-{order}"

'''
BUY = '''
@app.workflow(version="2", signals=["paid", "go"])
async def buy(order: int) -> str:
    await app.wait_for("paid")
    await charge(order)
    await app.wait_for("go")
    return await ship(order)
'''
OLD = BUY.replace('version="2"', 'name="buy", version="1"').replace("def buy", "def buy_before")
CHANGED = BUY.replace("    await charge", "    await check(order)\n    await charge")
PATCHED = BUY.replace("    await charge", "    if app.patched('check'):\n        await check(order)\n    await charge")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-deploy-") as made:
        yield Path(made)


def written(folder: Path, *parts: str) -> Path:
    file = folder / "shop.py"
    file.write_text(CODE + "\n".join(parts))
    return file


def loaded(file: Path, url: str) -> App:
    """The app of a file as it is now, on the test's database."""
    spec = importlib.util.spec_from_file_location("shop", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(file.read_text(), file, "exec"), module.__dict__)  # no cached bytecode: it was written a moment ago
    app: Any = module.app
    made = App(database_url=url)
    made.declared = app.declared
    return made


async def checked(folder: Path, url: str, *more: str) -> tuple[int, str]:
    env = {"DATABASE_URL": url, "XDG_CONFIG_HOME": NOWHERE, "PYTHONDONTWRITEBYTECODE": "1"}
    return await cli_process.run("deploy", "check", "shop:app", *more, env=env, cwd=folder)


async def states(app: App) -> dict[str, str]:
    async with app.tx() as tx:
        return dict(await tx.rows("select id::text, state from weft.runs"))


async def test_deploy_check_lists_exactly_the_runs_that_would_break(folder: Path, database_url: str) -> None:
    async with loaded(written(folder, BUY, OLD), database_url) as app:
        await run_pending(app)  # declares them
        runs: dict[str, str] = {}
        for name, version, order in (
            ("before", "2", 1), ("past", "2", 2), ("past too", "2", 3), ("over", "2", 4), ("failed", "2", -1),
            ("old", "1", 5),
        ):  # fmt: skip
            code = app.declared.workflows[f"workflow:buy:{version}"]
            runs[name] = str((await app.start(code, order)).id)
        for name in ("past", "past too", "over", "failed", "old"):
            await app.signal(runs[name], "paid")
        await app.signal(runs["over"], "go")
        await run_pending(app)
        before = await states(app)
        assert [before[runs[one]] for one in ("before", "past", "over", "failed")] == [
            "waiting", "waiting", "completed", "failed",
        ]  # fmt: skip

    assert await checked(folder, database_url) == (0, "4 unfinished runs, 0 would break\n")

    written(folder, CHANGED, OLD)
    code, said = await checked(folder, database_url, "--json")
    found = json.loads(said)
    assert (code, found["checked"]) == (1, 4)
    assert {(one["run"], one["version"], one["position"], one["recorded"], one["found"]) for one in found["misfits"]} == {
        (runs[name], "2", "2", "step charge", "step check") for name in ("past", "past too")
    }
    assert all("patched() or version=" in one["message"] for one in found["misfits"])

    # without the code of version 1 its run could not go on
    written(folder, PATCHED)
    code, said = await checked(folder, database_url)
    assert code == 1 and f"{runs['old']}  buy 1: no code here" in said
    assert said.endswith("4 unfinished runs, 1 would break\n")

    written(folder, PATCHED, OLD)
    assert await checked(folder, database_url) == (0, "4 unfinished runs, 0 would break\n")

    # whoever deploys the changed code all the same finds just those blocked, and loses nothing
    async with loaded(written(folder, CHANGED, OLD), database_url) as app:
        for name in ("before", "past", "past too", "old"):
            await app.signal(runs[name], "go")
        await app.signal(runs["before"], "paid")
        await run_pending(app)
        after = await states(app)
        assert {name for name, run in runs.items() if after[run] == "blocked"} == {"past", "past too"}
    async with loaded(written(folder, PATCHED, OLD), database_url) as app:
        for name in ("past", "past too"):
            await app.runs.resume(runs[name])
        await run_pending(app)
        after = await states(app)
        assert {name: after[run] for name, run in runs.items()} == {
            "before": "completed", "past": "completed", "past too": "completed", "over": "completed", "failed": "failed",
            "old": "completed",
        }  # fmt: skip
