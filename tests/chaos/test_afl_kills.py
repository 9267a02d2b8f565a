"""Workers and leaders die at every point where an AFL run may be: all runs end, with the outcome of a run in memory."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from crowd import Crowd, rows, say, seasoned, until, value
from test_crash_points import TOLD, die
from witness import Witness

from weft import App

sys.path.append(str(Path(__file__).parent.parent / "afl"))
import afl_programs

PROGRAM = """
event facet checked(k: String, fail: Int = 0) => (attempt: Int) with Retry(maxAttempts = 20, backoffMs = 1)

namespace n {
    facet Twice(k: String) => (said: String) andThen {
        a = checked(k = $.k)
        b = checked(k = $.k ++ a.k) catch { yield Twice(said = "never") }
        yield Twice(said = b.k)
    }
    event facet Loud(k: String) => (text: String) prompt { template "say {k}" }
    workflow W(all: [String]) => (each: [String], caught: String, picked: String, loud: String, counted: Int)
        andThen foreach v in $.all {
            t = Twice(k = v)
            yield W(each = t.said)
        } andThen {
            f = checked(k = "f", fail = 99) with Retry(maxAttempts = 1) catch { yield W(caught = error_type) }
            g = checked(k = "g", fail = 1) andThen when {
                case g.k == "g" => { h = checked(k = "h") yield W(picked = h.k) }
                case _ => { yield W(picked = "wrong") }
            }
            l = Loud(k = g.k)
            yield W(loud = l.text)
        } andThen script { result["counted"] = len(params["all"]) }
    workflow Wide(all: [String]) => (each: [String]) andThen foreach v in $.all {
        c = checked(k = v)
        yield Wide(each = c.k)
    }
}
"""
PARAMS = {"all": ["a", "b", "c"]}
TASKS = 3 * 2 + 4 + 1
WIDE = {"all": [f"v{number}" for number in range(900)]}
"""More than one window of a foreach."""
POINTS = (
    "advance: decided", "advance: written#3", "settle: between statements", "settle: committed#2", "claim: answered",
    "settle: before",
)  # fmt: skip
LEADING = ("chore: run starter", "chore: run sweeper", "chore: promoter")
"""Where a leader has AFL runs in its hands: to let them in, to tell them what nobody told, to try their tasks again."""
OPEN = "select count(*) from weft.runs where finished_at is null"


def expected(workflow: str, params: dict[str, Any]) -> Any:
    """What a run in memory comes to, which nobody harms."""

    def checked(args: dict[str, Any]) -> dict[str, int]:
        if args["fail"] > 20:
            raise type("RuntimeError", (afl_programs.Failure,), {})("again and again")
        return {"attempt": 1}

    loud = {"text": "SAY G"}
    return afl_programs.run(PROGRAM, params, name=workflow, checked=checked, Loud=loud)


async def all_ended(witness: Witness, app: App, runs: list[Any], outcome: Any, *, tasks: int) -> None:
    """Every run came to this, each of its tasks ended once, and nothing of them is left."""
    await until(lambda: value(witness.url, OPEN) == 0, within=120)
    found = [await app.runs.get(run) for run in runs]
    assert [(one.state, one.output) for one in found] == [("completed", outcome)] * len(runs)
    ended = "select count(distinct step_id), count(*) from weft.task_history where run_id is not null"
    assert rows(witness.url, ended) == [(tasks, tasks)]
    assert value(witness.url, "select count(*) from weft.tasks where run_id is not null") == 0
    # a fact of nobody's run is dropped by the next sweep
    await until(lambda: value(witness.url, "select count(*) from weft.run_inbox") == 0)


@pytest.mark.chaos
async def test_runs_of_workers_that_die_anywhere_end_with_the_same_outcome(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    await watched_crowd.start("--queues", "nothing")  # leads
    runs: list[Any] = []
    async with App(database_url=witness.url) as app:
        await app.flows.save(source=PROGRAM, name="flow")
        for point in POINTS:
            runs += [(await app.flows.start("flow", "W", PARAMS)).id for _ in range(2)]
            witness.harmed.add(await die(watched_crowd, point, "--no-lead"))
            # what lost its worker again and again would be taken for what kills it
            healthy = await watched_crowd.start("--no-lead")
            await until(lambda: value(witness.url, OPEN) == 0, within=120)
            witness.harmed.add(healthy.pid)
            healthy.kill()
            await healthy.wait()
        await all_ended(witness, app, runs, expected("n.W", PARAMS), tasks=TASKS * len(runs))
    say(capsys, f"{len(POINTS)} workers died in AFL runs: {len(runs)} runs, {TASKS} tasks each, one outcome")


@pytest.mark.chaos
async def test_runs_whose_leaders_die_end_with_the_same_outcome(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    await watched_crowd.start("--no-lead")  # works
    runs: list[Any] = []
    async with App(database_url=witness.url) as app:
        await app.flows.save(source=PROGRAM, name="flow")
        for point in LEADING:
            # from SQL: only a leader lets it in
            runs.append(value(witness.url, "select weft.start('n.W', %s::jsonb, what => 'flow')", json.dumps(PARAMS)))
            rows(witness.url, TOLD)
            witness.harmed.add(await die(watched_crowd, point, "--queues", "nothing"))
        await watched_crowd.start("--queues", "nothing")
        await all_ended(witness, app, runs, expected("n.W", PARAMS), tasks=TASKS * len(runs))
    say(capsys, f"{len(LEADING)} leaders died in AFL runs: {len(runs)} runs, one outcome")


@pytest.mark.long
async def test_a_foreach_whose_workers_die_between_its_windows_ends_with_the_same_outcome(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    await watched_crowd.start("--queues", "nothing")  # leads
    async with App(database_url=witness.url) as app:
        await app.flows.save(source=PROGRAM, name="flow")
        run = await app.flows.start("flow", "Wide", WIDE)
        # two, for what loses three workers is given up; the second window is made in the second advance or later
        for point in ("advance: written#2", "settle: committed"):
            witness.harmed.add(await die(watched_crowd, point, "--no-lead"))
        await watched_crowd.start("--no-lead")
        await all_ended(witness, app, [run.id], expected("n.Wide", WIDE), tasks=len(WIDE["all"]))
    say(capsys, f"two workers died in a foreach over {len(WIDE['all'])}: each element once, in order")
