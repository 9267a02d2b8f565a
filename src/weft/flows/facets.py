"""The kinds that plans ask for: what agents must handle, found by their last part too."""

import uuid
from collections.abc import Iterable
from typing import Any

from weft.db import statements
from weft.db.tx import Tx
from weft.plan import model
from weft.plan.model import Plan, Task

SQL = statements.load("weft.flows")


def kinds(plan: Plan) -> list[str]:
    """Of all tasks in a plan."""
    return sorted({node.work.kind for block in plan.blocks for node in block.nodes if isinstance(node.work, Task)})


def saved(plan: Plan, hash: str, *, org: uuid.UUID) -> dict[str, Any]:
    """A plan as `save_plan` takes it."""
    return {
        "org_id": org, "hash": hash, "plan": model.encode(plan).decode(), "kinds": kinds(plan),
        "nodes": sum(len(block.nodes) for block in plan.blocks),
    }  # fmt: skip


async def needed(tx: Tx, flow: uuid.UUID) -> list[tuple[str, int]]:
    """The kinds that the active version of a flow asks agents for, and how many live workers handle each."""
    return [(row[0], row[1]) for row in await tx.rows(SQL.kinds_needed, {"id": flow})]


async def named(tx: Tx, shorts: Iterable[str], *, org: uuid.UUID | None = None) -> set[str]:
    """Every kind that a plan (of an org) asks for and whose last part is one of these."""
    return {row[0] for row in await tx.rows(SQL.kinds_named, {"shorts": list(shorts), "org_id": org})}
