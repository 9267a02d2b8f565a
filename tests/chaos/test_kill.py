"""kill -9: of a worker in the middle of its tasks, of the leader, and by a task of its own worker."""

import time

import pytest
from crowd import Crowd, check, enqueue, finished, rows, say, seasoned, until, value


async def starts(crowd: Crowd, *, pid: int, count: int) -> None:
    await until(lambda: sum(one.what == "start" and one.pid == pid for one in crowd.diary()) >= count)


async def test_the_tasks_of_a_killed_worker_run_elsewhere_and_count_as_lost_not_as_attempts(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(crowd.url)
    await crowd.start("--queues", "nothing")  # leads, and runs nothing
    victim = await crowd.start("--no-lead")
    tasks = enqueue(crowd.url, "hold", count=8)
    await starts(crowd, pid=victim.pid, count=8)
    heir = await crowd.start("--no-lead")
    killed = time.time()
    victim.kill()
    await starts(crowd, pid=heir.pid, count=8)
    crowd.let_go()
    await finished(crowd.url, 8)
    again = sorted(one.at - killed for one in crowd.diary() if one.what == "start" and one.pid == heir.pid)
    say(capsys, f"kill -9 of a worker → run again: first {again[0]:.2f} s, last {again[-1]:.2f} s")
    await check(crowd.url, tasks)
    found = rows(crowd.url, "select state, losses, attempt - uncounted, result::int from weft.task_history")
    assert found == [("completed", 1, 1, heir.pid)] * 8
    history = value(crowd.url, "select attempts from weft.task_history limit 1")
    assert [one["outcome"] for one in history] == ["lost"]


async def test_when_the_leader_is_killed_another_leads_and_runs_its_tasks(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(crowd.url)
    leader = await crowd.start()
    term = await until(lambda: value(crowd.url, "select max(term) from weft.leaders"))
    tasks = enqueue(crowd.url, "hold", count=4)
    await starts(crowd, pid=leader.pid, count=4)
    standby = await crowd.start()
    killed = time.time()
    leader.kill()
    await until(lambda: value(crowd.url, "select max(term) from weft.leaders") > term)
    led = time.time() - killed
    await starts(crowd, pid=standby.pid, count=4)
    crowd.let_go()
    await finished(crowd.url, 4)
    again = max(one.at for one in crowd.diary() if one.what == "start") - killed
    say(capsys, f"kill -9 of the leader → another leads: {led:.2f} s; its tasks run again: {again:.2f} s")
    await check(crowd.url, tasks)
    assert rows(crowd.url, "select distinct losses, attempt - uncounted from weft.task_history") == [(1, 1)]


async def test_a_task_that_kills_its_workers_is_dead_after_three_and_the_innocent_complete(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(crowd.url)
    await crowd.start("--queues", "nothing")
    began = time.monotonic()
    killer = enqueue(crowd.url, "kill_worker")
    innocent = enqueue(crowd.url, "quick", count=30) + enqueue(crowd.url, "hold", count=3)
    crowd.let_go()
    victims = []

    async def over() -> bool:
        if not victims or victims[-1].returncode is not None:
            victims.append(await crowd.start("--no-lead"))
        return bool(value(crowd.url, "select count(*) from weft.task_history") >= 34)

    await until(over)
    deaths = sum(one.returncode == 9 for one in victims)
    say(capsys, f"a task that kills its worker: dead after {deaths} workers, {time.monotonic() - began:.1f} s")
    await check(crowd.url, killer + innocent)
    assert deaths == 3
    ended = "select state, reason, losses from weft.task_history where id::text = any(%s)"
    assert rows(crowd.url, ended, killer) == [("failed", "lost", 3)]
    assert {row[0] for row in rows(crowd.url, ended, innocent)} == {"completed"}
    assert sum(one.what == "start" and one.task == killer[0] for one in crowd.diary()) == 3
