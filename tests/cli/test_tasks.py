"""enqueue, tasks and explain: in process and against a real server process, with the same answers."""

import json
import re
import signal
from collections.abc import AsyncIterator

import cli_process
import psycopg
import pytest
import shell
from shell import Shell

import hands
from each import each
from weft import App, Context
from weft.base import config
from weft.db.database import Database

ERROR = {"type": "ValueError", "message": "it never works"}


@pytest.fixture
def weft(database_url: str) -> Shell:
    return Shell(DATABASE_URL=database_url)


@pytest.fixture(params=["here", "server"])
async def either(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Shell]:
    """A shell on the database: in process, then over the network."""
    if request.param == "here":
        yield Shell(DATABASE_URL=database_url)
    else:
        async with shell.served(database_url) as remote:
            yield remote


def count(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("select count(*) from weft.tasks").fetchone()
    assert found is not None
    return int(found[0])


async def test_a_task_from_enqueue_to_redrive(either: Shell) -> None:
    made = await either.json("enqueue", "later", "{}", "--no-check", "--dedupe-key", "k", "--priority", "90", "--tag", "t")
    assert made["created"] is True
    id = made["id"]
    again = await either("enqueue", "later", "--no-check", "--dedupe-key", "k")
    assert again == (0, f"{id} (it was there already)\n")
    shown = await either.json("tasks", "show", id)
    assert (shown["priority"], shown["tags"], shown["state"], shown["log"]) == (90, ["t"], "ready", [])
    code, said = await either("tasks", "show", id)
    assert code == 0 and re.search(r"priority\s+90", said) and id in said
    code, said = await either("explain", id)
    assert code == 0 and "no worker serves" in said
    assert await either("tasks", "redrive", id) == (
        1, "the task has not ended (it is ready); only failed, timed out and cancelled tasks are redriven\n",
    )  # fmt: skip
    assert await either("tasks", "cancel", id) == (0, "cancelled\n")
    assert await either("tasks", "cancel", id) == (1, "too late: it has already ended\n")
    assert await either("tasks", "redrive", id) == (0, "redriven\n")
    assert (await either.json("explain", id))["code"] == "no_worker"
    unknown = "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
    assert await either("tasks", "cancel", id, unknown) == (1, f"{id}  cancelled\n{unknown}  there is no such task\n")
    code, said = await either("tasks", "show", unknown)
    assert code == 1 and said == f"weft: there is no task {unknown}\n"


async def test_lists_filter_and_page(either: Shell, database_url: str) -> None:
    await either("enqueue", "mail", "--no-check", "--file", "-", "--queue", "letters", stdin=b'{"n": 1}\n' * 3)
    await either("enqueue", "other", "--no-check", "--delay", "1h", "--tag", "late")
    everything = await either.json("tasks", "list")
    assert [one["kind"] for one in everything] == ["other", "mail", "mail", "mail"]
    assert [one["id"] for one in await either.json("tasks", "--limit", "2")] == [one["id"] for one in everything[:2]]
    assert len(await either.json("tasks", "--queue", "letters", "--kind", "mail", "--state", "ready")) == 3
    assert [one["kind"] for one in await either.json("tasks", "--tag", "late", "--state", "queued")] == ["other"]
    assert await either.json("tasks", "--since", "2h", "--before", "1h") == []
    code, said = await either("tasks", "list", "--limit", "1")
    assert code == 0 and everything[0]["id"] in said and "scheduled for" in said and "--limit N" in said
    assert await either("tasks", "--state", "failed") == (0, "no tasks\n")


async def test_here_and_there_say_the_same(database_url: str, weft: Shell) -> None:
    async with shell.served(database_url) as remote:
        made = await weft.json("enqueue", "mail", '{"n": 1}', "--no-check", "--queue", "letters", "--tag", "t")
        await weft("queues", "limit", "letters", "--rate", "100/1m")
        for arguments in (
            ("tasks",), ("tasks", "show", made["id"]), ("tasks", "logs", made["id"]), ("explain", made["id"]), ("queues",),
            ("queues", "show", "letters"), ("dead",), ("locks",), ("key", "list"), ("profile", "list"),
            ("tasks", "show", "x"), ("tasks", "list", "--since", "x"), ("queues", "show", "none"), ("locks", "show", "none"),
            ("dead", "redrive", "--all"), ("nodes", "show", made["id"]),
        ):  # fmt: skip
            for extra in ((), ("--json",)) if arguments[0] in ("tasks", "explain") and made["id"] in arguments else ((),):
                here, there = await weft(*arguments, *extra), await remote(*arguments, *extra)
                if arguments[0] == "key":  # using it writes down when
                    here, there = _without_use(here), _without_use(there)
                assert _without_age(here) == _without_age(there), (arguments, extra)


def _without_use(answer: tuple[int, str]) -> tuple[int, str]:
    return answer[0], re.sub(r"never|\d\d:\d\d:\d\d|\"last_used_at\": .*", "", answer[1])


def _without_age(answer: tuple[int, str]) -> tuple[int, str]:
    """How long something has waited is another number each time."""
    return answer[0], re.sub(r"\s+\d+(\.\d)? s\s+", " ", answer[1])


async def test_enqueue_refuses_a_kind_nobody_knows(either: Shell, database_url: str) -> None:
    code, said = await either("enqueue", "nobody_knows")
    assert code == 2 and said.startswith("weft: no live worker serves the kind 'nobody_knows'")
    assert count(database_url) == 0


async def test_enqueue_takes_the_declaration_from_an_app(weft: Shell) -> None:
    made = await weft.json("enqueue", "double", '{"n": 1}', "--app", "cli_app:app", "--delay", "1h")
    shown = await weft.json("tasks", "show", made["id"])
    assert (shown["kind"], shown["state"]) == ("double", "scheduled")
    code, said = await weft("enqueue", "nothing", "--app", "cli_app:app")
    assert code == 2 and "declares no task 'nothing'" in said


async def test_waiting_prints_the_result_and_exits_by_it(either: Shell, database_url: str) -> None:
    app = App(database_url=database_url)

    @app.task(name="double")
    async def double(n: int) -> int:
        return 2 * n

    @app.task(name="fail", max_attempts=1)
    async def fail() -> None:
        raise ValueError("it never works")

    async with app, app.worker():
        assert await either("enqueue", "double", '{"n": 21}', "--wait") == (0, "42\n")
        code, said = await either("enqueue", "fail", "--wait", "--within", "20s")
        assert code == 1 and re.fullmatch(r"weft: task \S+ failed: it never works\n", said)
        code, said = await either("enqueue", "double", '{"n": 1}', "--delay", "1h", "--wait", "--within", "100ms")
        assert code == 1 and "has not ended within 0.1 s" in said
        code, said = await either("enqueue", "fail", "--wait", "--json")
        assert (code, json.loads(said)["state"]) == (1, "failed")


async def test_logs_are_shown_and_followed_to_the_end(either: Shell, database_url: str) -> None:
    app = App(database_url=database_url)

    @app.task(name="talk")
    async def talk(ctx: Context) -> None:
        ctx.log("hello", n=1)
        ctx.log("red \x1b[31m", level="warning")

    async with app, app.worker():
        made = await either.json("enqueue", "talk")
        code, said = await either("tasks", "logs", made["id"], "--follow")
        assert code == 0
        first, second = said.splitlines()
        assert first.endswith('attempt 1 info     hello  {"n":1}')
        assert "warning  red \N{REPLACEMENT CHARACTER}[31m" in second  # a terminal must not obey a task
        assert await either("tasks", "logs", made["id"]) == (0, said)
        code, said = await either("tasks", "logs", made["id"], "--json")
        assert next(json.loads(line)["message"] for line in said.splitlines()) == "hello"


async def test_a_file_is_enqueued_in_batches_each_line_once(either: Shell, database_url: str) -> None:
    lines = "".join(f'{{"n": {n}}}\n' for n in range(2500)) + "\n"
    answer = await either.json("enqueue", "mail", "--no-check", "--file", "-", "--priority", "70", stdin=lines.encode())
    assert answer == {"enqueued": 2500}
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "select count(distinct payload), count(*), min(urgency), max(urgency) from weft.tasks"
        ).fetchone()
    assert found == (2500, 2500, 30, 30)
    more = await either.json("enqueue", "mail", "--no-check", "--file", "-", "--skip", "2499", stdin=lines.encode())
    assert more == {"enqueued": 1}


