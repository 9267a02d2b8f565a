"""Random workflow programs on a real database, crashed at every checkpoint: the same result, effects once, undone right.

`tests/sdk/test_replayer.py` does it with the replayer alone and an imagined world. Here the whole engine is in it: claims,
shared checkpoints, transactions, sleeping, messages, compensation. All the lives of some programs run side by side: one that
is left alone, and for each place around a checkpoint one that dies there, and one whose lease is taken from it there.
The long tier (`make chaos`) tries 2,000 programs; `WEFT_WORKFLOW_PROGRAMS` says another number.
"""

import dataclasses
import datetime as dt
import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from weft import App
from weft.base import errors
from weft.flows import workflows
from weft.queue.model import Claimed
from weft.settle import settle
from weft.settle.outcome import Outcome
from weft.testing.clock import Clock
from weft.testing.inline import run_pending
from weft.worker.workflows import Crashed

TOGETHER = 5
LONG = bool(os.environ.get("WEFT_LONG"))
PROGRAMS = int(os.environ.get("WEFT_WORKFLOW_PROGRAMS", "2000" if LONG else "10"))
EXAMPLES = 2
PORTIONS = max(PROGRAMS // (EXAMPLES * TOGETHER), 1)
"""Tests, so that none takes long by itself; each has programs of its own."""
SIGNALS = {"s0": [1, 2], "s1": [3], "s2": []}

# A program is a tree of words. What comes out of it must not hang on which of two things was quicker: so branches that run
# beside each other take no signals, and only a race between times, or with a time far off, is run.
number = st.integers(0, 9)
quick = st.one_of(
    st.tuples(st.just("take"), number), st.tuples(st.just("take"), number), st.tuples(st.just("look"), number),
    st.tuples(st.just("write"), number), st.tuples(st.just("sleep"), st.integers(1, 9)), st.tuples(st.just("dice"), number),
)  # fmt: skip
several = st.recursive(quick, lambda inner: st.tuples(st.just("all"), st.lists(inner, max_size=3)), max_leaves=3)
leaf = st.one_of(
    quick,
    st.tuples(st.just("fail"), number),
    st.tuples(st.just("signal"), st.integers(0, 2)),
    st.tuples(st.just("child"), number),
    st.tuples(st.just("gather"), st.lists(several, max_size=3), st.sampled_from([None, 1, 2])),
    st.tuples(st.just("first"), quick),
    st.tuples(st.just("sooner"), st.integers(1, 9), st.integers(20, 29)),
    st.tuples(st.just("patch"), number),
)
program: st.SearchStrategy[Any] = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(st.just("all"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("try"), inner, inner),
        st.tuples(st.just("loop"), st.integers(1, 3), inner),
        st.tuples(st.just("if"), inner, inner, inner),
    ),
    max_leaves=6,
)


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            await connection.execute(
                "create table effects (id bigint generated always as identity, run text, what text, n integer)"
            )
            await connection.execute("grant all on effects to weft_engine")
        yield made


def declare(app: App) -> Any:
    async def done(conn: Any, run: str, what: str, n: int) -> None:
        await conn.execute("insert into effects (run, what, n) values (%s, %s, %s)", (run, what, n))

    @app.transaction
    async def put_back(conn: Any, run: str, n: int) -> None:
        await done(conn, run, "put back", n)

    @app.transaction(compensate=put_back)
    async def take(conn: Any, run: str, n: int) -> int:
        await done(conn, run, "take", n)
        return n

    @app.transaction
    async def write(conn: Any, run: str, n: int) -> int:
        await done(conn, run, "write", n)
        return n

    @app.step(retries=1, retry={"base": 0.001})
    async def look(n: int) -> int:
        if n < 0:
            raise ValueError("no")
        return n

    @app.workflow
    async def small(run: str, n: int) -> int:
        await app.sleep(n + 1)
        return int(await write(run, n))

    async def act(what: Any) -> int:
        run = app.run_id()
        match what:
            case ["take", n]:
                return int(await take(run, n))
            case ["write", n]:
                return int(await write(run, n))
            case ["look", n]:
                return int(await look(n))
            case ["fail", n]:
                return int(await look(-n - 1))
            case ["sleep", n]:
                await app.sleep(n)
                return int(n)
            case ["signal", n]:
                return int(await app.wait_for(f"s{n}", timeout=5, default=-1))
            case ["dice", n]:
                app.set_state({"dice": n})
                return app.random().randint(0, 0) + int(n)
            case ["child", n]:
                return int(await small(run, n))
            case ["patch", n]:
                return int(await look(n)) if app.patched(f"p{n}") else 0
            case ["gather", parts, limit]:
                return int(sum(await app.gather(*[act(one) for one in parts], limit=limit)))
            case ["first", inner]:
                index, value = await app.race(act(inner), app.sleep("30d"))
                return index * 100 + int(value)
            case ["sooner", one, other]:
                index, _ = await app.race(app.sleep(other), app.sleep(one))
                return index + int(other)
            case ["all", parts]:
                return sum([await act(one) for one in parts])
            case ["try", first, second]:
                try:
                    return await act(first)
                except errors.StepFailed:
                    return await act(second)
            case ["loop", n, inner]:
                return sum([await act(inner) for _ in range(n)])
            case ["if", first, second, third]:
                return await act(second if await act(first) % 2 else third)
            case _:
                raise AssertionError(what)

    @app.workflow
    async def perform(what: list[Any]) -> int:
        return await act(what)

    return perform


