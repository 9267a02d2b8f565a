"""Lists of tasks: filters say what they find, pages show every task once however it moves, orgs see their own."""

import asyncio
import datetime as dt
import random
import uuid
from collections.abc import AsyncIterator
from typing import Any

import hypothesis
import pytest
import traits
from hypothesis import strategies as st
from traits import Made

import hands
from hands import ORG
from weft.base import config, errors, ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import search
from weft.queue.search import ENDED, WAITING, Filter, Found

ONE, TWO = uuid.UUID(int=1), uuid.UUID(int=2)

related = st.sampled_from([None, None, None, ONE, TWO])
states = st.one_of(
    st.just(()),
    st.just(("queued",)),
    st.just(("completed",)),
    st.just(("dead",)),
    st.lists(st.sampled_from(["queued", *WAITING, "running", *ENDED]), min_size=1, max_size=4).map(tuple),
)
narrowed = st.one_of(
    st.just(Filter()),
    st.builds(Filter, queue=st.sampled_from(["x", "y"])),
    st.builds(Filter, kind=st.just("a")),
    st.builds(
        Filter, kind=st.sampled_from([None, "a"]), queue=st.sampled_from([None, "x", "none"]),
        tag=st.sampled_from([None, "s"]), correlation_id=st.sampled_from([None, "c"]), run_id=related, job_id=related,
        parent_id=related,
    ),
)  # fmt: skip
sizes = st.tuples(st.integers(1, 4), st.integers(1, 8))

database_tests = hypothesis.settings(
    max_examples=40, deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)


def matches(task: Made, filter: Filter) -> bool:
    """The filter's meaning, said once more."""
    allowed = search.stored(filter.states) if filter.states != ("dead",) else {"failed", "timed_out"}
    return (
        task.state in allowed
        and (filter.states != ("dead",) or task.dead)
        and filter.kind in (None, task.kind)
        and filter.queue in (None, task.queue)
        and (filter.tag is None or filter.tag in task.tags)
        and filter.correlation_id in (None, task.correlation_id)
        and filter.run_id in (None, task.run_id)
        and filter.job_id in (None, task.job_id)
        and filter.parent_id in (None, task.parent_id)
        and filter.error_type in (None, task.error_type)
    )


async def walk(tx: Tx, org: uuid.UUID, filter: Filter, *, limit: int, walk: int) -> AsyncIterator[search.Page]:
    """Every page, each going on where the one before ended."""
    before = None
    while True:
        page = await search.page(tx, org=org, filter=filter, before=before, limit=limit, walk=walk)
        yield page
        if page.before is None:
            return
        assert before is None or page.before < before
        before = page.before


async def listed(tx: Tx, org: uuid.UUID, filter: Filter, *, limit: int = 50, walked: int = search.WALK) -> list[uuid.UUID]:
    pages = [page async for page in walk(tx, org, filter, limit=limit, walk=walked)]
    assert all(len(page.tasks) <= limit for page in pages)
    return [task.id for page in pages for task in page.tasks]


async def fresh_org(tx: Tx) -> uuid.UUID:
    return await hands.new_org(tx, f"o-{uuid.uuid4().hex[:12]}")


def in_database(url: str, story: Any) -> None:
    async def run() -> None:
        database = Database(config.Settings(database_url=url))
        await database.open()
        try:
            await story(database)
        finally:
            await database.close()

    asyncio.run(run())


@database_tests
@hypothesis.given(st.integers(), states, narrowed, st.sampled_from([None, "OSError"]), sizes)
def test_a_filter_finds_exactly_what_it_says_newest_first(
    database_url: str, seed: int, asked: tuple[Any, ...], narrowed: Filter, error_type: str | None, sizes: tuple[int, int]
) -> None:
    filter = Filter(**{
        **vars(narrowed), "states": tuple(dict.fromkeys(asked)), "error_type": error_type if asked == ("dead",) else None
    })  # fmt: skip

    async def story(database: Database) -> None:
        dice = random.Random(seed)
        async with database.tx() as tx:
            mine, theirs = await fresh_org(tx), await fresh_org(tx)
            made = [await traits.make(tx, mine, dice) for _ in range(40)]
            for _ in range(5):
                await traits.make(tx, theirs, dice)
        expected = sorted((task.id for task in made if matches(task, filter)), reverse=True)
        async with database.tx(org=mine) as tx:
            assert await listed(tx, mine, filter, limit=sizes[0], walked=sizes[1]) == expected

    in_database(database_url, story)


