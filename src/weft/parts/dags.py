"""`app.dags` and `app.runs`: DAGs and runs from Python."""

import asyncio
import dataclasses
import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from weft.base import durations, errors, ids
from weft.dagfile import read
from weft.dagfile.dag import Dag
from weft.db.database import Database
from weft.flows import definitions, look, operate, repair, search, start, steering, why
from weft.flows.definitions import Definition, Saved, Version
from weft.flows.look import RunView, StepView
from weft.flows.model import OVER, Kind, RunState, Status
from weft.flows.repair import Redone
from weft.flows.search import Filter
from weft.flows.start import Started, Wish
from weft.flows.steering import Difference
from weft.jobs import dags as schedules
from weft.parts.eager import Beginning
from weft.queue.explain import Explanation
from weft.sdk import dag as building

_ACTOR = "app"


class Opens(Protocol):
    """An App."""

    async def open(self) -> Database: ...


class DeclaredDag:
    """What `@app.dag` makes of a function: a DAG, as a file would say it."""

    def __init__(self, function: Callable[..., Any], words: dict[str, Any]) -> None:
        self.definition = building.definition(function, words)
        self.dag = read.from_value(self.definition)
        self.name = self.dag.name


class Dags:
    """`await app.dags.create("nightly.yaml")`, `await app.dags.trigger("nightly", {"day": "…"})`."""

    def __init__(self, app: Opens, beginning: Beginning) -> None:
        self._app, self._beginning = app, beginning
        self.declared: dict[str, DeclaredDag] = {}

    def declare(self, function: Callable[..., Any] | None, words: dict[str, Any]) -> Any:
        """`@app.dag` and `@app.dag(schedule=…)`."""

        def made(declared: Callable[..., Any]) -> DeclaredDag:
            found = DeclaredDag(declared, words)
            if found.name in self.declared:
                raise errors.InvalidDag(f"a DAG named {found.name!r} is already declared; give one of them another name=")
            self.declared[found.name] = found
            return found

        return made if function is None else made(function)

    async def create(
        self, given: "DeclaredDag | dict[str, Any] | str | Path", *, org: uuid.UUID = ids.DEFAULT_ORG
    ) -> Saved:
        """Saves a DAG: declared with `@app.dag`, as data, or from a file (JSON or YAML). Other content: a new version."""
        dag = await asyncio.to_thread(_read, given)
        async with (await self._app.open()).tx() as tx:
            return await schedules.save(tx, dag, org=org, actor=_ACTOR)

    async def save(self) -> None:
        """Saves every DAG that the code declares, with its schedule. A worker that starts calls this."""
        if not self.declared:
            return
        async with (await self._app.open()).tx() as tx:
            # in one order, so that workers that start together do not wait for each other in a circle
            for name in sorted(self.declared):
                await schedules.save(tx, self.declared[name].dag, org=ids.DEFAULT_ORG, actor=_ACTOR)

    async def get(self, dag: str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Definition:
        """By id or name."""
        async with (await self._app.open()).once() as tx:
            return await definitions.get(tx, dag, org=org, kind="dag")

    async def trigger(
        self, dag: "str | DeclaredDag", params: dict[str, Any] | None = None, *, key: str | None = None, tx: Any = None,
        config: dict[str, Any] | None = None, logical_date: dt.datetime | None = None, tags: Sequence[str] = (),
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Started:  # fmt: skip
        """Starts a run. `tx=` a psycopg or SQLAlchemy connection makes it part of your own transaction.

        A `key` that a run of this DAG has had starts nothing, and answers that run.
        """
        wish = Wish(params=params or {}, config=config or {}, key=key, logical_date=logical_date, tags=tags, actor=_ACTOR)
        name = dag.name if isinstance(dag, DeclaredDag) else dag
        if tx is not None:
            return await start.start_on(tx, name=name, what="dag", wish=wish, org=org)
        if isinstance(dag, DeclaredDag):
            await self.create(dag, org=org)
        async with self._beginning() as (own, hands):
            found = await definitions.get(own, name, org=org, kind="dag")
            return await schedules.trigger(own, found, dataclasses.replace(wish, hands=hands))

    async def list(
        self, *, name: str | None = None, take: int = 100, before: uuid.UUID | None = None, org: uuid.UUID = ids.DEFAULT_ORG
    ) -> list[Definition]:
        """Newest first, `name` being how they begin; `before` is the last id of the page before."""
        async with (await self._app.open()).once() as tx:
            return await definitions.page(tx, org=org, kind="dag", before=before, take=take, prefix=name)

    async def versions(self, dag: str, *, take: int = 100, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[Version]:
        """Newest first."""
        async with (await self._app.open()).tx() as tx:
            found = await definitions.get(tx, dag, org=org, kind="dag")
            return await definitions.versions(tx, found.id, take=take)

    async def pause(self, dag: str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> None:
        """Stops its schedule; runs that are asked for still start."""
        await self._set(dag, "paused", org=org)

    async def resume(self, dag: str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> None:
        await self._set(dag, "active", org=org)

    async def delete(self, dag: str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> None:
        """Its name is free. Runs that have begun go on, those that wait are cancelled."""
        await self._set(dag, "deleted", org=org)

    async def _set(self, dag: str, status: Status, *, org: uuid.UUID) -> None:
        async with (await self._app.open()).tx() as tx:
            found = await definitions.get(tx, dag, org=org, kind="dag")
            await schedules.set_status(tx, found, status, actor=_ACTOR)


class Runs:
    """`await app.runs.result(id)`, and what can be done to a run."""

    def __init__(self, app: Opens) -> None:
        self._app = app

    async def get(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> RunView:
        async with (await self._app.open()).once() as tx:
            return await look.run(tx, id, org=org)

    async def list(
        self, *, name: str | None = None, states: Sequence[RunState] | None = None, kind: Kind | None = None,
        take: int = 50, before: uuid.UUID | None = None, org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> list[RunView]:  # fmt: skip
        """Newest first; `before` is the last id of the page before."""
        async with (await self._app.open()).once() as tx:
            wanted = Filter(kind=kind, name=name, states=tuple(states or ()))
            return await search.newest(tx, org=org, filter=wanted, before=before, take=take)

    async def steps(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG, take: int = 10_000) -> Sequence[StepView]:
        """The nodes of a run, in the order they were written."""
        async with (await self._app.open()).once() as tx:
            return await look.nodes(tx, id, org=org, take=take)

    async def result(
        self, id: uuid.UUID, *, timeout: dt.timedelta | float | str | None = None, org: uuid.UUID = ids.DEFAULT_ORG
    ) -> Any:
        """Waits for a run and answers its outputs; raises TaskFailed, TaskCancelled or ResultTimeout."""
        limit = None if timeout is None else durations.parse(timeout, name="timeout").total_seconds()
        try:
            async with asyncio.timeout(limit):
                pause = 0.002
                while (run := await self.get(id, org=org)).state not in OVER:
                    await asyncio.sleep(pause)
                    pause = min(pause * 1.5, 0.5)
        except TimeoutError:
            raise errors.ResultTimeout(f"run {id} has not ended within {timeout}") from None
        if run.state == "completed":
            return run.output
        error = run.error or {}
        kind = errors.TaskCancelled if run.state == "cancelled" else errors.TaskFailed
        where = f" in {error.get('step', error['node'])!r}" if "node" in error else ""
        raise kind(f"run {id} {run.state}{where}: {error.get('message') or run.state}", error=error)

    async def explain(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Explanation:
        """Why a run does not go on."""
        async with (await self._app.open()).tx() as tx:
            return await why.why(tx, id, org=org)

    async def cancel(self, id: uuid.UUID, *, compensate: bool = True, org: uuid.UUID = ids.DEFAULT_ORG) -> bool:
        """`compensate=False` leaves what a workflow did as it is."""
        async with (await self._app.open()).tx() as tx:
            if (await look.run(tx, id, org=org)).kind == "workflow":
                return await steering.cancel(tx, id, org=org, actor=_ACTOR, compensate=compensate)
            return await operate.cancel(tx, id, org=org, actor=_ACTOR)

    async def pause(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> None:
        async with (await self._app.open()).tx() as tx:
            if (await look.run(tx, id, org=org)).kind == "workflow":
                await steering.pause(tx, id, org=org, actor=_ACTOR)
            else:
                await operate.pause(tx, id, org=org, actor=_ACTOR)

    async def resume(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> None:
        async with (await self._app.open()).tx() as tx:
            if (await look.run(tx, id, org=org)).kind == "workflow":
                await steering.resume(tx, id, org=org, actor=_ACTOR)
            else:
                await operate.resume(tx, id, org=org, actor=_ACTOR)

    async def retry(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> str | None:
        """A failed workflow goes on from the step that failed; answers that step."""
        async with (await self._app.open()).tx() as tx:
            return await steering.retry(tx, id, org=org, actor=_ACTOR)

    async def skip(self, id: uuid.UUID, step: str, result: Any = None, *, org: uuid.UUID = ids.DEFAULT_ORG) -> None:
        """A step that failed a workflow counts as done, with this result; the run goes on."""
        async with (await self._app.open()).tx() as tx:
            await steering.skip(tx, id, step, result, org=org, actor=_ACTOR)

    async def fork(
        self, id: uuid.UUID, *, step: str | None = None, arguments: dict[str, Any] | None = None,
        outputs: dict[str, Any] | None = None, org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> uuid.UUID:  # fmt: skip
        """A new run of a workflow with another's history up to a step, with other arguments or outputs."""
        async with (await self._app.open()).tx() as tx:
            return await steering.fork(tx, id, org=org, actor=_ACTOR, step=step, arguments=arguments, outputs=outputs)

    async def diff(self, left: uuid.UUID, right: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[Difference]:
        """The steps that two runs of workflows do not have alike."""
        async with (await self._app.open()).tx() as tx:
            return await steering.diff(tx, left, right, org=org)

    async def published(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Any:
        """What a workflow said of itself with `app.set_state`."""
        async with (await self._app.open()).once() as tx:
            return (await steering.published(tx, id, org=org)).state

    async def rerun(self, id: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[str]:
        """Runs what failed again, and what hangs on it; answers those nodes."""
        async with (await self._app.open()).tx() as tx:
            return await operate.rerun(tx, id, org=org, actor=_ACTOR)

    async def clear(self, id: uuid.UUID, nodes: Sequence[str], *, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[str]:
        """Runs these nodes again, and all after them."""
        async with (await self._app.open()).tx() as tx:
            return await operate.clear(tx, id, org=org, nodes=nodes, actor=_ACTOR)

    async def mark(
        self, id: uuid.UUID, node: str, state: Literal["completed", "failed"], *, output: Any = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> None:  # fmt: skip
        """Says how a node ended; the run goes on from there."""
        async with (await self._app.open()).tx() as tx:
            await operate.mark(tx, id, org=org, node=node, state=state, actor=_ACTOR, output=output)

    async def retry_step(self, id: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[Redone]:
        """What failed in a step, or inside of the block it opened, once more; answers those steps."""
        async with (await self._app.open()).tx() as tx:
            return await repair.retry(tx, id, step, org=org, actor=_ACTOR)

    async def rerun_from(self, id: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[Redone]:
        """A step, however it ended, and all that comes after it, once more."""
        async with (await self._app.open()).tx() as tx:
            return await repair.rerun(tx, id, step, org=org, actor=_ACTOR)

    async def reset(self, id: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[Redone]:
        """A block from its beginning; `step` is the one that opened it."""
        async with (await self._app.open()).tx() as tx:
            return await repair.reset(tx, id, step, org=org, actor=_ACTOR)

    async def repair(self, id: uuid.UUID, *, dry_run: bool = False, org: uuid.UUID = ids.DEFAULT_ORG) -> Sequence[Redone]:
        """All that failed in a run, once more; `dry_run` only says what that is. One that stands still is set going again,
        and steps whose task is nowhere are done again."""
        async with (await self._app.open()).tx() as tx:
            if (await look.run(tx, id, org=org)).kind == "workflow":
                if not dry_run:
                    await steering.repair(tx, id, org=org, actor=_ACTOR)
                return []
            if dry_run:
                return await repair.planned(tx, id, org=org)
            return await repair.repair(tx, id, org=org, actor=_ACTOR)

    async def mark_step(
        self, id: uuid.UUID, step: uuid.UUID, state: Literal["completed", "failed"], *, output: Any = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> None:  # fmt: skip
        """Says how a step ended, wherever it stands; the run goes on from there."""
        async with (await self._app.open()).tx() as tx:
            await repair.mark(tx, id, step, org=org, actor=_ACTOR, state=state, output=output)


def _read(given: "DeclaredDag | dict[str, Any] | str | Path") -> Dag:
    if isinstance(given, DeclaredDag):
        return given.dag
    if isinstance(given, dict):
        return read.from_value(given)
    return read.from_text(Path(given).read_text(encoding="utf-8"))
