"""Operator actions on flows, in nested blocks too: retry a step, a block, re-run from here, reset, repair, mark."""

import uuid
from typing import Any

import flowing
import pytest
from flowing import LONG

from weft import Agent, Conflict, NotFound, TaskFailed
from weft.base import ids
from weft.flows import repair

ORG = ids.DEFAULT_ORG

EACH = """
namespace shop {
    event facet Price(item: String) => (cents: Long)
    event facet Charge(cents: Long, item: String) => (receipt: String)
    event facet Report(receipts: [String]) => (text: String)

    facet Sell(item: String) => (receipt: String) andThen {
        p = Price(item = $.item)
        c = Charge(cents = p.cents, item = $.item)
        yield Sell(receipt = c.receipt)
    }

    facet SellAll(items: [String]) => (receipts: [String]) andThen foreach item in $.items {
        s = Sell(item = $.item)
        yield SellAll(receipts = s.receipt)
    }

    workflow Day(items: [String]) => (text: String) andThen {
        a = SellAll(items = $.items)
        r = Report(receipts = a.receipts)
        yield Day(text = r.text)
    }
}
"""


class Shop:
    """An agent that sells, and what it was asked to do."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.asked: list[tuple[str, str]] = []
        self.broken: set[tuple[str, str]] = set()

        def does(what: str, key: str) -> None:
            self.asked.append((what, key))
            if (what, key) in self.broken:
                raise ValueError(f"{what} of {key} is broken")

        @agent.handles("shop.Price")
        async def price(item: str) -> dict[str, Any]:
            does("price", item)
            return {"cents": len(item)}

        @agent.handles("shop.Charge")
        async def charge(cents: int, item: str) -> dict[str, Any]:
            does("charge", item)
            return {"receipt": f"{item}:{cents}"}

        @agent.handles("shop.Report")
        async def report(receipts: list[str]) -> dict[str, Any]:
            does("report", str(len(receipts)))
            return {"text": " ".join(receipts)}

    async def start(self, *items: str) -> uuid.UUID:
        return await flowing.started(self.agent, EACH, "shop.Day", {"items": list(items)})

    async def fails(self, run: uuid.UUID) -> None:
        with pytest.raises(TaskFailed):
            await self.agent.runs.result(run, timeout=LONG)

    async def step(self, run: uuid.UUID, node: str, state: str | None = None) -> uuid.UUID:
        found = [one for one in await flowing.steps(self.agent, run)
                 if one.node == node and one.element < 0 and state in (None, one.state)]  # fmt: skip
        return found[0].id

    async def again(self, run: uuid.UUID) -> Any:
        self.asked.clear()
        return await self.agent.runs.result(run, timeout=LONG)


@pytest.fixture
def shop(agent: Agent) -> Shop:
    return Shop(agent)


async def test_a_failed_step_deep_inside_is_retried_and_nothing_else(shop: Shop) -> None:
    shop.broken = {("charge", "hat")}
    run = await shop.start("hat", "coat")
    async with shop.agent.worker():
        await shop.fails(run)
        shop.broken.clear()
        shop.asked.clear()
        done = await shop.agent.runs.retry_step(run, await shop.step(run, "c", "failed"))
        assert [(one.path, one.error) for one in done] == [
            ("andThen#1/a/andThen#1[0]/s/andThen#1/c", "charge of hat is broken")
        ]
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4"}
    assert sorted(shop.asked) == [("charge", "hat"), ("report", "2")]


async def test_what_failed_in_a_block_is_retried_together(shop: Shop) -> None:
    shop.broken = {("charge", "hat"), ("price", "scarf")}
    run = await shop.start("hat", "coat", "scarf")
    async with shop.agent.worker():
        await shop.fails(run)
        shop.broken.clear()
        shop.asked.clear()
        await shop.agent.runs.retry_step(run, await shop.step(run, "a", "failed"))
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4 scarf:5"}
    assert sorted(shop.asked) == [("charge", "hat"), ("charge", "scarf"), ("price", "scarf"), ("report", "3")]


async def test_a_repair_says_first_what_it_would_do(shop: Shop) -> None:
    shop.broken = {("charge", "hat"), ("charge", "coat")}
    run = await shop.start("hat", "coat", "scarf")
    async with shop.agent.worker():
        await shop.fails(run)
        planned = await shop.agent.runs.repair(run, dry_run=True)
        assert sorted(one.error or "" for one in planned) == ["charge of coat is broken", "charge of hat is broken"]
        assert (await shop.agent.runs.get(run)).state == "failed"
        shop.broken.clear()
        shop.asked.clear()
        assert await shop.agent.runs.repair(run) == planned
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4 scarf:5"}
        with pytest.raises(Conflict, match="nothing in this run failed"):
            await shop.agent.runs.repair(run)
    assert sorted(shop.asked) == [("charge", "coat"), ("charge", "hat"), ("report", "3")]


async def test_a_step_that_went_well_is_run_again_with_all_that_follows(shop: Shop) -> None:
    run = await shop.start("hat")
    async with shop.agent.worker():
        await shop.agent.runs.result(run, timeout=LONG)
        step = await shop.step(run, "p")
        with pytest.raises(Conflict, match="did not fail"):
            await shop.agent.runs.retry_step(run, step)
        shop.asked.clear()
        await shop.agent.runs.rerun_from(run, step)
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3"}
    assert shop.asked == [("price", "hat"), ("charge", "hat"), ("report", "1")]


async def test_a_block_is_reset_as_a_whole(shop: Shop) -> None:
    run = await shop.start("hat", "coat")
    async with shop.agent.worker():
        await shop.agent.runs.result(run, timeout=LONG)
        shop.asked.clear()
        await shop.agent.runs.reset(run, await shop.step(run, "a"))
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4"}
        assert len(shop.asked) == 5
        with pytest.raises(Conflict, match="opened no block"):
            await shop.agent.runs.reset(run, await shop.step(run, "r"))


async def test_an_element_is_run_again_alone(shop: Shop) -> None:
    run = await shop.start("hat", "coat")
    async with shop.agent.worker():
        await shop.agent.runs.result(run, timeout=LONG)
        [element] = [one for one in await flowing.steps(shop.agent, run) if one.element == 1]
        shop.asked.clear()
        await shop.agent.runs.rerun_from(run, element.id)
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4"}
    assert sorted(shop.asked) == [("charge", "coat"), ("price", "coat"), ("report", "2")]


async def test_one_of_two_failures_retried_leaves_the_run_failed_of_the_other(shop: Shop) -> None:
    shop.broken = {("charge", "hat"), ("charge", "coat")}
    run = await shop.start("hat", "coat")
    async with shop.agent.worker():
        await shop.fails(run)
        shop.broken.clear()
        await shop.agent.runs.retry_step(run, await shop.step(run, "c", "failed"))
        with pytest.raises(TaskFailed, match="is broken"):
            await shop.agent.runs.result(run, timeout=LONG)
        await shop.agent.runs.repair(run)
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4"}


async def test_a_nested_step_is_marked_and_the_run_goes_on(shop: Shop) -> None:
    shop.broken = {("charge", "hat")}
    run = await shop.start("hat", "coat")
    async with shop.agent.worker():
        await shop.fails(run)
        step = await shop.step(run, "c", "failed")
        await shop.agent.runs.mark_step(run, step, "completed", output={"receipt": "by hand"})
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "by hand coat:4"}


async def test_a_waiting_nested_step_is_marked_while_the_run_runs(shop: Shop) -> None:
    run = await flowing.started(shop.agent, EACH, "shop.Day", {"items": ["hat"]})
    step = await shop.step(run, "p")
    await shop.agent.runs.mark_step(run, step, "completed", output={"cents": 9})
    async with shop.agent.worker():
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:9"}
    assert ("price", "hat") not in shop.asked


async def test_a_cancelled_run_is_repaired_to_its_end(shop: Shop) -> None:
    run = await shop.start("hat", "coat")
    await shop.agent.runs.cancel(run)
    async with shop.agent.worker():
        await shop.agent.runs.repair(run)
        assert await shop.agent.runs.result(run, timeout=LONG) == {"text": "hat:3 coat:4"}


CAUGHT = """
namespace t {
    event facet Try(n: Long) => (m: Long)
    event facet Mend(n: Long) => (m: Long)
    workflow W(n: Long) => (m: Long) andThen {
        a = Try(n = $.n) catch {
            b = Mend(n = $.n)
            yield W(m = b.m)
        }
        yield W(m = a.m)
    }
}
"""


async def test_what_a_catch_hid_can_be_run_again_and_the_catch_is_gone(agent: Agent) -> None:
    broken = [True]

    @agent.handles("t.Try")
    async def try_(n: int) -> dict[str, int]:
        if broken[0]:
            raise ValueError("no")
        return {"m": n}

    @agent.handles("t.Mend")
    async def mend(n: int) -> dict[str, int]:
        return {"m": -n}

    run = await flowing.started(agent, CAUGHT, "t.W", {"n": 7})
    async with agent.worker():
        assert await agent.runs.result(run, timeout=LONG) == {"m": -7}
        with pytest.raises(Conflict, match="nothing in this run failed"):
            await agent.runs.repair(run)
        broken[0] = False
        [inside] = [one for one in await flowing.steps(agent, run) if one.state == "failed"]
        await agent.runs.rerun_from(run, inside.id)
        assert await agent.runs.result(run, timeout=LONG) == {"m": 7}
    assert not [one for one in await flowing.steps(agent, run) if one.catching]


async def test_a_step_inside_of_a_catch_is_run_again(agent: Agent) -> None:
    answers = [1, 2]

    @agent.handles("t.Try")
    async def try_(n: int) -> dict[str, int]:
        raise ValueError("no")

    @agent.handles("t.Mend")
    async def mend(n: int) -> dict[str, int]:
        return {"m": answers.pop(0)}

    run = await flowing.started(agent, CAUGHT, "t.W", {"n": 7})
    async with agent.worker():
        assert await agent.runs.result(run, timeout=LONG) == {"m": 1}
        [inside] = [one for one in await flowing.steps(agent, run) if one.node == "b"]
        await agent.runs.rerun_from(run, inside.id)
        assert await agent.runs.result(run, timeout=LONG) == {"m": 2}


async def test_only_a_run_that_is_over_is_repaired(shop: Shop) -> None:
    run = await shop.start("hat")
    step = await shop.step(run, "a")
    with pytest.raises(Conflict, match="wait until it has ended"):
        await shop.agent.runs.rerun_from(run, step)
    async with shop.agent.tx() as tx:
        with pytest.raises(NotFound, match="no run"):
            await repair.planned(tx, uuid.uuid4(), org=ORG)
    await shop.agent.runs.cancel(run)
    with pytest.raises(NotFound, match="no step"):
        await shop.agent.runs.rerun_from(run, uuid.uuid4())
