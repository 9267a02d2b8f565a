"""The small commands: enqueue, look, explain, cancel, and the dead letter list."""

import json
from pathlib import Path
from typing import Any

import cli_process
import pytest

from weft import App

HERE = Path(__file__).parent


class Shell:
    """`weft …` on one database."""

    def __init__(self, url: str) -> None:
        self._env = {"DATABASE_URL": url}

    async def __call__(self, *arguments: str) -> tuple[int, str]:
        return await cli_process.run(*arguments, env=self._env, cwd=HERE)

    async def json(self, *arguments: str) -> Any:
        code, said = await self(*arguments, "--json")
        assert code == 0, said
        return json.loads(said)


@pytest.fixture
def weft(database_url: str) -> Shell:
    return Shell(database_url)


async def test_enqueue_prints_the_id_and_dedupes(weft: Shell) -> None:
    made = await weft.json("enqueue", "later", "{}", "--no-check", "--dedupe-key", "k", "--priority", "90")
    assert made["created"] is True
    assert await weft("enqueue", "later", "{}", "--no-check", "--dedupe-key", "k") == (
        0, f"{made['id']} (it was there already)\n",
    )  # fmt: skip
    assert (await weft.json("tasks", "show", made["id"]))["priority"] == 90


async def test_enqueue_refuses_a_kind_nobody_knows(weft: Shell) -> None:
    code, said = await weft("enqueue", "nobody_knows")
    assert code == 2 and said.startswith("weft: no task named 'nobody_knows'")


async def test_enqueue_takes_the_declaration_from_an_app(weft: Shell) -> None:
    made = await weft.json("enqueue", "double", '{"n": 1}', "--app", "cli_app:app", "--delay", "1h")
    shown = await weft.json("tasks", "show", made["id"])
    assert (shown["kind"], shown["state"]) == ("double", "scheduled")


async def test_explain_says_why_in_words_and_in_json(weft: Shell) -> None:
    made = await weft.json("enqueue", "later", "--no-check", "--delay", "1h")
    code, said = await weft("explain", made["id"])
    assert code == 0 and "is due at" in said and "no worker serves" in said
    assert (await weft.json("explain", made["id"]))["code"] == "not_due"
    assert (await weft("explain", "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"))[0] == 1


async def test_cancel_ends_a_waiting_task_once(weft: Shell) -> None:
    made = await weft.json("enqueue", "later", "--no-check")
    assert await weft("tasks", "cancel", made["id"]) == (0, "cancelled\n")
    assert await weft("tasks", "cancel", made["id"]) == (1, "too late: it has already ended\n")
    assert (await weft("explain", made["id"]))[1].startswith("cancelled")


async def test_the_dead_are_listed_redriven_and_discarded(weft: Shell, database_url: str) -> None:
    async with App(database_url=database_url) as app, cli_process.weft(
        "worker", "cli_app:app", env={"DATABASE_URL": database_url}, cwd=HERE
    ) as worker:
        await worker.says("is ready")
        made = await weft.json("enqueue", "fail")
        with pytest.raises(Exception, match="it never works"):
            await app.result(made["id"], timeout=20)
        code, said = await weft("dead", "list", "--kind", "fail")
        assert code == 0 and made["id"] in said and "ValueError: it never works" in said
        assert "ValueError" in (await weft("tasks", "show", made["id"]))[1]
        assert await weft.json("dead", "redrive", made["id"]) == {"redriven": [made["id"]]}
        with pytest.raises(Exception, match="it never works"):
            await app.result(made["id"], timeout=20)
        assert await weft("dead", "discard", "--all", "--kind", "other") == (0, "0 discarded\n")
        assert await weft("dead", "discard", "--all") == (0, "1 discarded\n")
        assert await weft("dead", "list") == (0, "nothing is dead\n")
        assert (await weft("dead", "redrive", "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"))[0] == 1
