"""Workers in processes of their own, to be killed; what their tasks wrote; and waiting with a deadline."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

import nursery

LONG = 60.0
"""Seconds after which a test gives up. How long things really took is printed, not asserted."""

HERE = Path(__file__).parent

PATIENT: dict[str, Any] = {"connect_timeout": 10, "options": "-c statement_timeout=30s"}

_bystanders: dict[str, "psycopg.Connection[tuple[Any, ...]]"] = {}
"""At most one, and where it looks."""


@dataclasses.dataclass(frozen=True)
class Event:
    """A line of the diary."""

    what: str
    task: str
    pid: int
    at: float
    attempt: int = 0


class Crowd:
    """Starts workers on one database and makes sure that none outlives the test."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self._members: list[nursery.Process] = []

    async def start(
        self, *options: str, crash_at: str | None = None, program: str = "crew.py", env: Mapping[str, str] | None = None,
        inside: Sequence[str] = (),
    ) -> nursery.Process:  # fmt: skip
        """A worker that has beaten once; with `crash_at` it may die before it has. `inside`: what to start it with."""
        told = {} if crash_at is None else {"WEFT_CRASH_AT": crash_at}
        process = await self._begin(*options, program=program, env={**(env or {}), **told}, inside=inside)
        assert process.stdout is not None
        async with asyncio.timeout(LONG):
            said = await process.stdout.readline()
        assert said == b"ready\n" or crash_at is not None, (self.folder / "stderr").read_text()[-4000:]
        return process

    async def _begin(
        self, *options: str, program: str, env: Mapping[str, str], inside: Sequence[str] = ()
    ) -> nursery.Process:  # fmt: skip
        environment = {**os.environ, "CREW_URL": self.url, "CREW_DIARY": str(self.folder / "diary"), **env}
        process: nursery.Process
        with (self.folder / "stderr").open("ab") as log:
            if not inside and nursery.fits({**environment, "PYTHONUNBUFFERED": "1"}):
                process = await nursery.fork(options, program=HERE / program, env=environment, stderr=log.fileno())
            else:
                process = await asyncio.create_subprocess_exec(
                    *inside, sys.executable, str(HERE / program), *options, stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE, stderr=log, env=environment,
                )  # fmt: skip
        self._members.append(process)
        return process

    async def freeze(
        self, point: str, *options: str, env: Mapping[str, str] | None = None
    ) -> nursery.Process:  # fmt: skip
        """A worker that has stopped at this point."""
        told = {**(env or {}), "WEFT_FREEZE_AT": point}
        process = await self._begin(*options, env=told, program="crew.py")
        await until(lambda: process.returncode is not None or stopped(process.pid))
        assert process.returncode is None, (self.folder / "stderr").read_text()[-4000:]
        return process

    def alive(self) -> int:
        return sum(one.returncode is None for one in self._members)

    def diary(self) -> list[Event]:
        file = self.folder / "diary"
        if not file.exists():
            return []
        events = []
        for line in file.read_text().splitlines():
            what, task, pid, at, attempt = line.split()
            events.append(Event(what, task, int(pid), float(at), int(attempt)))
        return events

    def let_go(self, who: object = "all") -> None:
        """Opens the gate for tasks that hold."""
        (self.folder / f"gate-{who}").touch()

    async def close(self) -> None:
        for process in self._members:
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self._members:
            await ended(process)


def stopped(pid: int) -> bool:
    """Whether a process has got SIGSTOP and not yet SIGCONT."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] == "T"


async def ended(process: nursery.Process, *, within: float = LONG) -> int:
    """Waits for the exit code. Not by `process.wait()`: that also waits, without end, for a pipe that a child of the
    process may hold open (Python 3.11)."""
    await until(lambda: process.returncode is not None, within=within)
    assert process.returncode is not None
    return process.returncode


async def until(question: Callable[[], Awaitable[Any] | Any], *, within: float = LONG, pause: float = 0.05) -> Any:
    """The first answer that is true. Whoever asks more often takes the time of those it waits for."""
    deadline = time.monotonic() + within
    while True:
        answer = question()
        if isinstance(answer, Awaitable):
            answer = await answer
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not so within {within} s"
        await asyncio.sleep(pause)


def rows(url: str, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
    """What a bystander sees, on a connection of its own: the one of the last question, if it is still there, since most
    questions are asked again and again."""
    connection = _bystanders.pop(url, None)
    if connection is not None:
        with contextlib.suppress(psycopg.OperationalError):
            connection.execute("select")
        if connection.closed:
            connection = None
    leave()
    if connection is None:
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=None, **PATIENT)
    _bystanders[url] = connection
    return connection.execute(statement, arguments).fetchall()  # type: ignore[arg-type]


def leave() -> None:
    """The bystander goes."""
    for url in list(_bystanders):
        _bystanders.pop(url).close()


def value(url: str, statement: str, *arguments: Any) -> Any:
    return rows(url, statement, *arguments)[0][0]


def enqueue(url: str, kind: str, *, count: int = 1, queue: str = "default") -> list[str]:
    """From plain SQL, as any other language would."""
    statement = "select weft.enqueue(%s, queue => %s)::text from generate_series(1, %s)"
    return [row[0] for row in rows(url, statement, kind, queue, count)]


async def finished(url: str, count: int, *, within: float = LONG) -> None:
    """Waits until so many tasks have ended."""
    await until(lambda: value(url, "select count(*) from weft.task_history") >= count, within=within)


async def seasoned(url: str) -> None:
    """Waits until the server is old enough for a missing liveness lock to mean something."""
    asked = "select statement_timestamp() - pg_postmaster_start_time() > interval '15.5 seconds'"
    await until(lambda: value(url, asked), pause=0.25)


def say(capsys: Any, text: str) -> None:
    """Prints a measurement, past pytest's capture."""
    with capsys.disabled():
        print(f"\n    {text}")


async def check(url: str, tasks: list[str]) -> None:
    """What holds after whatever happened: everything ended once, nobody holds anything."""
    assert value(url, "select count(*) from weft.tasks") == 0
    ended = rows(url, "select id::text, state from weft.task_history where id::text = any(%s)", tasks)
    assert sorted(id for id, _ in ended) == sorted(tasks)
    idle = "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()"
    # a chore may be between two statements at this moment; whoever was left behind is there for good
    await until(lambda: value(url, idle) == 0, within=8)
