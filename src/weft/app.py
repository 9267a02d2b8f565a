"""`App`: the composition root. Gives your code its parts: declare tasks, enqueue them, await them, run workers.

    app = App()                      # embedded PostgreSQL unless DATABASE_URL is set

    @app.task(max_attempts=5)
    async def send_email(to: str) -> str: ...

    await app.enqueue(send_email, {"to": "a@b.example"})

Everything is async; `app.sync` offers the same calls to code that is not.
"""

import asyncio
import contextlib
import datetime as dt
import functools
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from weft.base import config, crash, durations, errors, ids
from weft.cluster.model import Lock
from weft.parts import locking
from weft.parts.dags import Dags, DeclaredDag, Runs
from weft.parts.durable import Durable
from weft.parts.flows import Flows
from weft.parts.jobs import Jobs
from weft.parts.processes import Processes
from weft.queue import enqueue, explain, new, tasks
from weft.queue.explain import Explanation
from weft.queue.model import Enqueued, LogLine, TaskView
from weft.queue.new import Options
from weft.sdk import loading, prompting
from weft.sdk import task as declarations
from weft.sdk.prompting import Provider
from weft.sdk.query import Queries
from weft.sdk.synchronous import Synchronous
from weft.sdk.task import Task
from weft.settle import rescue

if TYPE_CHECKING:
    from weft.api.live_here import InProcess

P = ParamSpec("P")
R = TypeVar("R")


