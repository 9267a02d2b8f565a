"""Steering queues: what can be said, by whom, and that it is counted no further than it should be."""

import dataclasses
import datetime as dt

import pytest

import hands
from hands import ORG
from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import counts, explain, queues, tasks
from weft.queue.counts import Count
from weft.queue.tasks import QueueSettings

SECOND = dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_running": -1}, "max_running"), ({"max_running": queues.MOST + 1}, "max_running"),
        ({"rate_limit": 1}, "together"), ({"rate_limit": 1, "rate_period": SECOND}, "together"),
        ({"rate_limit": 0, "rate_period": SECOND, "rate_burst": 1}, "limit must be"),
        ({"rate_limit": 1, "rate_period": SECOND, "rate_burst": 0}, "burst must be"),
        ({"rate_limit": 1, "rate_period": dt.timedelta(), "rate_burst": 1}, "period"),
        ({"rate_limit": 1, "rate_period": dt.timedelta(days=400), "rate_burst": 1}, "period"),
    ],
)  # fmt: skip
async def test_what_no_queue_can_keep_is_refused(tx: Tx, settings: dict[str, object], said: str) -> None:
    with pytest.raises(errors.InvalidInput, match=said):
        await queues.change(tx, org=ORG, name="mail", actor="ann", **settings)


async def test_the_outermost_settings_hold(tx: Tx) -> None:
    wide = {"max_running": queues.MOST, "rate_limit": queues.MOST, "rate_period": queues.LONGEST, "rate_burst": queues.MOST}
    assert await queues.change(tx, org=ORG, name="mail", actor="ann", **wide) == QueueSettings(**wide)  # type: ignore[arg-type]
    assert (await queues.change(tx, org=ORG, name="mail", actor="ann", max_running=0)).max_running == 0


async def test_a_change_that_changes_nothing_is_not_journaled(tx: Tx) -> None:
    for _ in range(2):
        await queues.change(tx, org=ORG, name="mail", actor="ann", paused=True)
    assert await tx.rows("select after ->> 'paused' from weft.journal") == [("true",)]


async def test_a_tenant_sees_but_cannot_change_what_holds_for_every_org(database: Database) -> None:
    async with database.tx() as tx:
        await tasks.set_queue(tx, org=ids.EVERY_ORG, queue="mail", settings=QueueSettings(paused=True), actor="op")
        id = await hands.put(tx, queue="mail")
    async with database.tx(org=ORG) as tx:
        assert (await queues.get(tx, org=ORG, name="mail")).paused
        task = await hands.look(tx, id)
        assert (await explain.explain(tx, id=task.id, org=ORG)).code == "paused"
        assert await tx.run("update weft.queues set paused = false where org_id = %(org)s", {"org": ids.EVERY_ORG}) == 0
        assert await tx.run("delete from weft.queues where org_id = %(org)s", {"org": ids.EVERY_ORG}) == 0
    with pytest.raises(errors.DatabaseError, match="row-level security"):
        async with database.tx(org=ORG) as tx:
            await queues.change(tx, org=ids.EVERY_ORG, name="other", actor="ann", paused=True)


async def test_counts_of_another_org_are_nothing_by_filter_and_by_row_level_security(database: Database) -> None:
    async with database.tx() as tx:
        theirs = await hands.new_org(tx, "theirs")
        await hands.put_many(tx, 3, org=theirs)
        await hands.end(tx, await hands.claim_plain(tx, 1))
        await hands.claim_plain(tx, 1)
        assert await counts.names(tx, org=ORG) == []
        assert (await counts.by_state(tx, org=theirs))["ready"] == Count(1)
    async with database.tx(org=ORG) as tx:
        assert await counts.names(tx, org=theirs) == []
        [seen] = await counts.queues(tx, org=theirs, names=["default"])
        zeros = [getattr(seen, one.name) for one in dataclasses.fields(seen) if one.type is Count]
        assert zeros and set(zeros) == {Count(0)}
        assert set((await counts.by_state(tx, org=theirs)).values()) == {Count(0)}
        assert await counts.running_by_node(tx, org=theirs) == {}


async def test_what_ended_lately_is_at_least_so_much_where_there_is_more(tx: Tx) -> None:
    await hands.put_many(tx, counts.RECENT)
    await hands.end(tx, await hands.claim_plain(tx, counts.RECENT))
    [seen] = await counts.queues(tx, org=ORG, names=["default"])
    assert seen.finished_last_minute == Count(counts.RECENT, at_least=True)
    assert seen.failed_last_hour == Count(0)


async def test_the_first_queue_in_line_of_many_is_counted_as_far_as_a_page_allows(tx: Tx) -> None:
    await hands.put_many(tx, 250)
    names = [f"q{n}" for n in range(99)] + ["default"]
    cap = counts.cap_of(100)
    assert (await counts.queues(tx, org=ORG, names=names))[-1].ready == Count(cap, at_least=True) and cap == 200
