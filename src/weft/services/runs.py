"""`runner`, `step` and `log`: runs, what they are made of, and what was written down about them."""

import uuid as uuids
from collections.abc import Sequence

from weft.afl.records import LogDefinition, RunnerDefinition, StepDefinition
from weft.base import errors, json
from weft.db import statements
from weft.flows import look, operate, programs, repair
from weft.flows.model import OVER
from weft.flows.start import Wish
from weft.services.link import ACTOR, Link, id_of, illegal, must_be

SQL = statements.load("weft.services")

_STATES = {
    "running": ["running", "waiting", "blocked"], "failed": ["failed", "compensating", "compensated"], "unknown": [],
}  # fmt: skip
"""A runner's states that are several of ours; the others are the same."""


class Runners:
    """Runners are runs: to save a new one starts it, to change its state steers it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> RunnerDefinition | None:
        return self._link.one(SQL.runner, {"id": id_of(uuid)}, type=RunnerDefinition)

    def get_by_workflow(self, workflow_id: str) -> Sequence[RunnerDefinition]:
        """Newest first."""
        return self._link.read(SQL.runners_of, {"workflow": id_of(workflow_id)}, type=RunnerDefinition)

    def get_by_state(self, state: str) -> Sequence[RunnerDefinition]:
        """Newest first."""
        arguments = {"states": _STATES.get(state, [state])}
        return self._link.read(SQL.runners_in, arguments, type=RunnerDefinition)

    def save(self, runner: RunnerDefinition) -> None:
        """Starts a run, if there is none of this id, and sets the id; else takes over its state and how long it is kept."""
        self._link.run(self._save(runner))

    def update_state(self, uuid: str, state: str) -> None:
        """`paused` pauses, `running` resumes, `cancelled` cancels, `failed` ends it. Conflict for what cannot follow."""
        self._link.run(self._update(must_be(uuid, what="runner"), state))

    async def _save(self, runner: RunnerDefinition) -> None:
        id = id_of(runner.uuid)
        async with self._link.writing() as tx:
            known = id is not None and await tx.run(
                SQL.keep_run, {"id": id, "org_id": self._link.org, "retain": runner.retain}
            )
            if not known:
                flow = await programs.get(tx, runner.workflow.flow_id or runner.workflow.name, org=self._link.org)
                wanted = runner.workflow_id or runner.workflow.uuid or runner.workflow.name
                chosen = await programs.workflow(tx, flow, wanted)
                actor = runner.user.email if runner.user is not None else ACTOR
                wish = Wish(params={one.name: one.value for one in runner.parameters}, actor=actor)
                id = (await programs.start(tx, flow, chosen, wish)).id
                await tx.run(SQL.keep_run, {"id": id, "org_id": self._link.org, "retain": runner.retain})
                runner.uuid = str(id)
        assert id is not None
        if runner.state != "created":
            await self._update(id, runner.state)

    async def _update(self, id: uuids.UUID, state: str) -> None:
        async with self._link.writing() as tx:
            run = await look.run(tx, id, org=self._link.org, kind="flow")
            if run.state in _STATES.get(state, [state]):
                return
            if state == "paused":
                await operate.pause(tx, id, org=self._link.org, actor=ACTOR)
            elif state == "running" and run.state == "paused":
                await operate.resume(tx, id, org=self._link.org, actor=ACTOR)
            elif state == "cancelled" and run.state not in OVER:
                await operate.cancel(tx, id, org=self._link.org, actor=ACTOR)
            elif state == "failed" and run.state not in OVER:
                await operate.fail(tx, id, org=self._link.org, actor=ACTOR)
            else:
                raise illegal("runner", run.state, state)


class Steps:
    """Steps of runs. The engine makes them; people say how one ended, or have it done again."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> StepDefinition | None:
        return self._link.one(SQL.step, {"id": id_of(uuid)}, type=StepDefinition)

    def get_by_runner(self, runner_id: str) -> Sequence[StepDefinition]:
        return self._some(id_of(runner_id))

    def get_by_container(self, container_id: str) -> Sequence[StepDefinition]:
        """What stands in the block that a step has opened."""
        return self._some(self._link.run(self._run_of(id_of(container_id))), container=container_id)

    def get_by_state(self, runner_id: str, state: str) -> Sequence[StepDefinition]:
        return self._some(id_of(runner_id), state=state)

    def save(self, step: StepDefinition) -> None:
        """Takes over its state. Steps are made by running flows, not by saving them."""
        self.update_state(step.uuid, step.state)

    def update_state(self, uuid: str, state: str) -> None:
        """`completed` or `failed` says how it ended; `pending` has it done again, with all that hangs on it."""
        self._link.run(self._update(must_be(uuid, what="step"), state))

    def _some(
        self, run: uuids.UUID | None, *, state: str | None = None, container: str | None = None
    ) -> list[StepDefinition]:
        return self._link.read(SQL.steps, {"run": run, "state": state, "container": container}, type=StepDefinition)

    async def _run_of(self, step: uuids.UUID | None) -> uuids.UUID | None:
        async with self._link.writing() as tx:
            found: uuids.UUID | None = await tx.value(SQL.run_of_step, {"id": step, "org_id": self._link.org})
            return found

    async def _update(self, id: uuids.UUID, state: str) -> None:
        run = await self._run_of(id)
        if run is None:
            raise errors.NotFound(f"there is no step {id}")
        async with self._link.writing() as tx:
            if state == "pending":
                await repair.retry(tx, run, id, org=self._link.org, actor=ACTOR)
            elif state in ("completed", "failed"):
                await repair.mark(tx, run, id, org=self._link.org, actor=ACTOR, state=state)  # type: ignore[arg-type]
            else:
                raise errors.Conflict(f"a step cannot be made {state!r}; it can be completed, failed or pending")


class Logs:
    """What agents log, how steps ended, and what was saved here."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_runner(self, runner_id: str) -> Sequence[LogDefinition]:
        return self._link.read(SQL.logs, {"run": id_of(runner_id)}, type=LogDefinition)

    def save(self, log: LogDefinition) -> None:
        """Keeps an entry with a run, and sets its id and time."""
        self._link.run(self._save(log))

    async def _save(self, log: LogDefinition) -> None:
        run = must_be(log.runner_id, what="runner")
        async with self._link.writing() as tx:
            await look.run(tx, run, org=self._link.org)
            row = await tx.row(SQL.save_log, {
                "id": id_of(log.uuid), "org_id": self._link.org, "run_id": run, "step_id": id_of(log.step_id or ""),
                "object_id": log.object_id, "object_type": log.object_type, "note_originator": log.note_originator,
                "note_type": log.note_type, "note_importance": log.note_importance, "message": log.message,
                "state": log.state, "line": log.line, "file": log.file, "time": log.time or None,
                "details": json.text(log.details, what="details"),
            })  # fmt: skip
        if row is None:
            raise errors.Conflict(f"there is a log entry {log.uuid} of somebody else")
        log.uuid, log.time = row
