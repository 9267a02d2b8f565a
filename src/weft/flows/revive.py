"""Setting a run of a plan going again that stands still: whatever its rows say is told to it once more (`afresh`).

The caller has seen, under the run's lock, that it stands still. To do it twice does nothing more.
"""

import uuid

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import advance
from weft.flows import compiled as plans
from weft.flows.advance import Mint
from weft.flows.afresh import Afresh, Open
from weft.flows.model import Held, Step

SQL = statements.load("weft.flows")

_STEP = len(Step.__struct_fields__) - 1
"""Columns of a step; when it was started is not read."""


async def look(tx: Tx, run: uuid.UUID | str, *, org: uuid.UUID | str) -> tuple[Afresh, list[Step]]:
    """The run with all that should have followed, not written yet, and the steps whose task is nowhere. Conflict, if its
    steps and its plan do not fit."""
    row = await tx.row(SQL.lock_run, {"id": str(run), "org_id": str(org)})
    assert row is not None
    held = Held(*row[:-2])
    try:
        course = Afresh(held, await plans.load(tx, org=held.org, hash=held.plan_hash), mint=Mint(*row[-2:]))
        return course, await _told(tx, course)
    except (LookupError, TypeError) as error:
        raise errors.Conflict(f"its steps and its plan do not fit ({type(error).__name__}: {error})") from error


async def plan(tx: Tx, run: uuid.UUID | str, *, org: uuid.UUID | str) -> None:
    """What should have followed. What became of a task that is nowhere is not guessed."""
    course, _ = await look(tx, run, org=org)
    await advance.carry_out(tx, [course])


async def _told(tx: Tx, course: Afresh) -> list[Step]:
    run = course.run.id
    rows = await tx.rows(SQL.open_ends, {"run_id": run})
    course.found(Open(Step(*row[:_STEP]), *row[_STEP:]) for row in rows)
    for frame in course.blocks():
        nodes = await tx.rows(SQL.frame_steps, {"run_id": run, "frame_id": frame})
        course.block(frame, {step.node: step for step in (course.known(Step(*row)) for row in nodes)})
    for whole in course.foreachs():
        whose = {"run_id": run, "frame_id": whole.frame, "node": whole.node, "but": []}
        counted = await tx.row(SQL.count_elements, whose)
        assert counted is not None
        course.elements(whole, *counted)
    return [one.step for one in course.open if course.step(one)]
