"""Why does a run not go on? The facts are read here; the words about a task are the queue's own."""

import uuid

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import look
from weft.queue import explain
from weft.queue.explain import Explanation

SQL = statements.load("weft.flows")

_MOST = 5
"""Tasks that are looked at."""


async def why(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> Explanation:
    """The first reason is the one to look at first; NotFound."""
    row = await tx.row(SQL.explain_run, {"id": run, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no run {run}")
    state, kind, most, active, facts, led = row
    match state:
        case "completed" | "failed" | "cancelled" | "compensated":
            return _one("finished", f"it has ended: {state}")
        case "paused":
            word = {"workflow": "run", "flow": "runner"}.get(kind, "dag")
            return _one("paused", f"it is paused; resume it: weft {word} resume")
        case "blocked":
            return _one("blocked", "its code does not fit its history, as its error says; deploy what does, and resume it")
        case "created" if most is not None and active >= most:
            return _one("max_active_runs", f"{active} of {most} runs of its definition are active; it waits for one to end")
        case "created":
            if not led:
                return _one("no_leader", "it waits to be let in, but nobody leads; start a server or a worker")
            return _one("created", "it waits to be let in, which takes about a second")
    if await look.stands_still(tx, run, org=org):
        text = "it stands still: nothing is running and nothing is awaited"
        return _one("stuck", f"{text}; set it going again: weft run repair {run}")
    if kind == "workflow":
        return await _workflow(tx, run, org=org, undoing=state == "compensating")
    reasons = await _tasks(tx, run, org=org)
    if facts:
        reasons.append(("told", f"{facts} of its tasks have ended and it is about to go on"))
    if not reasons:
        reasons.append(("advancing", "none of its tasks is open; it is about to go on, or its leader sweeps it soon"))
    return Explanation(reasons[0][0], reasons[0][1], [text for _, text in reasons])


async def _workflow(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, undoing: bool) -> Explanation:
    """Its one task sleeps while it waits; else the queue knows."""
    state, until = await tx.row(SQL.wake_up_of, {"id": run}) or (None, None)
    if state is None:
        return _one("advancing", "it is about to end")
    if state == "scheduled" and until is None:
        return _one("waiting", "its code waits for a signal, or for a child to end")
    if state == "scheduled" and undoing:
        return _one("waiting", f"a compensation of it failed and is tried again at {until.isoformat()}")
    if state == "scheduled":
        return _one("waiting", f"its code sleeps until {until.isoformat()}, or until a signal that it waits for comes")
    try:
        return await explain.explain(tx, id=run, org=org)
    except errors.NotFound:
        return _one("advancing", "it is about to end")  # its task has ended since it was looked at


async def _tasks(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for node, element, task, awaited in await tx.rows(SQL.open_steps, {"run_id": run, "take": _MOST}):
        name = node if element < 0 else f"{node}[{element}]"
        if awaited is not None:
            found.append(("awaiting", f"{name}: it waits for run {awaited} to end"))
            continue
        try:
            about = await explain.explain(tx, id=task, org=org)
        except errors.NotFound:
            continue  # it has just ended
        found.append((about.code, f"{name}: {about.summary}"))
    # what is stuck first
    return sorted(found, key=lambda one: one[0] in ("running", "in_line"))


def _one(code: str, text: str) -> Explanation:
    return Explanation(code, text, [text])
