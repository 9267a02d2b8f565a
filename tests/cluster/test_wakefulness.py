"""When a worker is said to be awake, and when asleep."""

from weft.cluster.wakefulness import HEAVY, OFTEN, Wakefulness


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


def test_many_that_come_one_by_one_are_as_heavy_as_many_at_once() -> None:
    worker = _asleep()
    assert worker.much(HEAVY, 0.0) and not worker.much(1, 0.1)
    by_one = 1 / (2 * OFTEN)
    assert worker.much(1, 10.0) is False
    assert [worker.much(1, 10.0 + n * by_one) for n in range(1, OFTEN)][-1]


def test_a_trickle_is_not_heavy() -> None:
    worker = _asleep()
    assert not any(worker.much(1, n / 50) for n in range(500))


def test_very_many_notifications_disturb_and_a_few_do_not() -> None:
    worker = _asleep()
    for n in range(100):
        worker.heard(n / 100)
    assert not worker.disturbed(1.0) and worker.undisturbed(1.0)
    for n in range(OFTEN):
        worker.heard(2.0 + n / (2 * OFTEN))
    assert worker.disturbed(2.5) and not worker.undisturbed(2.5)


def test_who_was_disturbed_tries_again_after_a_while() -> None:
    worker = _asleep()
    for n in range(OFTEN):
        worker.heard(n / (2 * OFTEN))
    assert not worker.disturbed(5.0) and not worker.undisturbed(5.0)
    assert worker.undisturbed(60.0)
