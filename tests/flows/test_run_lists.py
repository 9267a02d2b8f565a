"""Lists of runs go along an index and stop, however many runs there are.

WEFT_RUNS=1000000 fills the table so far and prints how long pages take.
"""

import os
import time
from typing import Any

import pytest

from weft.access import orgs
from weft.base import ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import search
from weft.flows.search import Filter

RUNS = int(os.environ.get("WEFT_RUNS", "20000"))

WANTED = {
    "everything": (Filter(), "runs_listed"),
    "a name": (Filter(name="w7"), "runs_by_name"),
    "a rare name": (Filter(name="rare"), "runs_by_name"),
    "a state": (Filter(states=("failed",)), "runs_by_state"),
    "states and a kind": (Filter(states=("failed", "running"), kind="dag"), "runs_by_state"),
    "a tag that nobody has": (Filter(tag="nobody"), "runs_listed"),
    "the beginning of a name": (Filter(prefix="w"), "runs_listed"),
}
_STATEMENTS = {"runs_listed": "find_runs", "runs_by_name": "find_runs_named", "runs_by_state": "find_runs_in_states"}


async def _fill(tx: Tx) -> None:
    """So many runs of one org, and as many of another between them. If all were one org's, its index and the one over all
    ids would cost the same, and the server might go along either."""
    other = await orgs.create(tx, name="other", slug="other", actor="test")
    await tx.run(
        "insert into weft.runs (id, org_id, kind, name, state, created_at) "
        "select weft.uuid7_floor(weft.now() - make_interval(secs => %(runs)s - n + place / 2.0)), org, 'workflow', "
        "case when n = 5 then 'rare' else 'w' || n %% 50 end, case when n %% 100 = 0 then 'failed' else 'completed' end, "
        "weft.now() from generate_series(1, %(runs)s) as n, unnest(%(orgs)s::uuid[]) with ordinality as o (org, place)",
        {"runs": RUNS, "orgs": [ids.DEFAULT_ORG, other.id]},
    )


@pytest.mark.parametrize("analyzed", [True, False])
async def test_every_list_has_an_index_to_go_along(database: Database, analyzed: bool) -> None:
    async with database.tx() as tx:
        await _fill(tx)
    if analyzed:
        async with database.once() as tx:
            await tx.run("analyze weft.runs")
    for what, (filter, index) in WANTED.items():
        async with database.tx(org=ids.DEFAULT_ORG) as tx:
            plan = await _plan(tx, filter, _STATEMENTS[index])
            assert index in plan and "Seq Scan on runs" not in plan and "Bitmap" not in plan, f"{what}: {plan}"
            began = time.monotonic()
            page = await search.page(tx, org=ids.DEFAULT_ORG, filter=filter)
            print(f"{RUNS:,} runs, {what}: {len(page.runs)} in {(time.monotonic() - began) * 1000:.0f} ms")
        if filter == Filter(name="rare"):
            assert len(page.runs) == 1


async def _plan(tx: Tx, filter: Filter, name: str) -> str:
    await tx.row(search.SQL.go_along_indexes)
    arguments: dict[str, Any] = {
        "org_id": ids.DEFAULT_ORG, "kind": filter.kind, "name": filter.name, "prefix": filter.prefix, "tag": filter.tag,
        "states": list(filter.states) or None, "before": ids.NEWEST, "after": ids.EVERY_ORG, "walk": search.WALK, "take": 51,
    }  # fmt: skip
    return "\n".join(str(row[0]) for row in await tx.rows(f"explain {getattr(search.SQL, name)}", arguments))
