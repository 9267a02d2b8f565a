"""History: months as partitions found by the id, retention by dropping them, an org's own by deleting."""

import datetime as dt
import uuid

import hands
from hands import ORG
from weft.base import ids
from weft.db.tx import Tx
from weft.queue import lease, prune, tasks
from weft.queue.lease import Line


async def partition_of(tx: Tx, id: str, table: str = "task_history", column: str = "id") -> str:
    found = await tx.rows(f"select tableoid::regclass::text from weft.{table} where {column} = %(id)s", {"id": id})
    return str(found[0][0])


async def finished(
    tx: Tx, *, made: dt.datetime | None = None, org: uuid.UUID = ORG, ended: dt.datetime | None = None
) -> str:
    """A finished task with a line of log, made at some time."""
    id = await hands.put(tx, org=org)
    if made is not None:
        old = str(ids.floor(made))[:14] + id[14:]
        await tx.run("update weft.tasks set id = %(old)s, created_at = %(made)s where id = %(id)s",
                     {"old": old, "id": id, "made": made})  # fmt: skip
        id = old
    held = [task for task in await hands.claim_plain(tx) if task.id == id]
    await lease.write_logs(tx, [Line(id, held[0].token, dt.datetime.now(dt.UTC), "info", "a line", None)])
    await hands.end(tx, held)
    if ended is not None:
        await as_owner(tx, f"update weft.task_history set finished_at = '{ended.isoformat()}' where id = '{id}'")
    return id


async def as_owner(tx: Tx, statement: str) -> None:
    await tx.run("set role none")
    await tx.run(statement)
    await tx.run("set role weft_engine")


async def make_month(tx: Tx, first: dt.datetime) -> None:
    """A month of the past, as it was made when it was the present."""
    following = (first + dt.timedelta(days=32)).replace(day=1)
    for parent in ("task_history", "task_logs"):
        await as_owner(
            tx,
            f"create table weft.{parent}_{first:%Y_%m} partition of weft.{parent} "
            f"for values from ('{ids.floor(first)}') to ('{ids.floor(following)}')",
        )


JANUARY = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


async def test_this_month_and_the_next_ones_are_made_ahead_once(tx: Tx) -> None:
    assert await prune.partitions(tx) == 0
    names = {name for (name,) in await tx.rows(
        "select inhrelid::regclass::text from pg_inherits where inhparent = 'weft.task_history'::regclass")}  # fmt: skip
    first = await tx.value("select date_trunc('month', weft.now(), 'UTC')")
    months = [first, (first + dt.timedelta(days=32)).replace(day=1), (first + dt.timedelta(days=63)).replace(day=1)]
    assert names == {"weft.task_history_default", *(f"weft.task_history_{month:%Y_%m}" for month in months)}


async def test_a_finished_task_and_its_log_lie_in_the_month_of_its_id(tx: Tx) -> None:
    now = await tx.value("select weft.now()")
    id = await finished(tx)
    assert await partition_of(tx, id) == f"weft.task_history_{now:%Y_%m}"
    assert await partition_of(tx, id, "task_logs", "task_id") == f"weft.task_logs_{now:%Y_%m}"


async def test_a_month_begins_and_ends_where_its_ids_do(tx: Tx) -> None:
    for at in (JANUARY, dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC), dt.datetime(1999, 12, 31, 23, tzinfo=dt.UTC)):
        low = await tx.value("select weft.uuid7_floor(%(at)s)", {"at": at})
        assert low == ids.floor(at)
        assert await tx.value("select weft.uuid7_time(%(id)s)", {"id": low}) == at == ids.made_at(low)


async def test_a_look_up_by_id_reads_one_partition(tx: Tx) -> None:
    id = await finished(tx)
    plan = "\n".join(row[0] for row in await tx.rows(
        f"explain (analyze, costs off, timing off, summary off) select from weft.task_history "
        f"where id = '{id}' and org_id = '{ORG}'"
    ))  # fmt: skip
    assert plan.count("Scan") == 1


async def test_a_task_of_a_month_nobody_made_is_kept_all_the_same(tx: Tx) -> None:
    id = await finished(tx, made=JANUARY)
    assert await partition_of(tx, id) == "weft.task_history_default"
    assert (await hands.look(tx, id)).state == "completed"


async def test_a_month_that_was_made_late_takes_what_is_its_own(tx: Tx) -> None:
    now = await tx.value("select weft.now()")
    for parent in ("task_history", "task_logs"):
        await as_owner(tx, f"drop table weft.{parent}_{now:%Y_%m}")
    strays = [await finished(tx), await finished(tx), await finished(tx, made=JANUARY)]
    assert await partition_of(tx, strays[0]) == "weft.task_history_default"
    assert await prune.partitions(tx) == 2
    this_month = f"weft.task_history_{now:%Y_%m}"
    assert [await partition_of(tx, id) for id in strays] == [this_month, this_month, "weft.task_history_default"]
    assert await partition_of(tx, strays[0], "task_logs", "task_id") == f"weft.task_logs_{now:%Y_%m}"
    assert [line.message for line in await tasks.logs(tx, id=uuid.UUID(strays[1]), org=ORG)] == ["a line"]
    assert await prune.partitions(tx) == 0


async def test_retention_drops_whole_months_that_hold_nothing_younger(tx: Tx) -> None:
    february = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
    await make_month(tx, JANUARY)
    await make_month(tx, february)
    old = await finished(tx, made=JANUARY + dt.timedelta(days=3))
    young = await finished(tx)
    now = await tx.value("select weft.now()")
    # one second short of February's end: January goes, February stays
    older = now - dt.datetime(2026, 2, 28, 23, 59, 59, tzinfo=dt.UTC)
    assert await prune.history(tx, older=older) == ["task_history_2026_01", "task_logs_2026_01"]
    assert await hands.count(tx, "task_history") == 1 and (await hands.look(tx, young)).state == "completed"
    assert await tasks.logs(tx, id=uuid.UUID(old), org=ORG) == []
    assert await prune.history(tx, older=older - dt.timedelta(seconds=2)) == ["task_history_2026_02", "task_logs_2026_02"]
    assert await prune.history(tx, older=older - dt.timedelta(seconds=2)) == []


async def test_an_orgs_own_retention_deletes_its_old_and_only_those(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    long_ago = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    old = await finished(tx, made=long_ago, ended=long_ago)
    ended_lately = await finished(tx, made=long_ago + dt.timedelta(seconds=1))
    young = await finished(tx)
    theirs = await finished(tx, made=long_ago + dt.timedelta(seconds=2), ended=long_ago, org=other)
    month = dt.timedelta(days=30)
    assert await prune.org(tx, org_id=ORG, older=month) == 1
    left = {str(id) for (id,) in await tx.rows("select id from weft.task_history")}
    assert left == {ended_lately, young, theirs}
    assert await tx.rows("select from weft.task_logs where task_id = %(id)s", {"id": old}) == []
    assert len(await tx.rows("select from weft.task_logs")) == 3
    assert await prune.org(tx, org_id=ORG, older=month) == 0
