"""Any plans whose ends of tasks, advances and tasks are lost on the way: what stands still is found, set going from what its
rows say, and comes to the same (tests/flows/test_any_plan.py); only what is nowhere has to be asked for.

`make chaos` tries 1,000 others (WEFT_REVIVED_PLANS).
"""

import datetime as dt
import os
import uuid
from typing import Any

import pytest
import test_any_plan
from test_any_plan import ORG, Trial

from weft.db.tx import Tx
from weft.flows import repair
from weft.flows.standstill import Standstill
from weft.queue import promote
from weft.queue.model import Claimed
from weft.settle import ends
from weft.settle.outcome import Outcome
from weft.settle.settle import settle

MANY = int(os.environ.get("WEFT_REVIVED_PLANS", "1000"))
PART = 10


class Forgetful(Trial):
    """As anything may happen to a worker, and most of what it does is not done as it should be."""

    async def _report(self, outcomes: list[Outcome]) -> list[Claimed]:
        way = self.dice.choice(["well", "no fact", "no advance"])
        if way == "well":
            return await super()._report(outcomes)
        runs = [one.task.run_id for one in outcomes]
        with pytest.MonkeyPatch.context() as patch:
            if way == "no advance":
                patch.setattr(ends, "go_on", _nothing)
            async with self.database.tx() as tx:
                await settle(tx, outcomes, advance=way == "no advance")
                await tx.run("delete from weft.run_inbox where run_id = any(%(runs)s::uuid[])", {"runs": runs})
        return []

    async def _claim(self) -> list[Claimed]:
        if self.dice.random() < 0.1:
            async with self.database.tx() as tx:
                queued = "select id from weft.tasks where state <> 'running' order by id limit 1"
                await tx.run(f"delete from weft.tasks where id in ({queued})")
                await promote.unblock(tx)  # its place in a pool
        while not (found := await super()._claim()) and await self._revived():
            pass
        return found

    async def _revived(self) -> bool:
        """What the chore does, and then somebody who is told of it."""
        chore = Standstill(patience=dt.timedelta(0))
        async with self.database.once() as tx:
            if not await chore.peek(tx):
                return False
        async with self.database.tx() as tx:
            assert await chore.once(tx)
            for (run,) in await tx.rows("select id from weft.runs where stalled_at is not null"):
                assert await self._mended(tx, run)
        return True

    async def _mended(self, tx: Tx, run: uuid.UUID) -> int:
        planned = await repair.planned(tx, run, org=ORG)
        assert await repair.repair(tx, run, org=ORG, actor="test") == planned
        return len(planned)


async def _nothing(*_: Any, **__: Any) -> None: ...


def test_any_plan_that_stands_still_is_set_going_and_ends_as_it_must(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_any_plan, "Trial", Forgetful)
    test_any_plan.tried(database_url, 25, fixed=True)


@pytest.mark.long
@pytest.mark.parametrize("part", range(MANY // PART))
def test_many_plans_that_stand_still_end_as_they_must(
    database_url: str, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(test_any_plan, "Trial", Forgetful)
    test_any_plan.tried(database_url, PART)
