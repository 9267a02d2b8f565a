"""When a worker is said to be awake, and when asleep."""

from weft.cluster.wakefulness import Wakefulness


def _asleep() -> Wakefulness:
    worker = Wakefulness()
    worker.asleep = True
    return worker


def test_a_second_of_heavy_work_wakes_a_sleeper() -> None:
    worker = _asleep()
    assert [worker.heavy(tenths / 10) for tenths in range(12)] == [False] * 11 + [True]


def test_a_burst_now_and_then_does_not() -> None:
    worker = _asleep()
    assert not any(worker.heavy(halves / 2) for halves in range(20))


def test_who_is_awake_need_not_be_told_so() -> None:
    worker = Wakefulness()
    assert not any(worker.heavy(tenths / 10) for tenths in range(20))


def test_a_second_without_heavy_work_is_rest() -> None:
    worker = Wakefulness()
    assert worker.rested(0.0)
    worker.heavy(1.0)
    assert not worker.rested(2.0)
    assert worker.rested(2.1)


def test_a_sleeper_that_hears_nothing_looks_more_often() -> None:
    worker = _asleep()
    assert worker.poll(hears=False) < worker.poll(hears=True)


def test_who_is_awake_looks_by_itself() -> None:
    assert Wakefulness().poll(hears=True) < _asleep().poll(hears=False)
