"""How much may wait in a worker: 200 ms of what it was seen to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import until

from weft import App
from weft.worker.pace import Pace


def test_a_steady_rate_is_learned_and_two_tenths_of_a_second_of_it_may_wait() -> None:
    pace = Pace(runners=50, now=0)
    for number in range(1, 21):
        pace.note(number * 0.1, finished=number * 100)
    assert 990 < pace.rate <= 1000
    assert pace.ahead == 200


def test_runners_that_are_through_with_much_are_given_more_at_once() -> None:
    pace = Pace(runners=50, now=0)
    pace.through(0.005, finished=50)
    assert (pace.rate, pace.ahead) == (10_000, 2_000)


def test_while_some_still_run_nothing_is_learned_before_its_time() -> None:
    pace = Pace(runners=50, now=0)
    pace.note(0.005, finished=60)
    assert pace.ahead == 0


def test_a_few_quick_tasks_say_nothing_of_those_that_follow() -> None:
    alone = Pace(runners=1, now=0)
    for number in range(1, 50):
        alone.through(number * 0.001, finished=number)
    assert alone.ahead == 0
    many = Pace(runners=500, now=0)
    many.through(0.01, finished=499)
    assert many.ahead == 0


def test_a_burst_does_not_slow_down_who_was_quicker() -> None:
    pace = Pace(runners=50, now=0)
    pace.through(0.005, finished=50)
    pace.through(0.045, finished=100)
    assert pace.rate == 10_000


def test_slower_bursts_are_learned_though_each_is_over_within_a_window() -> None:
    pace = Pace(runners=50, now=0)
    pace.through(0.005, finished=50)
    for number in range(1, 101):
        pace.note(number * 0.025, finished=50 * number)
        pace.through(number * 0.025 + 0.024, finished=50 * (number + 1))
    assert 1_900 < pace.rate < 2_200


def test_who_has_nothing_to_do_soon_keeps_nothing() -> None:
    pace = Pace(runners=50, now=0)
    pace.through(0.005, finished=50)
    for number in range(1, 20):
        pace.note(number, finished=50)
    assert pace.ahead == 0


_TOLD = st.lists(st.tuples(st.integers(1, 10_000), st.integers(0, 100_000), st.booleans()), max_size=20)


@given(_TOLD, st.integers(1, 100))
def test_never_more_waits_than_the_quickest_stretch_would_do_in_its_time(
    told: list[tuple[int, int, bool]], runners: int
) -> None:
    pace, now, finished = Pace(runners=runners, now=0), 0.0, 0
    seen, quickest = [(now, finished)], 0.0
    for milliseconds, done, through in told:
        now, finished = now + milliseconds / 1000, finished + done
        quickest = max(quickest, *((finished - before) / (now - at) for at, before in seen))
        seen.append((now, finished))
        (pace.through if through else pace.note)(now, finished=finished)
        assert 0 <= pace.ahead <= min(6000, round(quickest * 0.2))


async def test_a_worker_notices_when_it_is_through(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    through = Pace.through

    def heard(self: Pace, now: float, *, finished: int) -> None:
        told.append(finished)
        through(self, now, finished=finished)

    monkeypatch.setattr(Pace, "through", heard)

    @app.task
    async def quick() -> None: ...

    await app.enqueue_many(quick, [{}] * 60)
    async with app.worker(concurrency=5):
        await until(lambda: 60 in told)
