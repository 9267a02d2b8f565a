"""What an app offers to durable workflows: declaring them, starting them, and what their code awaits.

    @app.step(retries=5, compensate=refund)
    async def charge(order: str, cents: int) -> str: ...

    @app.workflow(version="2")
    async def checkout(order: Order) -> Receipt:
        payment = await charge(order.id, order.cents)
        approved = await app.wait_for("approval", timeout="2d")
        ...

    run = await app.start(checkout, order, key=order.id)
"""

import asyncio
import datetime as dt
import random
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from weft.base import config, durations, errors, ids, json, names
from weft.db.database import Database
from weft.flows import workflows
from weft.flows.start import Started
from weft.parts.connected import Connected
from weft.sdk import operation as operations
from weft.sdk.operation import Answer, ContinueAsNew, Join, Operation, Request
from weft.sdk.workflow import Declared, Step, Workflow

T = TypeVar("T")


class Durable(Connected):
    """The part of `App` that is about workflows."""

    def __init__(self, settings: config.Settings) -> None:
        super().__init__(settings)
        self.declared = Declared()

    # declaring

    def workflow(
        self, function: Callable[..., Any] | None = None, /, *, name: str | None = None, version: str | int = "1",
        signals: Sequence[str] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Declares a durable workflow. `signals`: the only ones it takes; unset: any. Also `queue` and `priority`."""

        def declare(declared: Callable[..., Any]) -> Workflow[Any, Any]:
            return self.declared.workflow(declared, name=name, version=version, signals=signals, options=options)

        return declare if function is None else declare(function)

    def step(
        self, function: Callable[..., Any] | None = None, /, *, name: str | None = None,
        compensate: "Callable[..., Any] | Step[Any, Any] | None" = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Declares a step: its result is kept. `compensate` undoes it; see `weft.sdk.workflow.StepOptions` for the rest."""

        def declare(declared: Callable[..., Any]) -> Step[Any, Any]:
            return self.declared.step(declared, name=name, kind="step", compensate=compensate, options=options)

        return declare if function is None else declare(function)

    def transaction(
        self, function: Callable[..., Any] | None = None, /, *, name: str | None = None,
        compensate: "Callable[..., Any] | Step[Any, Any] | None" = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Declares a step that gets a connection first: what it writes and its checkpoint commit together, once."""

        def declare(declared: Callable[..., Any]) -> Step[Any, Any]:
            return self.declared.step(declared, name=name, kind="transaction", compensate=compensate, options=options)

        return declare if function is None else declare(function)

    # from outside

    async def start(
        self, workflow: "Workflow[Any, Any] | str", /, *args: Any, arguments: dict[str, Any] | None = None,
        key: str | None = None, tx: Any = None, queue: str | None = None, priority: int | None = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Started:  # fmt: skip
        """Starts a run. A `key` that a run of this workflow has had starts nothing, and answers that run.

        `tx=` a psycopg or SQLAlchemy connection makes it part of your own transaction.
        """
        found = self.declared.latest(workflow) if isinstance(workflow, str) else workflow
        if found is not None:
            text = found.payload(args, arguments or {})
        elif args:
            raise errors.InvalidInput(f"workflow {workflow!r} is not declared here: give its arguments={{name: value}}")
        else:
            text = json.text(arguments or {}, what="arguments")
        wanted = workflows.wish(
            found.name if found else str(workflow), text, version=found.version if found else None, key=key, org=org,
            queue=queue, priority=priority,
        )  # fmt: skip
        if tx is not None:
            return await workflows.start_on(tx, wanted)
        database = await self.open()
        if found is not None:
            await self._known(database)
        async with database.once() as own:
            return await workflows.start(own, wanted)

    async def start_many(
        self, workflow: "Workflow[Any, Any]", arguments: Sequence[dict[str, Any]], *, org: uuid.UUID = ids.DEFAULT_ORG
    ) -> list[uuid.UUID]:
        """Starts a run for each; all of them or, if one does not fit, none."""
        texts = [workflow.payload((), one) for one in arguments]
        database = await self.open()
        await self._known(database)
        async with database.tx() as tx:
            return await workflows.start_many(tx, workflow.name, version=workflow.version, arguments=texts, org=org)

    async def signal(
        self, run: uuid.UUID | str, name: str, value: Any = None, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG
    ) -> None:
        """Sends a signal to a run; it is kept until the run takes it, once."""
        names.check(name, what="signal")
        if tx is not None:
            await workflows.signal_on(tx, run, name, value, org=org)
            return
        async with (await self.open()).once() as own:
            await workflows.signal(own, run, name, value, org=org)

    async def update(
        self, run: uuid.UUID | str, name: str, value: Any = None, *, timeout: dt.timedelta | float | str = 30,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Any:  # fmt: skip
        """Sends a signal and waits for what the run answers (`app.receive`, `app.answer`).

        Conflict, if the run refuses or ends without an answer; ResultTimeout, if none came in time: it may still come.
        """
        limit = durations.parse(timeout, name="timeout")
        database = await self.open()
        async with database.once() as tx:
            message = await workflows.signal(tx, run, names.check(name, what="signal"), value, org=org)
        pause, ends = 0.002, asyncio.get_running_loop().time() + limit.total_seconds()
        while True:
            async with database.once() as tx:
                found = await workflows.answer(tx, run, message, org=org)
            if found is not None:
                return found.value
            if asyncio.get_running_loop().time() >= ends:
                raise errors.ResultTimeout(f"run {run} has not answered {name!r} within {timeout}; it may still do so")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    async def _known(self, database: Database) -> None:
        """Once per database: so that a run can be started before the first worker is there."""
        # itself and not its number, which another one may have after it is gone
        if getattr(self, "_declared_in", None) != (database, len(self.declared.workflows)):
            async with database.tx() as tx:
                await workflows.declare(tx, list(self.declared.workflows.values()))
            self._declared_in = (database, len(self.declared.workflows))

    # inside of workflows

    def sleep(self, duration: dt.timedelta | float | str, *, key: str | None = None) -> Awaitable[None]:
        """Sleeps for seconds or months; nobody waits for it meanwhile."""
        branch = operations.inside("app.sleep")
        length = durations.parse(duration, name="duration")
        return Operation(branch, "sleep", "sleep", key=key, due=branch.driver.now() + length)

    def wait_for(
        self, signal: str, *, timeout: dt.timedelta | float | str | None = None, default: Any = None, type: Any = Any,
        key: str | None = None,
    ) -> Awaitable[Any]:  # fmt: skip
        """Waits for a signal and answers its value; `default`, if none came in time."""
        branch = operations.inside("app.wait_for")
        due = None if timeout is None else branch.driver.now() + durations.parse(timeout, name="timeout")

        def reads(text: str | None) -> Any:
            return default if text is None else msgspec.convert(json.loads(text)[0], type, dec_hook=json.read)

        return Operation(branch, "signal", names.check(signal, what="signal"), key=key, due=due, reads=reads)

    def receive(
        self, signal: str, *, timeout: dt.timedelta | float | str | None = None, type: Any = Any, key: str | None = None
    ) -> Awaitable[Request | None]:
        """Waits for a signal whose sender waits for an answer, and answers the request; None, if none came in time."""
        branch = operations.inside("app.receive")
        due = None if timeout is None else branch.driver.now() + durations.parse(timeout, name="timeout")

        def reads(text: str | None) -> Any:
            if text is None:
                return None
            value, *message = json.loads(text)
            return Request(msgspec.convert(value, type, dec_hook=json.read), *message)

        return Operation(
            branch, "signal", names.check(signal, what="signal"), about=operations.ASKED, key=key, due=due, reads=reads
        )

    def answer(self, request: Request, value: Any = None) -> None:
        """Answers a request; it is told with the run's next checkpoint, or when it waits or ends."""
        text = None if value is None else json.text(value, what="the answer")
        if request.id is not None:
            operations.inside("app.answer").driver.answer(Answer(request.id, text))

    def refuse(self, request: Request, why: str) -> None:
        """Answers a request with an error: whoever asked gets a Conflict that says why."""
        if request.id is not None:
            operations.inside("app.refuse").driver.answer(Answer(request.id, None, str(why)[:1000]))

    def gather(
        self, *awaitables: Awaitable[Any], limit: int | None = None, return_exceptions: bool = False
    ) -> Awaitable[list[Any]]:
        """All of them at once, at most `limit` at a time. The first failure is raised once those that run have ended."""
        return Join(operations.inside("app.gather"), operations.lazily(awaitables), limit=limit, quiet=return_exceptions)

    def map(
        self, function: Callable[[Any], Awaitable[Any]], items: Iterable[Any], *, limit: int | None = None
    ) -> Awaitable[list[Any]]:
        """`gather` of a call for each item; each is called only when its turn comes."""
        calls: list[Callable[[], Awaitable[Any]]] = [_later(function, item) for item in items]
        return Join(operations.inside("app.map"), calls, limit=limit)

    def race(self, *awaitables: Awaitable[Any]) -> Awaitable[Any]:
        """The first to end: `(index, value)`. The others are given up."""
        return Join(operations.inside("app.race"), operations.lazily(awaitables), first=True)

    def detach(self, workflow: Workflow[Any, Any], *args: Any, **arguments: Any) -> Awaitable[str]:
        """Starts a run that goes its own way; answers its id."""
        return workflow.starting(operations.inside("app.detach"), args, arguments, detached=True)

    def continue_as_new(self, **arguments: Any) -> None:
        """Begins the run again with these arguments and no history; for loops without end."""
        operations.inside("app.continue_as_new")
        raise ContinueAsNew(arguments)

    def patched(self, name: str) -> bool:
        """Whether this run uses a change of the code: true for what begins now, false for what had passed this place."""
        return operations.inside("app.patched").driver.patched(names.check(name, what="patch"))

    def set_state(self, value: Any) -> None:
        """Publishes something about the run, to be read while it runs."""
        json.text(value, what="set_state")
        operations.inside("app.set_state").driver.publish(value)

    def now(self) -> dt.datetime:
        """The time of the last thing that happened in this run; the same each time the code is replayed."""
        return operations.inside("app.now").driver.now()

    def run_id(self) -> str:
        """The id of this run: a key for whatever must be done once, elsewhere too."""
        return operations.inside("app.run_id").driver.run_id

    def random(self) -> random.Random:
        """Dice that fall the same way each time the code is replayed."""
        branch = operations.inside("app.random")
        return random.Random(":".join(branch.driver.draw(branch.next())))

    def uuid(self) -> uuid.UUID:
        """An id that is the same each time the code is replayed."""
        branch = operations.inside("app.uuid")
        owner, throw = branch.driver.draw(branch.next())
        return uuid.uuid5(uuid.UUID(owner), throw)


def _later(function: Callable[[Any], Awaitable[Any]], item: Any) -> Callable[[], Awaitable[Any]]:
    async def call() -> Any:
        return await function(item)  # in a branch of its own, when its turn comes

    return call