class App(Durable, Processes):
    """Your tasks and the database they live in. Cheap to make; connects on first use."""

    def __init__(
        self, *, database_url: str | None = None, settings: config.Settings | None = None, name: str | None = None
    ) -> None:
        """`name` says whose the jobs are that `@app.cron` declares; unset, it is the module that makes the app."""
        super().__init__(settings or config.load(database_url=database_url))
        self.jobs = Jobs(self.open, registry=self.registry, owner=f"app:{name or loading.caller()}")
        self.sync = Synchronous(self)
        self.dags, self.flows = Dags(self, self._beginning), Flows(self, self._beginning)
        self.runs = Runs(self)
        self.queries = Queries()
        self.query = self.queries.add

    @functools.cached_property
    def live(self) -> "InProcess":
        """Watches from this process what `/v1/live` shows: `async for now in app.live("task", id=…)`."""
        from weft.api.live_here import InProcess  # noqa: PLC0415 - half of the API; who does not watch goes without

        return InProcess(self.open, self._listening, self.queries)

    async def close(self) -> None:
        """Ends what is watched, and closes the connections. `async with app:` does it by itself."""
        if (live := self.__dict__.get("live")) is not None:
            await live.close()
        await super().close()

    # declaring

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self, *, name: str | None = None, version: str | int | None = None, **options: Any
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...
    def task(  # type: ignore[misc]
        self, function: Any = None, /, *, name: str | None = None, version: Any = None, **options: Any
    ) -> Any:
        """Declares a task. Options: see `weft.sdk.task.Options`, e.g. `queue=`, `max_attempts=`, `retry=`, `timeout=`."""

        def declare(declared: Callable[..., Any]) -> Task[Any, Any]:
            return self.registry.add(declared, name=name, version=version, **options)

        return declare if function is None else declare(function)

    def provider(self, answers: Provider, /) -> Provider:
        """Declares who answers the prompts of AFL programs here: `async def answer(prompt: Prompt) -> str`."""
        self.registry.add(prompting.handler(answers), name=prompting.KIND, version=None, retry=prompting.SOON)
        return answers

    def cron(self, expression: str, /, **words: Any) -> Callable[[Any], Task[Any, Any]]:
        """Declares a job that runs the task below at these times: `timezone=`, `name=`, `args=`, and words of a job such as
        `misfire=`. A worker of this app writes it when it starts, and pauses one that is not declared any more."""
        return self.jobs.declaring(expression, **words)

    @overload
    def dag(self, function: Callable[..., Any], /) -> DeclaredDag: ...
    @overload
    def dag(self, **words: Any) -> Callable[[Callable[..., Any]], DeclaredDag]: ...
    def dag(self, function: Callable[..., Any] | None = None, /, **words: Any) -> Any:  # type: ignore[misc]
        """Declares a DAG by a function that calls tasks: each call is a task of the DAG. Words: those of a DAG file."""
        return self.dags.declare(function, words)

    # enqueueing

    async def enqueue(
        self, task: "Task[Any, Any] | str", payload: dict[str, Any] | None = None, *, tx: Any = None,
        check: bool = True, **options: Unpack[Options],
    ) -> Enqueued:  # fmt: skip
        """Enqueues one task. `tx=` a psycopg or SQLAlchemy connection makes it part of your own transaction.

        A kind that neither this app nor any live worker knows is refused; `check=False` enqueues it all the same.
        """
        kind, declared = self._declared(task)
        arguments = new.arguments(kind, payload if payload is not None else {}, declared=declared, options=options)
        if tx is not None:
            return await enqueue.one_on(tx, arguments)
        database = await self.open()
        if declared is None and check:
            await self._must_be_served(kind)
        crash.point("enqueue: before")
        async with database.once(knowing=enqueue.SIMPLE) as own:
            made = await enqueue.one(own, arguments)
        crash.point("enqueue: committed")
        return made

    async def enqueue_many(
        self, task: "Task[Any, Any] | str", payloads: Sequence[dict[str, Any]], *, tx: Any = None, check: bool = True,
        dedupe_keys: Sequence[str] | None = None, **options: Unpack[Options],
    ) -> list[Enqueued]:  # fmt: skip
        """Enqueues many tasks of one kind: all of them or, if one is not valid, none."""
        kind, declared = self._declared(task)
        for name in ("dedupe_key", "dedupe", "concurrency_key", "concurrency", "heartbeat_timeout"):
            if name in options:
                raise errors.InvalidInput(f"enqueue_many does not take {name}; enqueue those one by one")
        common = new.common(kind, declared=declared, options=options)
        pieces = enqueue.chunks(payloads, dedupe_keys=dedupe_keys)
        if tx is not None:
            return await enqueue.many_on(tx, common, pieces=pieces)
        database = await self.open()
        if declared is None and check:
            await self._must_be_served(kind)
        async with database.once() if len(pieces) == 1 else database.tx() as own:
            made = await enqueue.many(own, common, pieces=pieces)
            crash.point("bulk enqueue: before commit")
        crash.point("bulk enqueue: committed")
        return made

    def _declared(self, task: "Task[Any, Any] | str") -> tuple[str, declarations.Options | None]:
        if isinstance(task, Task):
            return task.kind, task.options
        if not isinstance(task, str):
            raise errors.UnknownKind(f"enqueue takes a task or its name, not {task!r}; decorate it with @app.task")
        found = self.registry.get(task) or next((one for one in self._handlers() if one.kind == task), None)
        return task, found.options if found is not None else None

    async def _must_be_served(self, kind: str) -> None:
        async with (await self.open()).once() as tx:
            if not await enqueue.kind_is_served(tx, kind):
                raise errors.UnknownKind(
                    f"no task named {kind!r} is declared here or served by any live worker; "
                    f"declare it with @app.task, start its worker, or pass check=False",
                    kind=kind,
                )

    # looking and steering

    async def get(self, id: uuid.UUID | str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> TaskView:
        """A task, unfinished or finished; NotFound if there is none."""
        async with (await self.open()).once() as tx:
            return await tasks.get(tx, id=_id(id), org=org)

    async def result(
        self, id: uuid.UUID | str, *, timeout: dt.timedelta | float | str | None = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Any:  # fmt: skip
        """Waits for a task and answers its result; raises TaskFailed, TaskCancelled, TaskTimedOut or ResultTimeout."""
        limit = None if timeout is None else durations.parse(timeout, name="timeout").total_seconds()
        changed = asyncio.Event()
        hub = await self._listening()
        remove = hub.add("weft_changes", lambda _payload: changed.set())
        try:
            async with asyncio.timeout(limit):
                pause = 0.01
                while True:
                    changed.clear()
                    async with (await self.open()).once() as tx:
                        ended = await tasks.ending(tx, id=_id(id), org=org)
                    if ended is not None:
                        return _unwrap(ended, id)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await changed.wait()
                    pause = min(pause * 1.5, 0.5)
        except TimeoutError:
            await self.get(id, org=org)
            raise errors.ResultTimeout(f"task {id} has not ended within {timeout}") from None
        finally:
            remove()

    async def cancel(self, id: uuid.UUID | str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> str:
        """Cancels a task: 'cancelled' (it was queued), 'cancelling' (it runs and is told), 'finished' or 'unknown'."""
        async with (await self.open()).tx() as tx:
            answer = await rescue.cancel_one(tx, id=_id(id), org=org)
            crash.point("cancel: before commit")
        crash.point("cancel: committed")
        return answer

    @contextlib.asynccontextmanager
    async def lock(
        self, name: str, *, expires: locking.Duration = "30s", wait: locking.Duration | None = None,
        owner: str | None = None, metadata: dict[str, Any] | None = None, org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> AsyncIterator[Lock]:  # fmt: skip
        """Holds a named lock while the block runs; `wait` says for how long it is waited for (Conflict), unset for ever.

        It is extended meanwhile, and free `expires` after a process that died. LockLost at the end of the block: it was not
        held all the time, so what was done under it may have had company.
        """
        held = locking.held(
            await self.open(), name, expires=expires, wait=wait, owner=owner, metadata=metadata, org=org
        )  # fmt: skip
        async with held as lock:
            yield lock

    async def explain(self, id: uuid.UUID | str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Explanation:
        """Why an unfinished task is not running."""
        async with (await self.open()).once() as tx:
            return await explain.explain(tx, id=_id(id), org=org)

    async def logs(self, id: uuid.UUID | str, *, after: int = 0, org: uuid.UUID = ids.DEFAULT_ORG) -> list[LogLine]:
        """What the handler logged, oldest first."""
        async with (await self.open()).once() as tx:
            return await tasks.logs(tx, id=_id(id), org=org, after=after)



def _id(id: uuid.UUID | str) -> uuid.UUID:
    try:
        return id if isinstance(id, uuid.UUID) else uuid.UUID(id)
    except (ValueError, AttributeError, TypeError):
        raise errors.InvalidInput(f"{id!r} is not a task id (a UUID)") from None


def _unwrap(ended: tasks.Ending, id: uuid.UUID | str) -> Any:
    if ended.state == "completed":
        return ended.result
    kind = {"cancelled": errors.TaskCancelled, "timed_out": errors.TaskTimedOut}.get(ended.state, errors.TaskFailed)
    message = (ended.error or {}).get("message") or ended.reason or ended.state
    raise kind(f"task {id} {ended.state}: {message}", error=ended.error, reason=ended.reason)