@dataclasses.dataclass
class Life:
    """One run of a program, and where it is struck."""

    program: Any
    run: uuid.UUID
    strike: int = 0
    twice: bool = False
    visits: int = 0


@dataclasses.dataclass
class World:
    """Runs all lives of some programs together."""

    app: App
    clock: Clock
    workflow: Any
    lives: dict[str, Life] = dataclasses.field(default_factory=dict)

    async def begin(self, programs: list[Any], strikes: list[tuple[int, bool]]) -> list[Life]:
        made = await self.app.start_many(self.workflow, [{"what": one} for one in programs])
        born = [
            Life(one, run, *strike) for one, run, strike in zip(programs, made, strikes, strict=True)
        ]
        self.lives |= {str(life.run): life for life in born}
        return born

    async def live(self, born: list[Life]) -> None:
        """To the end of all of them: some hear their signals before they begin, some after they have come to wait."""
        await self._signal(born[::2])
        await run_pending(self.app, concurrency=30, fault=self._fault)
        await self._signal(born[1::2])
        for _ in range(500):
            await run_pending(self.app, concurrency=30, fault=self._fault)
            async with (await self.app.open()).once() as tx:
                due: dt.datetime | None = await workflows.next_due(tx)
            if due is None:
                return
            assert due.year < 5000, "a run waits for what never comes"
            await self.clock.set(due + dt.timedelta(milliseconds=1))
        raise AssertionError("no end after 500 moves of the clock")

    async def came(self, life: Life) -> tuple[Any, ...]:
        """What came out, what was done, and what was undone; the order of undoing is checked here."""
        async with self.app.tx() as tx:
            done = await tx.rows("select what, n from effects where run = %(run)s order by id", {"run": str(life.run)})
            steps = await tx.rows(
                "select operation, node, state from weft.steps where run_id = %(run)s order by number", {"run": life.run}
            )
        run = await self.app.runs.get(life.run)
        taken = [n for what, n in done if what == "take"]
        back = [n for what, n in done if what == "put back"]
        assert back in ([], taken[::-1]), f"undone in another order: {taken}, {back}: {life}"
        undone = [node for operation, node, _ in steps if operation == "compensation"]
        named = [f"put_back#~{node.partition('#')[2]}" for _, node, state in steps if state == "compensated"]
        assert undone == named[::-1], f"{undone} and {named}: {life}"
        return run.state, run.output, (run.error or {}).get("type"), sorted(done)

    async def _signal(self, lives: list[Life]) -> None:
        for life in lives:
            if (await self.app.runs.get(life.run)).finished_at is not None:
                continue
            for name, values in SIGNALS.items():
                for value in values:
                    await self.app.signal(life.run, name, value)

    async def _fault(self, place: str, task: Claimed) -> None:
        life = self.lives.get(task.id)
        if life is None:
            return
        life.visits += 1
        if life.visits != life.strike:
            return
        if not life.twice or place == "before a transaction's commit":
            raise Crashed  # there the row is locked: nobody could take the run away
        async with (await self.app.open()).tx() as tx:
            await settle.settle(tx, [Outcome(task, "released")])


@pytest.mark.parametrize("portion", [0, *(pytest.param(one, marks=pytest.mark.long) for one in range(1, PORTIONS))])
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None,
    derandomize=PORTIONS == 1, phases=(Phase.generate,),
)  # fmt: skip
@given(programs=st.lists(program, min_size=TOGETHER, max_size=TOGETHER))
async def test_a_crash_at_any_checkpoint_changes_nothing_on_a_real_database(
    app: App, portion: int, programs: list[Any]
) -> None:
    workflow = app.declared.latest("perform") or declare(app)
    clock = await Clock.install(app)
    try:
        world = World(app, clock, workflow)
        calm = await world.begin(programs, [(0, False)] * len(programs))
        await world.live(calm)
        lives = [
            (life.program, (strike, twice))
            for life in calm for strike in range(1, life.visits + 1) for twice in (False, True)
        ]  # fmt: skip
        expected = {repr(life.program): await world.came(life) for life in calm}
        struck = await world.begin([one for one, _ in lives], [strike for _, strike in lives])
        if struck:
            await world.live(struck)
        for life in struck:
            assert await world.came(life) == expected[repr(life.program)], f"{life} came out otherwise"
    finally:
        await clock.remove()
