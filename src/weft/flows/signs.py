"""Signs: small values that are different when a list of runs, or the steps of a run, may look different."""

import dataclasses
import uuid
from typing import Any

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.flows")

_NEWEST = 200
_ACTIVE = 1000
_STEPS = 20_000
_TASKS = 200


@dataclasses.dataclass(frozen=True)
class Steps:
    """How many steps are in which state, of the first 20,000; and what else changes when one does."""

    counts: dict[str, int]
    rest: list[Any]
    tasks: list[uuid.UUID]
    """Some that are in the queue for it: what they do is not told of the run."""


async def of_steps(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> Steps:
    rows = await tx.rows(SQL.sign_of_steps, {"run_id": run, "org_id": org, "most": _STEPS, "tasks": _TASKS})
    tasks = [id for row in rows for id in row[-1] or ()]
    return Steps({row[0]: row[1] for row in rows}, [[str(value) for value in row[2:-1]] for row in rows], tasks)


async def of_runs(tx: Tx, *, org: uuid.UUID) -> list[str]:
    """Of the newest runs and of how many are active, whichever they are."""
    row = await tx.row(SQL.sign_of_runs, {"org_id": org, "newest": _NEWEST, "active": _ACTIVE})
    assert row is not None  # it only counts
    return [str(value) for value in row]


async def of_definitions(tx: Tx, *, org: uuid.UUID) -> list[str]:
    row = await tx.row(SQL.sign_of_definitions, {"org_id": org})
    assert row is not None  # it only counts
    return [str(value) for value in row]
