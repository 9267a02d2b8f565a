"""Runners take turns with everything else on the loop, however many tasks there are and whatever they do."""

import asyncio
import itertools

from waiting import LONG, until

from weft import App


class Turns:
    """Counts what happens between two rounds of the loop."""

    def __init__(self) -> None:
        self.most = self.since = 0
        self.rounds = 0
        self._stopped = False

    def happened(self) -> None:
        self.since += 1
        self.most = max(self.most, self.since)

    def start(self) -> None:
        def around() -> None:
            self.since = 0
            self.rounds += 1
            if not self._stopped:
                asyncio.get_running_loop().call_soon(around)

        asyncio.get_running_loop().call_soon(around)

    def stop(self) -> None:
        self._stopped = True


async def test_handlers_that_never_suspend_leave_the_loop_to_others_every_hundred_tasks(app: App) -> None:
    turns = Turns()

    @app.task
    async def busy() -> None:
        turns.happened()

    await app.enqueue_many(busy, [{}] * 3000)
    async with app.worker(concurrency=50) as worker:
        turns.start()
        await until(lambda: worker.settled == 3000)
        turns.stop()
    # a hundred, and by then every other runner may have been about to start one
    assert 1 < turns.most <= 150


async def test_handlers_that_suspend_run_as_many_at_once_as_there_are_runners(app: App) -> None:
    started = itertools.count(1)
    all_there = asyncio.Event()

    @app.task
    async def meet() -> None:
        if next(started) == 20:
            all_there.set()
        async with asyncio.timeout(LONG):
            await all_there.wait()

    await app.enqueue_many(meet, [{}] * 20)
    async with app.worker(concurrency=20) as worker:
        await until(lambda: worker.settled == 20)


async def test_one_that_suspends_among_many_that_do_not_is_no_obstacle(app: App) -> None:
    go = asyncio.Event()
    ran = itertools.count(1)

    @app.task
    async def quick() -> None:
        if next(ran) == 500:
            go.set()

    @app.task
    async def patient() -> None:
        async with asyncio.timeout(LONG):
            await go.wait()

    # more of the patient than of runners that would be left if each kept one for good
    await app.enqueue_many(patient, [{}] * 3, priority=90)
    await app.enqueue_many(quick, [{}] * 500)
    async with app.worker(concurrency=4) as worker:
        await until(lambda: worker.settled == 503)
