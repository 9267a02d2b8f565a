"""`app.flows`: AFL programs from Python.

    await app.flows.save("geocoding.afl")
    run = await app.flows.start("geocoding", "geo.Locate", {"address": "Ulm"})
    await app.runs.result(run.id)
"""

import asyncio
import dataclasses
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.afl.source import Source
from weft.base import errors, ids
from weft.flows import programs, start
from weft.flows.definitions import Definition
from weft.flows.programs import Program, SavedFlow, Workflow
from weft.flows.start import Started, Wish
from weft.parts import afl_files
from weft.parts.dags import Opens
from weft.parts.eager import Beginning

_ACTOR = "app"


class Flows:
    """Programs are saved under a name, in versions; their workflows are started."""

    def __init__(self, app: Opens, beginning: Beginning) -> None:
        self._app, self._beginning = app, beginning

    async def save(
        self, *files: str | Path, source: str | None = None, name: str | None = None,
        libraries: Sequence[str | Path] = (), search: Sequence[str | Path] = (), allow_external: bool = False,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> SavedFlow:  # fmt: skip
        """Compiles and saves a program: its files (or folders), or its text as `source`. Other content: a new version.

        Unless `name` says otherwise a flow is called like its file, or like the first workflow's namespace. InvalidFlow
        lists what is wrong. What the files use is looked for beside them, in `libraries` and below `search`.
        """
        if bool(files) == (source is not None):
            raise errors.InvalidInput("give a program as files or as source=, one of them")

        def compiled() -> Program:
            if source is not None:
                return programs.compile_flow([Source("source", source)], name=name, allow_external=allow_external)
            paths = [Path(one) for one in files]
            found = afl_files.program(paths, [Path(one) for one in libraries], [Path(one) for one in search])
            said = name or (paths[0].stem if len(paths) == 1 else None)
            return programs.compile_flow(found, name=said, path=str(paths[0]), allow_external=allow_external)

        return await self.keep(await asyncio.to_thread(compiled), org=org)

    async def keep(self, program: Program, *, org: uuid.UUID = ids.DEFAULT_ORG) -> SavedFlow:
        """Saves what is compiled already."""
        async with (await self._app.open()).tx() as tx:
            return await programs.save(tx, program, org=org)

    async def get(self, flow: str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Definition:
        """By id or name."""
        async with (await self._app.open()).once() as tx:
            return await programs.get(tx, flow, org=org)

    async def workflows(self, flow: str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> list[Workflow]:
        async with (await self._app.open()).tx() as tx:
            return await programs.workflows(tx, await programs.get(tx, flow, org=org))

    async def start(
        self, flow: str, workflow: str | None = None, params: dict[str, Any] | None = None, *, key: str | None = None,
        tx: Any = None, task_list: str | None = None, config: dict[str, Any] | None = None, tags: Sequence[str] = (),
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Started:  # fmt: skip
        """Starts a run of a workflow, by qualified or short name; it may be left out if the flow has only one.

        `task_list` is the queue that its work goes to. A `key` that a run of this workflow has had starts nothing, and
        answers that run. `tx=` a psycopg or SQLAlchemy connection makes it part of your own transaction; there, the
        workflow's name must be the qualified one.
        """
        told = {**(config or {}), **({} if task_list is None else {"queue": task_list})}
        wish = Wish(params=params or {}, config=told, key=key, tags=tags, actor=_ACTOR)
        if tx is not None:
            return await start.start_on(tx, name=workflow or flow, what="flow", wish=wish, org=org)
        async with self._beginning() as (own, hands):
            return await programs.start_named(own, flow, workflow, dataclasses.replace(wish, hands=hands), org=org)
