"""What a terminal obeys, and marks that turn or hide text, never reach one, whoever wrote them."""

import asyncio
import json

from click.testing import CliRunner
from shell import NOWHERE

import hands
import hostile
from weft.app import App
from weft.base import config
from weft.cli.main import weft
from weft.db.database import Database
from weft.jobs import manage
from weft.queue import lease

WHOLE = "\n".join(hostile.ALL)
PLAIN = [one for one in hostile.ALL if "${" not in one]


async def poisoned(url: str) -> dict[str, str]:
    """Hostile texts wherever somebody can put them."""
    database = Database(config.Settings(database_url=url))
    await database.open()
    found: dict[str, str] = {}
    async with database.tx() as tx:
        await hands.lead(tx)
        payload = {one: one for one in hostile.ALL}
        found["task"] = await hands.put(tx, payload=payload, max_attempts=1, correlation_id="\u202ea")
        [held] = await hands.claim_plain(tx)
        at = await tx.value("select weft.now()")
        lines = [lease.Line(found["task"], held.token, at, "info", one, json.dumps({one: one})) for one in hostile.ALL]
        await lease.write_logs(tx, lines)
        error = {"type": "Odd\x1b]0;x\x07", "message": WHOLE, "traceback": WHOLE}
        await hands.end(tx, [held], "failed", error=json.dumps(error))
        job = {"name": "a", "cron_expression": "@daily", "payload": {"task": "mail", "args": {"all": PLAIN}}}
        made = await manage.create(tx, job, org=hands.ORG, actor="\x1b[31mtest\u202e")
        found["job"] = str(made.id)
    await database.close()
    async with App(settings=config.Settings(database_url=url)) as app:
        params = {"all": {"type": "[string]", "default": PLAIN}}
        tasks = [{"name": "t", "payload": {"task": "mail", "args": {"all": PLAIN}}}]
        await app.dags.create({"name": "d", "description": "\n".join(PLAIN), "params": params, "tasks": tasks})
        found["run"] = str((await app.dags.trigger("d", {"all": list(hostile.ALL)})).id)
    return found


COMMANDS = [
    "tasks list", "tasks show {task}", "tasks logs {task}", "explain {task}", "dead list", "jobs list", "jobs show {job}",
    "dag list", "dag show {run}", "dag runs d", "run list", "run show {run}", "audit list", "queues list",
    "tasks show {mark}", "dag show {mark}", "jobs show {mark}",
]  # fmt: skip


def test_no_command_passes_on_what_a_terminal_would_obey(database_url: str) -> None:
    found = asyncio.run(poisoned(database_url))
    run, env = CliRunner(), {"DATABASE_URL": database_url, "XDG_CONFIG_HOME": NOWHERE, "WEFT_SERVER": "", "WEFT_KEY": ""}
    said = ""
    for command in COMMANDS:
        for more in ([], ["--json"]):
            words = [word.format(**found, mark="\x1b[31mno\u202e\x9b") for word in command.split(" ")]
            result = run.invoke(weft, [*words, *more], env=env)
            assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
            left = {one for one in result.output if not one.isprintable()} - {"\n"}
            assert not left, (command, more, left)
            assert result.exit_code == 0 or "{mark}" in command, (command, result.output)
            said += result.output
            if command == "tasks show {task}" and more:
                # for programs it means the same
                assert json.loads(result.stdout)["payload"] == {one: one for one in hostile.ALL}
    # it was there to be shown
    assert said.count("title") > 3 and "txt.exe" in said
