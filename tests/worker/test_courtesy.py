"""What a worker does otherwise while somebody with little work comes by in a flood."""

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st
from waiting import until

from weft import App
from weft.worker.courtesy import Courtesy

FAR = time.monotonic() + 1_000_000


def courtesy(*, flood: bool = True, came: float = FAR) -> Courtesy:
    one = Courtesy()
    one.came(came)
    if flood:
        one.flood.set()
    return one


def test_it_takes_a_flood_and_somebody_who_came_lately() -> None:
    assert courtesy().due
    assert not courtesy(flood=False).due
    assert not courtesy(came=time.monotonic() - 60).due
    assert not Courtesy().due


def test_who_came_last_counts_whatever_is_heard_of_later() -> None:
    one = courtesy()
    one.came(0.0)
    assert one.due


@given(st.integers(0, 5000), st.integers(1, 5000))
def test_all_is_as_large_as_ever_without_and_smaller_but_never_nothing_with_it(most: int, runners: int) -> None:
    without, due = courtesy(flood=False), courtesy()
    assert (without.portion(most), without.turn(most), without.spare(runners)) == (most, most, 0)
    assert min(most, 1) <= due.portion(most) <= most and min(most, 1) <= due.turn(most) <= most
    # whoever floods keeps nearly all runners, and at least one
    assert 0 <= due.spare(runners) <= runners // 10


async def test_bulk_statements_are_sent_one_at_a_time_while_it_is_due_and_else_beside_each_other() -> None:
    for due, most in ((courtesy(), 1), (courtesy(flood=False), 2)):
        inside = highest = 0

        async def statement(due: Courtesy = due) -> None:
            nonlocal inside, highest
            async with due.bulk():
                inside += 1
                highest = max(highest, inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(statement(), statement())
        assert highest == most


@given(st.floats(0, 100))
def test_a_pause_follows_a_bulk_statement_while_it_is_due_and_no_long_one(took: float) -> None:
    assert courtesy(flood=False).rest(took) == 0
    assert min(took, 0.001) <= courtesy().rest(took) <= min(took, 0.05)


async def test_no_bulk_statement_is_sent_in_the_pause_after_another() -> None:
    class Endless(Courtesy):
        def rest(self, took: float) -> float:
            return 1_000_000

    due = Endless()
    due.came(FAR)
    due.flood.set()
    said: list[str] = []

    async def statement(name: str) -> None:
        async with due.bulk():
            said.append(name)

    both = [asyncio.create_task(statement(name)) for name in ("first", "second")]
    for _ in range(10):
        await asyncio.sleep(0)
    assert said == ["first"]
    # whoever ends the first one lets the second go
    both[0].cancel()
    await until(lambda: said == ["first", "second"])
    both[1].cancel()
    await asyncio.gather(*both, return_exceptions=True)


async def test_who_comes_with_a_little_finds_a_runner_though_others_keep_all_they_can_get(app: App) -> None:
    go, came = asyncio.Event(), asyncio.Event()
    held: set[str] = set()

    @app.task
    async def hold(n: int) -> None:
        held.add(str(n))
        await go.wait()

    @app.task
    async def light() -> None:
        came.set()

    async with app.worker(concurrency=50) as worker:
        kept = worker._runners._courtesy
        kept.came(FAR)
        kept.flood.set()
        await app.enqueue_many(hold, [{"n": n} for n in range(100)])
        await until(lambda: len(held) == 50 - kept.spare(50))
        await app.enqueue(light, {}, queue="another", org=await _org(app))
        await until(came.is_set)
        # and nobody else has got what is kept
        assert len(held) == 50 - kept.spare(50) < 50
        # once nobody comes any more all of them are everybody's, even while nothing ends
        kept._came = 0.0
        await until(lambda: len(held) == 50)
        go.set()
        await until(lambda: worker.settled == 101)


async def test_the_first_task_of_a_trickle_is_no_flood(app: App) -> None:
    done = asyncio.Event()

    @app.task
    async def one() -> None:
        done.set()

    async with app.worker(concurrency=50) as worker:
        await until(lambda: worker._claimer.asleep)  # type: ignore[attr-defined]
        for _ in range(3):
            done.clear()
            await app.enqueue(one, {})
            await until(done.is_set)
            assert not worker._runners._courtesy.flood.is_set()


async def _org(app: App) -> str:
    async with app.tx() as tx:
        return str(await tx.value("insert into weft.orgs (name, slug) values ('o', 'o') returning id"))