@each("bad", [b"{", b"[1]", b'{"n": NaN}', b"\xff", b'{"n": "\\u0000"}', b"[" * 500, b'{"n":' * 2000])
async def test_a_file_with_a_bad_line_enqueues_nothing(weft: Shell, database_url: str, bad: bytes) -> None:
    code, said = await weft("enqueue", "mail", "--no-check", "--file", "-", stdin=b"{}\n" * 1500 + bad + b"\n")
    assert code == 2 and "line 1501" in said and "nothing was enqueued" in said and "Traceback" not in said
    assert count(database_url) == 0


async def test_the_dead_are_listed_redriven_and_discarded(either: Shell, database_url: str) -> None:
    database = Database(config.Settings(database_url=database_url))
    async with database.tx() as tx:
        ids = await hands.put_many(tx, 5, max_attempts=1)
        await hands.end(tx, await hands.claim_plain(tx), "failed", error=json.dumps(ERROR))
    await database.close()
    listed = await either.json("dead", "list", "--kind", "mail", "--error", "ValueError")
    assert sorted(one["id"] for one in listed) == sorted(ids)
    code, said = await either("dead")
    assert code == 0 and "failed and is on the dead letter list: ValueError: it never works" in said
    assert await either("dead", "redrive", ids[0], ids[1]) == (0, "2 redriven\n")
    code, said = await either("dead", "redrive", ids[0], ids[2])
    assert code == 1 and said == "1 redriven\nweft: 1 of these tasks are not on the dead letter list\n"
    assert await either("dead", "discard", ids[3]) == (0, "1 discarded\n")
    assert await either("dead", "redrive", "--all", "--kind", "other") == (0, "0 redriven\n")
    assert await either("dead", "redrive", "--all", "--kind", "mail") == (0, "1 redriven\n")
    assert await either("dead", "list") == (0, "nothing is dead\n")


async def test_watching_shows_again_until_interrupted(weft: Shell) -> None:
    made = await weft.json("enqueue", "later", "--no-check")
    for arguments in (("tasks",), ("tasks", "show", made["id"]), ("queues",), ("nodes",), ("dead",), ("locks",)):
        async with cli_process.weft(*arguments, "--watch", "--every", "0.1", "--json", env=weft.env) as program:
            await program.says("\n", times=3)
            program.send(signal.SIGINT)
            assert await program.ends() == 0, program.said
        lines = [json.loads(line) for line in program.said.splitlines()]
        assert len(lines) >= 3 and len(lines[0]) == len(lines[1])

