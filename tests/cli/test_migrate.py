"""`weft migrate` on the embedded PostgreSQL and on another database."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import cli_process
import psycopg

from weft.cli import migrate as commands
from weft.db import migrate

NAMES = [one.name for one in migrate.ours()]


async def test_the_embedded_database_forth_and_back(folder: Path) -> None:
    here = {"WEFT_FOLDER": str(folder / ".weft")}

    async def weft(*arguments: str) -> tuple[int, str]:
        return await cli_process.run("migrate", *arguments, env=here)

    code, said = await weft("status", "--json")
    assert (code, [one["state"] for one in json.loads(said)]) == (0, ["pending"] * len(NAMES))
    assert (await weft("status", "--check"))[0] == 1
    assert await weft("up") == (0, "".join(f"applied {name}\n" for name in NAMES))
    assert await weft("up") == (0, "nothing to do: the database is up to date\n")
    code, said = await weft("status", "--check")
    assert code == 0 and said.startswith(f"applied  {NAMES[0]}")
    assert await weft("sql") == (0, "-- nothing to do: the database is up to date\n")
    code, said = await weft("down", "--steps", "99", "--yes", "--json")
    assert (code, json.loads(said)) == (0, {"taken_back": NAMES[::-1]})
    assert await weft("down", "--yes") == (0, "nothing to do: no migration is applied\n")


async def test_taking_back_asks_first(database_url: str) -> None:
    env = {"DATABASE_URL": database_url}
    code, said = await cli_process.run("migrate", "down", env=env)
    assert code == 1 and "Go on?" in said
    assert (await cli_process.run("migrate", "status", "--check", env=env))[0] == 0


async def test_a_database_newer_than_the_code_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("insert into weft.migrations (name, checksum) values ('9999_later', 'x')")
    code, said = await cli_process.run("migrate", "up", env={"DATABASE_URL": database_url})
    assert code == 1 and "upgrade Weft" in said
    code, said = await cli_process.run("migrate", "status", env={"DATABASE_URL": database_url})
    assert code == 0 and "unknown  9999_later" in said


async def test_the_sql_applied_by_hand_is_known_as_applied(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for one in reversed(migrate.ours()):
            connection.execute((one.down or "").encode())
        code, said = await cli_process.run("migrate", "sql", env={"DATABASE_URL": database_url})
        assert code == 0
        connection.execute(said.encode())
    code, said = await cli_process.run("migrate", "status", "--check", env={"DATABASE_URL": database_url})
    assert code == 0, said


def test_a_script_is_one_transaction_that_records_itself() -> None:
    text = commands.script(migrate.Migration(name="0007_x", up="create table y ();", down=None))
    assert text.index("begin;") < text.index("create table y") < text.index("'0007_x'") < text.index("commit;")
    assert ", null);" in text


def test_who_is_stopped_while_it_writes_more_than_a_pipe_holds_loses_nothing(database_url: str) -> None:
    """Unbuffered, as in most containers, Python itself would end with what the pipe held."""
    command = [sys.executable, "-m", "weft.cli", "migrate", "sql"]
    environ = {**os.environ, "DATABASE_URL": database_url, "PYTHONUNBUFFERED": "1"}
    with psycopg.connect(database_url, autocommit=True) as connection:
        for one in reversed(migrate.ours()):
            connection.execute((one.down or "").encode())
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        until = time.monotonic() + 60
        while int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), sys.byteorder) < 65536:
            assert time.monotonic() < until and process.poll() is None, "the pipe was never full"
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        process.send_signal(signal.SIGCONT)
        said = process.stdout.read().decode()
    assert process.returncode == 0 and len(said) > 3 * 65536
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(said.encode())
