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
    first, last, count = rows(
        own_crowd.url,
        "select extract(epoch from min(claimed_at)), extract(epoch from max(claimed_at)), count(*)"
        " from weft.task_history where claimed_at > pg_postmaster_start_time()",
    )[0]
    assert count > 0, "nothing was claimed after the fault"
    # both clocks are this machine's; a worker may be back before whoever started the server knows that it answers
    say(capsys, f"PostgreSQL was away for {up - down:.2f} s; first claim {float(first) - up:+.2f} s from when it was "
                f"known to answer, the last of {count} {float(last) - up:+.2f} s")  # fmt: skip
    assert own_crowd.alive() == 2
    await check(own_crowd.url, tasks)
    assert rows(own_crowd.url, "select distinct state, losses from weft.task_history") == [("completed", 0)]
    assert sorted(one.task for one in own_crowd.diary()) == sorted(tasks), "lost or run twice"
