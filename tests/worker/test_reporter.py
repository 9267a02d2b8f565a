"""The reporter beside everything else: what it cannot settle, nobody else knows of."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from weft.queue.lease import Line
from weft.settle.outcome import Held, Outcome
from weft.worker import reporter
from weft.worker.courtesy import Courtesy
from weft.worker.reporter import Reporter

OUTCOME = Outcome(Held("id", "org", "mail", "token", 1, 0, 0, None, None, None, None), "completed")


class Broken(Reporter):
    """The first flush waits; the one beside it meets a fault in our own code."""

    def __init__(self) -> None:
        super().__init__(on_settled=lambda _: None, on_lost=lambda _: None, wake=lambda: None)
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()

    async def _settle(self, outcomes: Sequence[Outcome], lines: Sequence[Line]) -> None:
        if not self.began.is_set():
            self.began.set()
            await self.go_on.wait()
        else:
            raise ZeroDivisionError


async def test_a_second_flush_that_breaks_ends_the_reporter_loudly() -> None:
    """Its outcomes are lost with it: if the worker went on beating, their tasks would run for ever."""
    broken = Broken()
    running = asyncio.create_task(broken.run())
    broken.add(OUTCOME)
    await broken.began.wait()
    for _ in range(reporter.BATCH):
        broken.add(OUTCOME)
    while broken._second is None or not broken._second.done():
        await asyncio.sleep(0)
    broken.go_on.set()
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(running, 30)


def _of(tokens: str) -> list[Outcome]:
    return [Outcome(Held(f"{n}", "org", "mail", token, 1, 0, 0, None, None, None, None), "completed")
            for n, token in enumerate(tokens)]  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "count"),
    [("", 0), ("a", 1), ("ab", 2), ("aaab", 4), ("a" * 499 + "b" * 10, 509), ("a" * 500 + "b" * 10, 500), ("a" * 700, 700)],
)
def test_those_of_one_claim_are_settled_by_themselves_if_they_are_very_many(tokens: str, count: int) -> None:
    assert reporter.portion(_of(tokens)) == count


def test_no_more_than_a_batch_is_settled_at_once() -> None:
    assert reporter.portion(_of("a" * (reporter.BATCH + 1))) == reporter.BATCH
    assert reporter.portion(_of("aaab"), most=2) == 2


class Noting(Reporter):
    """Keeps how many it was told to settle at once."""

    def __init__(self, courtesy: Courtesy) -> None:
        super().__init__(on_settled=lambda _: None, on_lost=lambda _: None, wake=lambda: None, courtesy=courtesy)
        self.batches: list[int] = []

    async def _settle(self, outcomes: Sequence[Outcome], lines: Sequence[Line]) -> None:
        self.batches.append(len(outcomes))
        await asyncio.sleep(0)


async def test_batches_are_small_while_somebody_comes_with_a_little_and_all_is_settled_all_the_same() -> None:
    courtesy = Courtesy()
    courtesy.came(time.monotonic() + 1_000_000)
    for flood in (True, False):
        noting = Noting(courtesy)
        if flood:
            courtesy.flood.set()
        else:
            courtesy.flood.clear()
        for _ in range(reporter.BATCH):
            noting.add(OUTCOME)
        noting.finish()
        await asyncio.wait_for(noting.run(), 30)
        assert sum(noting.batches) == reporter.BATCH
        assert (max(noting.batches) < reporter.BATCH) is flood
