"""SIGSTOP past the lease, then SIGCONT: whoever was given up changes nothing, notices, and goes on."""

import signal
import time

import pytest
from crowd import Crowd, check, enqueue, finished, rows, say, until, value

COUNT = 20


async def test_a_worker_that_was_stopped_past_its_lease_changes_nothing_and_goes_on(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await crowd.start("--queues", "nothing")  # leads
    zombie = await crowd.start("--no-lead", "--lease", "2", "--concurrency", str(COUNT))
    tasks = enqueue(crowd.url, "hold", count=COUNT)
    await until(lambda: len(crowd.diary()) == COUNT)
    zombie.send_signal(signal.SIGSTOP)
    stopped = time.time()
    heir = await crowd.start("--no-lead", "--concurrency", str(COUNT))
    await until(lambda: sum(one.pid == heir.pid for one in crowd.diary()) == COUNT)
    taken = max(one.at for one in crowd.diary()) - stopped
    crowd.let_go(heir.pid)
    await finished(crowd.url, COUNT)
    before = rows(crowd.url, "select id, result, attempt, losses, finished_at from weft.task_history order by id")
    # now it may finish, too, as far as it knows
    crowd.let_go(zombie.pid)
    zombie.send_signal(signal.SIGCONT)
    woken = time.time()
    await until(lambda: any(one.what == "end" and one.pid == zombie.pid for one in crowd.diary()))
    # it works on: what only it serves, it runs
    crowd.let_go()
    heir.send_signal(signal.SIGSTOP)
    later = enqueue(crowd.url, "quick")
    await finished(crowd.url, COUNT + 1)
    late = sum(one.what == "end" and one.pid == zombie.pid for one in crowd.diary()) - 1
    say(capsys, f"stopped past a lease of 2 s: taken over after {taken:.2f} s, {late} late completions, 0 accepted; "
                f"works again {time.time() - woken:.2f} s after waking")  # fmt: skip
    heir.send_signal(signal.SIGCONT)
    assert late >= 1, "the fault did not happen"
    after = rows(
        crowd.url,
        "select id, result, attempt, losses, finished_at from weft.task_history where kind = 'hold' order by id",
    )
    assert after == before and {row[1] for row in after} == {heir.pid} and {row[3] for row in after} == {1}
    assert value(crowd.url, "select result::int from weft.task_history where id = %s", later[0]) == zombie.pid
    assert zombie.returncode is None
    await check(crowd.url, tasks + later)
