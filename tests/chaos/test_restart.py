"""PostgreSQL is stopped at once and started again under load: no process exits, everything runs exactly once."""

import time

import pytest
from crowd import Crowd, check, enqueue, finished, rows, say, until
from own_server import OwnServer

COUNT = 3000
KEYED = 100


async def test_an_immediate_restart_under_load_ends_no_process_and_everything_runs_exactly_once(
    server: OwnServer, own_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        await own_crowd.start("--concurrency", "20")
    tasks = enqueue(own_crowd.url, "quick", count=COUNT)
    statement = "select weft.enqueue('quick', concurrency_key => 'k' || n %% 5)::text from generate_series(1, %s) as n"
    tasks += [row[0] for row in rows(own_crowd.url, statement, KEYED)]
    await until(lambda: len(own_crowd.diary()) > COUNT // 10)
    await server.crash()
    down, done = time.time(), len(own_crowd.diary())
    assert done < len(tasks), "the load was over before the fault"
    await server.start()
    up = time.time()
    await finished(own_crowd.url, len(tasks))
    later = [one.at for one in own_crowd.diary() if one.at > up]
    say(capsys, f"PostgreSQL was away for {up - down:.2f} s; the next task ended {min(later) - up:.2f} s after it was "
                f"back, the last of {len(tasks) - done} after {max(later) - up:.2f} s")  # fmt: skip
    assert own_crowd.alive() == 2
    check(own_crowd.url, tasks)
    assert rows(own_crowd.url, "select distinct state, losses from weft.task_history") == [("completed", 0)]
    assert sorted(one.task for one in own_crowd.diary()) == sorted(tasks), "lost or run twice"