@database_tests
@hypothesis.given(st.integers(), narrowed, sizes)
def test_every_task_is_shown_once_whatever_happens_between_pages(
    database_url: str, seed: int, filter: Filter, sizes: tuple[int, int]
) -> None:
    limit, walked = sizes

    async def story(database: Database) -> None:
        dice = random.Random(seed)
        async with database.tx() as tx:
            org = await fresh_org(tx)
            made = [await traits.make(tx, org, dice) for _ in range(40)]
        there = {task.id for task in made if matches(task, filter)}
        seen: list[uuid.UUID] = []
        before = None
        while True:
            async with database.tx(org=org) as tx:
                page = await search.page(tx, org=org, filter=filter, before=before, limit=limit, walk=walked)
            seen += [task.id for task in page.tasks]
            before = page.before
            if before is None:
                break
            async with database.tx() as tx:
                for task in dice.sample(made, 6):
                    await traits.move(tx, org, task, dice)
                made.append(await traits.make(tx, org, dice))
        assert len(seen) == len(set(seen)) and seen == sorted(seen, reverse=True)
        assert there <= set(seen)
        assert all(matches(task, filter) for task in made if task.id in seen)

    in_database(database_url, story)


async def test_a_task_that_ends_between_two_pages_is_on_the_second(database: Database) -> None:
    async with database.tx() as tx:
        old, young = [await hands.put(tx), await hands.put(tx)]
        first = await search.page(tx, org=ORG, filter=Filter(), limit=1)
        assert [str(task.id) for task in first.tasks] == [young] and first.scanned_until is None
        await hands.end(tx, await hands.claim_plain(tx))
    async with database.tx() as tx:
        second = await search.page(tx, org=ORG, filter=Filter(), before=first.before, limit=1)
        assert [(str(task.id), task.state) for task in second.tasks] == [(old, "completed")]


async def test_a_task_that_moves_while_a_page_is_read_is_in_one_place(database: Database) -> None:
    async with database.tx() as tx:
        id = uuid.UUID(await hands.put(tx))
    async with database.tx(org=ORG) as reader:
        found = await search.find(reader, org=ORG, filter=Filter())
        async with database.tx() as writer:
            await hands.end(writer, await hands.claim_plain(writer))
        [task] = await search.summaries(reader, org=ORG, ids=found.ids)
    assert (task.id, task.state) == (id, "completed")


