"""Wake-ups are hints: without LISTEN, and with an enqueue that nobody could be told of, work still starts."""

import time

import psycopg
import pytest
from crowd import Crowd, enqueue, finished, rows, say, until, value

LISTENERS = "select pid from pg_stat_activity where query like 'listen%%weft_%%' and datname = current_database()"


async def asleep(crowd: Crowd, count: int = 1) -> None:
    """Until so many workers have said that they sleep."""
    await until(lambda: value(crowd.url, "select count(*) from weft.nodes where asleep") >= count)


async def started_after(crowd: Crowd, task: str, *, since: float) -> float:
    await until(lambda: any(one.task == task for one in crowd.diary()))
    return next(one.at for one in crowd.diary() if one.task == task) - since


async def test_a_dropped_listen_connection_is_made_anew_and_meanwhile_nothing_waits_for_ever(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await crowd.start()
    await asleep(crowd)
    before = await until(lambda: rows(crowd.url, LISTENERS))
    assert rows(crowd.url, f"select pg_terminate_backend(pid) from ({LISTENERS}) as l") == [(True,)]
    since = time.time()
    deaf = await started_after(crowd, enqueue(crowd.url, "quick")[0], since=since)
    await until(lambda: rows(crowd.url, LISTENERS) not in ([], before))
    await asleep(crowd)
    since = time.time()
    hearing = await started_after(crowd, enqueue(crowd.url, "quick")[0], since=since)
    await finished(crowd.url, 2)
    say(capsys, f"enqueue → ran: {deaf:.2f} s just after LISTEN was cut, {hearing:.2f} s once it was back")
    assert crowd.alive() == 1


async def test_an_enqueue_held_open_while_the_worker_went_to_sleep_starts_soon_after_its_commit(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(crowd.url, connect_timeout=10) as held:
        # nobody sleeps yet, so this tells nobody; and it is seen only once it commits
        row = held.execute("select weft.enqueue('quick')::text").fetchone()
        assert row is not None
        await crowd.start()
        await asleep(crowd)
        # a later task passes the place where the held one belongs
        await started_after(crowd, enqueue(crowd.url, "quick")[0], since=time.time())
        await asleep(crowd)
        since = time.time()
        held.commit()
    took = await started_after(crowd, row[0], since=since)
    await finished(crowd.url, 2)
    say(capsys, f"an enqueue held open while its worker fell asleep ran {took:.2f} s after its commit")
