"""`${secrets.NAME}` in payloads: handlers get values, and nothing that is kept or shown has them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import isolated
import pytest
from waiting import NOW, ended, until

import hands
from weft import App, Context, Discard
from weft.access import keyring, keys, secrets
from weft.base import config, ids
from weft.base.redact import MASK
from weft.cli import serving
from weft.db.database import Database

VALUE = "correct horse battery staple"
KEY = keyring.generate()


async def keep(database: Database, name: str = "TOKEN", value: str = VALUE, **how: Any) -> None:
    async with database.tx() as tx:
        ring = keyring.load(database.settings)
        await secrets.put(tx, ring, **{"org": ids.DEFAULT_ORG, "name": name, "value": value, "actor": "test", **how})


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    opened = App(settings=config.Settings(database_url=database_url, secret_key=KEY, allow_shell=True))
    await keep(await opened.open())
    yield opened
    await opened.close()


async def everything(app: App) -> str:
    """All that the database has of tasks."""
    async with app.tx() as tx:
        found = await tx.rows(
            "select row_to_json(h)::text from weft.task_history as h union all select row_to_json(l)::text "
            "from weft.task_logs as l union all select row_to_json(t)::text from weft.tasks as t"
        )
    return "\n".join(text for (text,) in found)


async def test_a_handler_gets_values_and_the_task_keeps_names(app: App) -> None:
    seen: list[Any] = []

    @app.task
    async def call(header: str, options: dict[str, Any]) -> str:
        seen.append((header, options))
        return "done"

    async with app.worker():
        task = await app.enqueue(call, {"header": "Bearer ${secrets.TOKEN}", "options": {"a": ["$${secrets.TOKEN}"]}})
        view = await ended(app, task)
    assert seen == [(f"Bearer {VALUE}", {"a": ["${secrets.TOKEN}"]})]
    assert view.state == "completed" and view.payload["header"] == "Bearer ${secrets.TOKEN}"
    assert VALUE not in await everything(app)


async def test_results_logs_fields_progress_and_errors_are_redacted(app: App, caplog: pytest.LogCaptureFixture) -> None:
    going = asyncio.Event()

    @app.task
    async def leaky(ctx: Context, token: str) -> dict[str, Any]:
        ctx.log(f"using {token}", header=f"Bearer {token}", deep={token: [token]}, odd=object())
        ctx.progress(50, f"sent {token}")
        logging.getLogger("their.code").warning("token=%s", token)
        await going.wait()
        return {"echo": token, "many": [token, {"x": token[::-1]}]}

    @app.task(max_attempts=1)
    async def broken(token: str) -> None:
        try:
            raise ValueError(f"cannot use {token}")
        except ValueError as error:
            raise RuntimeError(f"failed with {token!r}") from error

    @app.task(max_attempts=1)
    def broken_in_a_thread(token: str) -> None:
        raise KeyError(token)

    @app.task
    async def gives_up(token: str) -> None:
        raise Discard(f"{token} is of no use")

    async with app.worker():
        first = await app.enqueue(leaky, {"token": "${secrets.TOKEN}"})

        async def told() -> bool:
            return (await app.get(first.id)).progress == 50

        await until(told)
        assert (await app.get(first.id)).progress_message == f"sent {MASK}"
        going.set()
        others = [await app.enqueue(one, {"token": "${secrets.TOKEN}"}) for one in (broken, broken_in_a_thread, gives_up)]
        views = [await ended(app, task) for task in (first, *others)]
    assert views[0].result == {"echo": MASK, "many": [MASK, {"x": MASK}]}
    assert MASK in str(views[1].error) and "RuntimeError" in str(views[1].error)
    assert VALUE not in await everything(app) and VALUE[::-1] not in await everything(app)
    assert VALUE not in caplog.text and MASK in caplog.text


async def test_a_batch_handler_gets_each_its_own(app: App) -> None:
    await keep(await app.open(), "OTHER", "another value entirely")

    @app.task(batch=10)
    async def many(payloads: list[dict[str, Any]]) -> list[Any]:
        return [len(one["token"]) for one in payloads]

    tasks = [await app.enqueue(many, {"token": f"${{secrets.{name}}}"}) for name in ("TOKEN", "OTHER", "TOKEN")]
    async with app.worker():
        views = [await ended(app, task) for task in tasks]
    assert [view.result for view in views] == [len(VALUE), len("another value entirely"), len(VALUE)]


async def test_a_child_process_gets_them_by_its_pipe(
    app: App, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    async with App(settings=app.settings) as own:
        own.registry = isolated.app.registry
        async with own.worker(target="isolated:app"):
            told = await own.enqueue("tells", {"token": "${secrets.TOKEN}"})
            fails = await own.enqueue("tells", {"token": "${secrets.TOKEN}", "how": "raise"}, max_attempts=1)
            views = [await ended(own, task) for task in (told, fails)]
    assert views[0].result == {"token": MASK, "length": len(VALUE), "arguments": views[0].result["arguments"]}
    assert VALUE not in str(views[0].result) and MASK in str(views[1].error)
    assert VALUE not in await everything(app)
    said = capfd.readouterr()
    assert VALUE not in said.err + said.out


async def test_a_secret_that_is_not_there_fails_the_task_with_its_name(app: App) -> None:
    @app.task(max_attempts=1)
    async def work(token: str) -> None: ...

    async with app.worker():
        view = await ended(app, await app.enqueue(work, {"token": "${secrets.NOBODY}"}))
    assert view.state == "failed" and "'NOBODY'" in str(view.error)


async def test_another_orgs_secret_is_not_there(app: App) -> None:
    async with app.tx() as tx:
        other = await hands.new_org(tx, "other")

    @app.task(max_attempts=1)
    async def work(token: str) -> int:
        return len(token)

    async with app.worker():
        view = await ended(app, await app.enqueue(work, {"token": "${secrets.TOKEN}"}, org=other), org=other)
    assert view.state == "failed" and "which the org does not have" in str(view.error)


async def test_a_worker_without_the_key_says_so(database_url: str, app: App) -> None:
    async with App(database_url=database_url) as keyless:

        @keyless.task(max_attempts=1)
        async def work(token: str) -> None: ...

        async with keyless.worker():
            view = await ended(keyless, await keyless.enqueue(work, {"token": "${secrets.TOKEN}"}))
    assert "WEFT_SECRET_KEY_FILE" in str(view.error)


async def test_a_command_with_a_secret_is_refused_but_its_environment_may_have_one(app: App) -> None:
    async with app.worker():
        shown = await app.enqueue("shell", {"command": "echo ${secrets.TOKEN}"})
        hidden = await app.enqueue("shell", {"command": 'echo "got $T"; echo "$T" >&2', "env": {"T": "${secrets.TOKEN}"}})
        failing = await app.enqueue(
            "shell", {"command": 'echo "$T"; exit 3', "env": {"T": "${secrets.TOKEN}"}}, max_attempts=1, retry=NOW
        )
        views = [await ended(app, task) for task in (shown, hidden, failing)]
    assert views[0].state == "failed" and "shown to everybody" in str(views[0].error)
    assert views[1].result["output"] == f"got {MASK}\n{MASK}\n"
    assert f"exit status 3: {MASK}" in str(views[2].error)
    assert VALUE not in await everything(app)


@pytest.mark.parametrize("remote", [True, False])
async def test_a_worker_over_http_gets_what_is_remote(app: App, remote: bool) -> None:
    database = await app.open()
    await keep(database, remote=remote)
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="w", role="worker", actor="test")
    far = App(database_url="postgresql://nowhere.invalid/none")

    @far.task(max_attempts=1)
    async def work(ctx: Context, token: str) -> dict[str, Any]:
        ctx.log(f"using {token}")
        return {"length": len(token), "token": token}

    async with serving.served(app, port=0) as url, far.http_worker(url, key=key):
        view = await ended(app, await app.enqueue("work", {"token": "${secrets.TOKEN}"}, check=False))
    if remote:
        assert view.result == {"length": len(VALUE), "token": MASK}
        async with app.tx() as tx:
            given = await tx.rows("select actor, object_id, after from weft.journal where action = 'secret.give'")
        assert given == [("key:w", str(view.id), {"names": ["TOKEN"], "attempt": 1})]
    else:
        assert view.state == "failed" and "not given to workers over HTTP" in str(view.error)
    assert VALUE not in await everything(app)