PLACES = {
    "waiting": ("ready", Filter(kind="rare")),
    "waiting in one queue": ("ready", Filter(kind="rare", queue="x")),
    "waiting and correlated": ("ready", Filter(kind="rare", correlation_id="c")),
    "completed": ("completed", Filter(kind="rare", states=("completed",))),
    "failed": ("failed", Filter(kind="rare", states=("failed",))),
    "ended and correlated": ("failed", Filter(kind="rare", correlation_id="c")),
    "dead": ("failed", Filter(kind="rare", states=("dead",))),
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_page_that_looked_far_enough_says_how_far_and_the_next_goes_on(tx: Tx, place: str) -> None:
    state, filter = PLACES[place]
    same = {"queue": "x", "tags": [], "correlation_id": "c", "run_id": None, "job_id": None, "parent_id": None}
    made = [
        await traits.put(tx, ORG, kind="rare" if n == 0 else "mail", state=state, reason="dead", **same) for n in range(31)
    ]
    page = await search.page(tx, org=ORG, filter=filter, limit=5, walk=10)
    assert page.tasks == [] and page.before == made[-10].id
    assert page.scanned_until == ids.made_at(made[-10].id)
    assert await listed(tx, ORG, filter, limit=5, walked=10) == [made[0].id]


async def test_what_ended_long_ago_is_found_by_its_correlation_id_at_once(tx: Tx) -> None:
    old = uuid.UUID(await hands.put(tx, correlation_id="c"))
    await hands.end(tx, await hands.claim_plain(tx))
    await hands.put_many(tx, 30)
    await hands.end(tx, await hands.claim_plain(tx, 20))
    page = await search.page(tx, org=ORG, filter=Filter(correlation_id="c"), limit=5, walk=6)
    assert [task.id for task in page.tasks] == [old] and page.before is None


async def test_what_did_not_succeed_is_found_among_what_did_at_once(tx: Tx) -> None:
    old = uuid.UUID(await hands.put(tx))
    await hands.end(tx, await hands.claim_plain(tx), "failed", retryable=False)
    await hands.put_many(tx, 30)
    await hands.end(tx, await hands.claim_plain(tx))
    page = await search.page(tx, org=ORG, filter=Filter(states=("failed", "cancelled")), limit=5, walk=6)
    assert [task.id for task in page.tasks] == [old] and page.before is None


async def test_times_are_those_of_the_ids_the_first_included_the_last_not(tx: Tx) -> None:
    made = []
    for minute in range(4):
        at = dt.datetime(2026, 3, 1, 12, minute, tzinfo=dt.UTC)
        id = uuid.UUID(str(ids.floor(at))[:24] + f"{minute:012}")
        made.append(id)
        await tx.run("insert into weft.tasks (id, org_id, kind, created_at) values (%(id)s, %(org)s, 'mail', %(at)s)",
                     {"id": id, "org": ORG, "at": at})  # fmt: skip
    held = await hands.claim_plain(tx)
    await hands.end(tx, held[:2])
    between = Filter(created_after=ids.made_at(made[1]), created_before=ids.made_at(made[3]))
    assert await listed(tx, ORG, between) == [made[2], made[1]]
    assert await listed(tx, ORG, Filter(created_before=ids.made_at(made[1]))) == [made[0]]
    assert await listed(tx, ORG, Filter(created_after=ids.made_at(made[3]) + dt.timedelta(milliseconds=1))) == []


async def test_a_tenant_cannot_list_another_org_even_if_the_filter_says_so(database: Database) -> None:
    async with database.tx() as tx:
        mine, theirs = await fresh_org(tx), await fresh_org(tx)
        dice = random.Random(7)
        for _ in range(30):
            await traits.make(tx, theirs, dice)
        everything = await listed(tx, theirs, Filter())
        dead = await listed(tx, theirs, Filter(states=("dead",)))
        assert len(everything) == 30 and dead
        assert await listed(tx, mine, Filter()) == []
    async with database.tx(org=mine) as tx:
        for filter in (Filter(), Filter(states=("dead",)), Filter(correlation_id="c"), Filter(states=("failed",))):
            assert await listed(tx, theirs, filter) == []
        assert await search.summaries(tx, org=theirs, ids=everything) == []


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        (Filter(states=("dead", "failed")), "ask for it alone"),
        (Filter(error_type="ValueError"), "state=dead"),
        (Filter(created_after=dt.datetime(2026, 1, 2, tzinfo=dt.UTC), created_before=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
         "earlier"),
        (Filter(created_after=dt.datetime(2026, 1, 2)), "zone"),
        (Filter(created_before=dt.datetime(3026, 1, 2, tzinfo=dt.UTC)), "2999"),
    ],
)  # fmt: skip
async def test_a_filter_that_makes_no_sense_is_refused_with_the_fix(tx: Tx, filter: Filter, said: str) -> None:
    with pytest.raises(errors.InvalidInput, match=said):
        await search.page(tx, org=ORG, filter=filter)


async def test_what_may_be_large_is_not_in_a_list(tx: Tx) -> None:
    await hands.put(tx, payload={"x": "y" * 1000}, max_attempts=1)
    error = '{"type": "ValueError", "message": "' + "m" * 1000 + '", "traceback": "' + "t" * 1000 + '"}'
    await hands.end(tx, await hands.claim_plain(tx), "failed", error=error)
    [task] = (await search.page(tx, org=ORG, filter=Filter())).tasks
    assert (task.error_type, task.error_message) == ("ValueError", "m" * 300)
    assert not {"payload", "result", "error"} & set(vars(task))


identifiers = st.lists(st.integers(1, 1000).map(lambda n: uuid.UUID(int=n)), unique=True).map(lambda all: sorted(all)[::-1])


@hypothesis.given(identifiers, st.one_of(st.none(), st.just(uuid.UUID(int=1))), st.integers(1, 8))
def test_a_page_ends_where_the_next_begins(found: list[uuid.UUID], edge: uuid.UUID | None, limit: int) -> None:
    page: Found = search.ended(found[: limit + 1], edge=edge, limit=limit)
    if len(found) > limit:
        assert (page.ids, page.before, page.scanned_until) == (found[:limit], found[limit - 1], None)
    else:
        assert (page.ids, page.before, page.cut) == (found, edge, edge is not None)
