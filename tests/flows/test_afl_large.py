"""Large foreach of AFL programs: elements are opened in windows, advances are bounded, memory stays flat."""

import resource

import pytest

from weft import App
from weft.base import ids
from weft.flows import beginning, chores, look
from weft.testing import inline

WORK = """namespace n { event facet Work(v: String) => (n: Int)
    workflow W(all: String) => (out: [Int]) andThen foreach v in $.all { w = Work(v = v) yield W(out = w.n) }
    workflow Plain(all: String) => (out: [String]) andThen foreach v in $.all { yield Plain(out = v ++ "!") } }"""


async def test_a_foreach_is_opened_in_windows(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        await app.flows.save(source=WORK)
        run = await app.flows.start("n", "W", {"all": "x" * 3000})
        async with app.tx() as tx:
            made = await tx.value("select count(*) from weft.steps where run_id = %(run)s", {"run": run.id})
            waiting = await tx.value("select count(*) from weft.tasks where run_id = %(run)s", {"run": run.id})
        assert waiting == beginning.SLICE and made <= 2 * beginning.SLICE + 2


async def test_an_advance_that_makes_much_leaves_the_rest_for_the_next(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "MOST_MADE", 100)
    monkeypatch.setattr(beginning, "SLICE", 20)
    async with App(database_url=database_url) as app:
        await app.flows.save(source=WORK)
        run = await app.flows.start("n", "Plain", {"all": "abc" * 300})
        assert (await app.runs.get(run.id)).state == "running"
        again = 0
        while (await app.runs.get(run.id)).state == "running":
            async with app.tx() as tx:
                assert await chores.sweep(tx) == 1
            again += 1
        found = await app.runs.get(run.id)
        assert found.state == "completed" and found.output == {"out": [f"{one}!" for one in "abc" * 300]}
        assert again >= 8


async def test_elements_that_end_in_different_advances_are_gathered_in_order(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginning, "SLICE", 7)
    async with App(database_url=database_url) as app:

        @app.task(name="n.Work")
        async def work(v: str) -> dict[str, int]:
            return {"n": ord(v)}

        await app.flows.save(source=WORK)
        text = "".join(chr(ord("a") + number % 26) for number in range(100))
        run = await app.flows.start("n", "W", {"all": text})
        await inline.run_pending(app, concurrency=3)
        assert (await app.runs.get(run.id)).output == {"out": [ord(one) for one in text]}
        async with app.tx() as tx:
            steps = await look.steps(tx, run.id, org=ids.DEFAULT_ORG, take=1000)
        assert len([one for one in steps if one.element >= 0]) == 100


@pytest.mark.long
async def test_a_foreach_over_100000_elements_ends_with_flat_memory(database_url: str) -> None:
    async with App(database_url=database_url) as app:

        @app.task(name="n.Work")
        async def work(v: str) -> dict[str, int]:
            return {"n": 1}

        await app.flows.save(source=WORK)
        warm = await app.flows.start("n", "W", {"all": "x" * 5000})
        await inline.run_pending(app, concurrency=100)
        assert (await app.runs.get(warm.id)).state == "completed"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run = await app.flows.start("n", "W", {"all": "x" * 100_000})
        await inline.run_pending(app, concurrency=100)
        found = await app.runs.get(run.id)
        assert found.state == "completed" and len(found.output["out"]) == 100_000
        # the list of all results is in memory once, when it is put together; steps never are
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 150 * 1024
