"""What people do to runs: cancel, pause, resume, run again from what failed, clear, mark. Changes are journaled.

Each locks the run first and waits for that: whoever calls holds nothing else. Tasks that must end are only asked to; the
chore that ends what was cancelled does the rest.
"""

import uuid
from collections.abc import Sequence
from typing import Any, Literal

from weft.base import errors, json, names
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import advance
from weft.flows.course import Course
from weft.flows.model import ENDED, OVER, Step
from weft.journal import record
from weft.plan import frontier, graph
from weft.plan.evaluate import Known
from weft.plan.rules import Ending, Tally
from weft.queue import orphans

SQL = statements.load("weft.flows")

_AGAIN: frozenset[str] = frozenset({"failed", "timed_out", "cancelled", "upstream_failed"})


async def cancel(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> bool:
    """Ends a run: nothing of it is started any more, and what runs is told. False: it was over already."""
    course = await advance.one(tx, run, org=org)
    if course.run.state in OVER:
        return False
    await _stop(tx, course, "cancelled", error={"type": "Cancelled", "message": f"cancelled by {actor}"})
    await journal(tx, course, actor=actor, action="run.cancel")
    return True


async def fail(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> bool:
    """Ends a run as failed, because somebody says so. False: it was over already."""
    course = await advance.one(tx, run, org=org)
    if course.run.state in OVER:
        return False
    await _stop(tx, course, "failed", error={"type": "Failed", "message": f"said to have failed by {actor}"})
    await journal(tx, course, actor=actor, action="run.fail")
    return True


async def time_out(tx: Tx, run: str, *, org: str) -> None:
    """Ends a run that took longer than it may."""
    course = await advance.one(tx, run, org=org)
    if course.run.state not in OVER:
        await _stop(tx, course, "failed", error={"type": "RunTimedOut", "message": "the run took longer than it may"})


async def pause(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None:
    """Nothing more of the run is started; what runs already may end."""
    course = await advance.one(tx, run, org=org)
    if course.run.state not in ("running", "waiting", "created"):
        raise errors.Conflict(f"the run is {course.run.state}; only one that has not ended can be paused")
    if course.run.state == "created":
        raise errors.Conflict("the run has not begun; cancel it instead")
    await tx.run(SQL.set_run_state, {"id": run, "state": "paused", "error": None})
    await tx.run(SQL.hold_tasks, {"run_id": run})
    await journal(tx, course, actor=actor, action="run.pause")


async def hold(tx: Tx, tasks: Sequence[str]) -> None:
    """To try again is to start: tasks that went back into the queue wait for their runs, where those are paused."""
    await tx.run(SQL.hold_returned, {"ids": list(tasks)})


async def resume(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None:
    """It goes on, with what it was told meanwhile."""
    course = await advance.one(tx, run, org=org)
    if course.run.state != "paused":
        raise errors.Conflict(f"the run is {course.run.state}, not paused")
    await tx.run(SQL.set_run_state, {"id": run, "state": "running", "error": None})
    queues = {row[0] for row in await tx.rows(SQL.free_tasks, {"run_id": run})}
    if queues:
        await orphans.wake(tx, queues=sorted(queues))
    await journal(tx, course, actor=actor, action="run.resume")
    await advance.advance(tx, [str(run)])


async def rerun(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> list[str]:
    """Runs what failed again, and all that hangs on it; answers those nodes."""
    course, steps = await _entry(tx, run, org=org)
    wanted = [name for name, step in steps.items() if step.state in _AGAIN]
    if not wanted:
        raise errors.Conflict("nothing in this run failed; name the tasks to run again with clear")
    return await _again(tx, course, steps, wanted, actor=actor, action="run.rerun")


async def clear(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, nodes: Sequence[str], actor: str) -> list[str]:
    """Runs these nodes again, however they ended, and all that comes after them; answers all of them."""
    course, steps = await _entry(tx, run, org=org)
    _must_be_there(nodes, steps)
    return await _again(tx, course, steps, nodes, actor=actor, action="run.clear")


async def mark(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, node: str, state: Literal["completed", "failed"], actor: str,
    output: Any = None,
) -> None:  # fmt: skip
    """Says how a node ended, whatever became of it, and lets the run go on from there."""
    course = await advance.one(tx, run, org=org)
    steps = await _steps(tx, course)
    _must_be_there([node], steps)
    step = steps[node]
    known = Known(state, output, None if state == "completed" else {"type": "Marked", "message": f"marked by {actor}"})
    await journal(tx, course, actor=actor, action="run.mark", after={"node": node, "state": state})
    if course.run.state in OVER or step.state in ENDED:
        if course.run.state not in OVER:
            raise errors.Conflict(f"{node!r} has ended ({step.state}); wait until the run has, or cancel it")
        await _mark_ended(tx, course, steps, step, known)
        return
    if step.task_id is not None or step.parts:
        await tx.run(SQL.cancel_tasks, {"run_id": run, "nodes": [node]})
        await tx.run(SQL.drop_inside, {"run_id": run, "ids": [step.id]})
    step.task_id = None
    course.say(step, known)
    await go(tx, course)


async def _mark_ended(tx: Tx, course: Course, steps: dict[str, Step], step: Step, known: Known) -> None:
    edges = course.compiled.edges[course.compiled.plan.entry]
    await _reset(tx, course, {step.node: (known.state, step)}, {})
    step.state, step.output, step.error = known.state, known.output, known.error  # type: ignore[assignment]
    step.whole, step.decided, step.task_id = True, True, None
    course.changed[step.id] = step
    after = [name for name in edges.downstream[step.node] if steps[name].state in ENDED]
    endings: dict[str, Ending] = {name: one.state for name, one in steps.items() if one.state in ENDED}  # type: ignore[misc]
    if after:
        await restart(tx, course, steps, frontier.again(edges, endings, frozenset(after)))
    recount(course, steps)
    await go(tx, course)


async def _again(
    tx: Tx, course: Course, steps: dict[str, Step], wanted: Sequence[str], *, actor: str, action: str
) -> list[str]:
    edges = course.compiled.edges[course.compiled.plan.entry]
    endings: dict[str, Ending] = {name: step.state for name, step in steps.items() if step.state in ENDED}  # type: ignore[misc]
    following = frontier.again(edges, endings, frozenset(wanted))
    cleared = sorted(graph.below(edges, wanted))
    await restart(tx, course, steps, following)
    await journal(tx, course, actor=actor, action=action, after={"nodes": cleared[:100], "count": len(cleared)})
    recount(course, steps)
    await go(tx, course)
    return cleared


async def restart(tx: Tx, course: Course, steps: dict[str, Step], following: frontier.Advance) -> None:
    """Steps as if they had never begun; those that are ready begin."""
    await _reset(tx, course, {name: (following.ended.get(name, "pending"), steps[name]) for name in following.tallies}, {
        name: tally for name, tally in following.tallies.items()
    })  # fmt: skip
    for name in following.ready:
        course.begin(steps[name])


async def _reset(
    tx: Tx, course: Course, states: dict[str, tuple[str, Step]], tallies: dict[str, Tally]
) -> None:
    for name, (state, step) in states.items():
        fresh = Step(step.id, step.frame, step.node, depth=step.depth, state=state)  # type: ignore[arg-type]
        fresh.tally = tallies.get(name, step.tally)
        for field in fresh.__struct_fields__:
            if field != "reruns":
                setattr(step, field, getattr(fresh, field))
    affected = [step for _, step in states.values()]
    await tx.run(SQL.drop_inside, {"run_id": course.run.id, "ids": [step.id for step in affected]})
    await tx.run(SQL.reset_steps, {
        "ids": [step.id for step in affected], "states": [step.state for step in affected],
        "succeeded": [step.succeeded for step in affected], "failed": [step.failed for step in affected],
        "skipped": [step.skipped for step in affected], "decided": [step.decided for step in affected],
    })  # fmt: skip


def recount(course: Course, steps: dict[str, Step]) -> None:
    """The run's counters as they must be now."""
    course.run.error = None
    course.recount(course.run.id, steps)


async def go(tx: Tx, course: Course) -> None:
    if course.run.state in OVER:
        course.run.state = "running"
        course.run.output = None
        await tx.run(SQL.reopen_run, {"id": course.run.id})
    course.close_if_over()
    await advance.carry_out(tx, [course])
    if course.run.state == "paused":
        await tx.run(SQL.hold_tasks, {"run_id": course.run.id})


async def _entry(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> tuple[Course, dict[str, Step]]:
    course = await advance.one(tx, run, org=org)
    if course.run.state not in OVER:
        raise errors.Conflict(f"the run is {course.run.state}; wait until it has ended, or cancel it")
    return course, await _steps(tx, course)


async def _steps(tx: Tx, course: Course) -> dict[str, Step]:
    found = {}
    for row in await tx.rows(SQL.entry_steps, {"run_id": course.run.id}):
        step = Step(*row)
        course.know(step)
        found[step.node] = step
    if len(found) < course.run.parts or not found:
        raise errors.Conflict("the run has not begun, so it has no tasks yet")
    return found


def _must_be_there(nodes: Sequence[str], steps: dict[str, Step]) -> None:
    for node in nodes:
        if node not in steps:
            raise errors.NotFound(f"the run has no task {node[:255]!r}{names.closest(node, steps)}")


async def _stop(tx: Tx, course: Course, state: Literal["cancelled", "failed"], *, error: dict[str, Any]) -> None:
    await tx.run(SQL.cancel_tasks, {"run_id": course.run.id, "nodes": None})
    await tx.run(SQL.cancel_steps, {"run_id": course.run.id})
    text = json.text(error, what="error")
    await tx.run(SQL.set_run_state, {"id": course.run.id, "state": state, "error": text})


async def journal(tx: Tx, course: Course, *, actor: str, action: str, after: dict[str, Any] | None = None) -> None:
    await record.record(
        tx, org_id=uuid.UUID(course.run.org), actor=actor, action=action, object_type="run", object_id=course.run.id,
        after=after or {},
    )  # fmt: skip


