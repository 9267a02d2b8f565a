"""Workers die at every point where an AFL run may be: all runs end, with the same outcome."""

from typing import Any

import pytest
from crowd import Crowd, rows, say, seasoned, until, value
from test_crash_points import die
from witness import Witness

from weft import App

PROGRAM = """
event facet checked(k: String, fail: Int = 0) => (attempt: Int) with Retry(maxAttempts = 20, backoffMs = 1)

namespace n {
    facet Twice(k: String) => (said: String) andThen {
        a = checked(k = $.k)
        b = checked(k = $.k ++ a.k) catch { yield Twice(said = "never") }
        yield Twice(said = b.k)
    }
    workflow W(all: [String]) => (each: [String], caught: String, picked: String, counted: Int) andThen foreach v in $.all {
        t = Twice(k = v)
        yield W(each = t.said)
    } andThen {
        f = checked(k = "f", fail = 99) with Retry(maxAttempts = 1) catch { yield W(caught = error_type) }
        g = checked(k = "g", fail = 1) andThen when {
            case g.k == "g" => { h = checked(k = "h") yield W(picked = h.k) }
            case _ => { yield W(picked = "wrong") }
        }
    } andThen script { result["counted"] = len(params["all"]) }
}
"""
PARAMS = {"all": ["a", "b", "c"]}
OUTCOME = {"each": ["aa", "bb", "cc"], "caught": "RuntimeError", "picked": "h", "counted": 3}
TASKS = 3 * 2 + 3 + 1
POINTS = (
    "advance: decided", "advance: written#3", "settle: between statements", "settle: committed#2", "claim: answered",
    "settle: before",
)  # fmt: skip


@pytest.mark.chaos
async def test_runs_of_workers_that_die_anywhere_end_with_the_same_outcome(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    await watched_crowd.start("--queues", "nothing")  # leads
    open_runs = "select count(*) from weft.runs where finished_at is null"
    runs: list[Any] = []
    async with App(database_url=witness.url) as app:
        await app.flows.save(source=PROGRAM, name="flow")
        for point in POINTS:
            runs += [(await app.flows.start("flow", "W", PARAMS)).id for _ in range(2)]
            witness.harmed.add(await die(watched_crowd, point, "--no-lead"))
            # what lost its worker again and again would be taken for what kills it
            healthy = await watched_crowd.start("--no-lead")
            await until(lambda: value(witness.url, open_runs) == 0, within=120)
            witness.harmed.add(healthy.pid)
            healthy.kill()
            await healthy.wait()
        found = [await app.runs.get(run) for run in runs]
    assert [(one.state, one.output) for one in found] == [("completed", OUTCOME)] * len(runs)
    ended = "select count(distinct step_id), count(*) from weft.task_history where run_id is not null"
    assert rows(witness.url, ended) == [(TASKS * len(runs), TASKS * len(runs))]
    for table in ("tasks", "run_inbox"):
        assert value(witness.url, f"select count(*) from weft.{table} where run_id is not null") == 0
    say(capsys, f"{len(POINTS)} workers died in AFL runs: {len(runs)} runs, {TASKS} tasks each, one outcome")
