"""What tests of runs that stand still do in a word each: bring one about, look as the chore does, read what it wrote."""

import uuid
from typing import Any

from dag_tasks import task

import hands
from weft import App
from weft.base import ids
from weft.flows import standstill
from weft.flows.standstill import Standstill
from weft.settle.outcome import Outcome
from weft.settle.settle import settle

ORG = ids.DEFAULT_ORG
LONGER = standstill.PATIENCE * 2
ADD = {"a": 1, "b": 1}
ONE = {"name": "d", "tasks": [task("a", "add", ADD), task("b", "add", ADD, dependencies=["a"])]}
AFL = """namespace n { event facet Work(v: String) => (n: Int)
    workflow W(all: String) => (out: [Int]) andThen foreach v in $.all { w = Work(v = v) yield W(out = w.n) }
    workflow Plain(all: String) => (out: [String]) andThen foreach v in $.all { yield Plain(out = v ++ "!") } }"""


async def look(app: App) -> int:
    """What the chore does once; how many runs it saw to."""
    chore = Standstill()
    database = await app.open()
    async with database.once() as tx:
        if not await chore.peek(tx):
            return 0
    async with database.tx() as tx:
        return await chore.once(tx)


async def say(app: App, statement: str, **values: Any) -> int:
    async with app.tx() as tx:
        return await tx.run(statement, values)


async def told(app: App, run: uuid.UUID) -> list[str]:
    """What upkeep journaled of a run."""
    async with app.tx() as tx:
        rows = await tx.rows(
            "select action from weft.journal where object_id = %(run)s::text and actor = 'upkeep' order by at", {"run": run}
        )
    return [row[0] for row in rows]


async def noted(app: App, run: uuid.UUID) -> list[tuple[str, str]]:
    async with app.tx() as tx:
        rows = await tx.rows("select note_type, message from weft.run_logs where run_id = %(run)s order by at", {"run": run})
    return [(row[0], row[1]) for row in rows]


async def triggered(app: App) -> uuid.UUID:
    await app.dags.create(ONE)
    return (await app.dags.trigger("d")).id


async def is_told_something(app: App) -> uuid.UUID:
    """Whoever ended its task did not get its lock, and nobody has swept since."""
    run = await triggered(app)
    async with app.tx() as tx:
        await settle(tx, [Outcome(await hands.claim_one(tx, kinds=["add"]), "completed", result="2")], advance=False)
    return run


async def feeds_elements(app: App) -> uuid.UUID:
    await app.flows.save(source=AFL)
    return (await app.flows.start("n", "Plain", {"all": "abc" * 300})).id
