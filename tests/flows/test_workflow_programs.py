"""Random workflow programs on a real database, crashed at every checkpoint: the same result, effects once, undone right.

`tests/sdk/test_replayer.py` does it with the replayer alone and an imagined world. Here the whole engine is in it: claims,
shared checkpoints, transactions, sleeping, messages, compensation. All the lives of some programs run side by side: one that
is left alone, and for each place around a checkpoint one that dies there, and one whose lease is taken from it there.
The long tier (`WEFT_LONG=1 make test ARGS=tests/flows/test_workflow_programs.py`, also part of `make chaos`) tries 2,000
programs; `WEFT_WORKFLOW_PROGRAMS` says another number.
"""

import dataclasses
import datetime as dt
import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
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

LONG = bool(os.environ.get("WEFT_LONG"))
PROGRAMS = int(os.environ.get("WEFT_WORKFLOW_PROGRAMS", "2000" if LONG else "10"))
TOGETHER = min(PROGRAMS, 25)
PORTIONS = max(PROGRAMS // 25, 1)
"""Tests, so that none takes long by itself; each has programs of its own."""
EXAMPLES = 1 + max(PROGRAMS // (PORTIONS * TOGETHER), 1)
"""The first one is always as simple as can be, and does not count."""
SIGNALS = {"s0": [1, 2], "s1": [3], "s2": []}

# A program is a tree of words. What comes out of it must not hang on which of two things was quicker: so what
# branches that run beside each other come to is only added up, and only times are raced, or something with a time far off.
number = st.integers(0, 9)
quick = st.one_of(
    st.tuples(st.just("take"), number), st.tuples(st.just("take"), number), st.tuples(st.just("look"), number),
    st.tuples(st.just("write"), number), st.tuples(st.just("sleep"), st.integers(1, 9)), st.tuples(st.just("dice"), number),
    st.tuples(st.just("clock")), st.tuples(st.just("each"), st.dictionaries(st.text("abc", max_size=3), number, max_size=3)),
)  # fmt: skip
waiting = st.one_of(quick, st.tuples(st.just("signal"), st.integers(0, 2)), st.tuples(st.just("child"), number))
several = st.recursive(waiting, lambda inner: st.tuples(st.just("all"), st.lists(inner, max_size=3)), max_leaves=3)
leaf = st.one_of(
    quick,
    st.tuples(st.just("fail"), number),
    st.tuples(st.just("signal"), st.integers(0, 2)),
    st.tuples(st.just("child"), number),
    st.tuples(st.just("gather"), st.lists(several, max_size=4), st.sampled_from([None, 1, 2])),
    st.tuples(st.just("gather"), st.lists(several, min_size=2, max_size=4), st.sampled_from([None, 2, 3])),
    st.tuples(st.just("first"), quick),
    st.tuples(st.just("sooner"), st.integers(1, 9), st.integers(20, 29)),
    st.tuples(st.just("map"), st.lists(number, max_size=4), st.sampled_from([None, 1, 2])),
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
# what was done before a run began again is not undone: so nothing that could be
parts_of_again = st.one_of(
    quick.filter(lambda one: one[0] != "take"), st.tuples(st.just("child"), number), st.tuples(st.just("aside"), number)
)
again = st.tuples(st.just("again"), st.integers(1, 2), st.lists(parts_of_again, max_size=3))
whole = st.one_of(program, program, program, program, again)


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

    @app.step
    async def keep(text: str) -> str:
        return text

    @app.step
    async def many(numbers: dict[str, int]) -> dict[str, int]:
        return {name: numbers[name] for name in sorted(numbers)}

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
                return int(await app.wait_for(f"s{n}", timeout="1d", default=-1))
            case ["dice", n]:
                # they must fall the same way when the code is run again
                fell = f"{app.random().random()} {app.uuid()}"
                app.set_state({"dice": fell})
                if await keep(fell) != fell:
                    raise AssertionError("other dice")
                return int(n)
            case ["clock"]:
                # what time it is must be the same when the code is run again
                now = app.now().isoformat()
                if await keep(now) != now:
                    raise AssertionError("another time")
                return 0
            case ["each", numbers]:
                # in the order in which a step has answered, which is the same each time
                return sum([int(await write(run, n)) for n in (await many(numbers)).values()])
            case ["map", numbers, limit]:
                return int(sum(await app.map(look, numbers, limit=limit)))
            case ["child", n]:
                return int(await small(run, n))
            case ["aside", n]:
                await app.detach(small, run, n)
                return int(n)
            case ["patch", n]:
                return int(await look(n)) if app.patched(f"p{n}") else 0
            case ["gather", parts, limit]:
                return int(sum(await app.gather(*[act(one) for one in parts], limit=limit)))
            case ["first", inner]:
                index, value = await app.race(act(inner), app.sleep("1000d"))
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
    async def perform(what: list[Any], seen: list[str] | None = None) -> int:
        match what:
            case ["again", n, parts]:
                # an id of one life is none of another's
                if (mine := str(app.uuid())) in (seen := seen or []):
                    raise AssertionError("the same id again")
                got = sum([await act(one) for one in parts])
                return got if n == 0 else app.continue_as_new(what=["again", n - 1, parts], seen=[*seen, mine])
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
        await run_pending(self.app, concurrency=100, fault=self._fault)
        await self._signal(born[1::2])
        for _ in range(500):
            await run_pending(self.app, concurrency=100, fault=self._fault)
            async with (await self.app.open()).once() as tx:
                due: dt.datetime | None = await workflows.next_due(tx)
            if due is None:
                return
            assert due.year < 5000, "a run waits for what never comes"
            # so far that all who sleep are due at once: each minds only in which order its own times come
            await self.clock.set(due + dt.timedelta(seconds=10))
        raise AssertionError("no end after 500 moves of the clock")

    async def came(self, lives: list[Life]) -> list[tuple[Any, ...]]:
        """What came out, what was done, and what was undone; the order of undoing is checked here."""
        given = {"runs": [life.run for life in lives]}
        done: dict[str, list[Any]] = {str(life.run): [] for life in lives}
        steps: dict[str, list[Any]] = {str(life.run): [] for life in lives}
        async with self.app.tx() as tx:
            for run, what, n in await tx.rows(
                "select run, what, n from effects where run::uuid = any(%(runs)s) order by id", given
            ):
                done[run].append((what, n))
            for run, *step in await tx.rows(
                "select run_id::text, operation, node, state from weft.steps where run_id = any(%(runs)s) order by number",
                given,
            ):
                steps[run].append(step)
            ends = {row[0]: row[1:] for row in await tx.rows(
                "select id::text, state, output, error ->> 'type' from weft.runs where id = any(%(runs)s)", given
            )}  # fmt: skip
        for life in lives:
            self._undone_in_order(life, done[str(life.run)], steps[str(life.run)])
        return [(*ends[str(life.run)], sorted(done[str(life.run)])) for life in lives]

    @staticmethod
    def _undone_in_order(life: Life, done: list[Any], steps: list[Any]) -> None:
        taken = [n for what, n in done if what == "take"]
        back = [n for what, n in done if what == "put back"]
        assert back in ([], taken[::-1]), f"undone in another order: {taken}, {back}: {life}"
        undone = [node for operation, node, _ in steps if operation == "compensation"]
        named = [f"put_back#~{node.partition('#')[2]}" for _, node, state in steps if state == "compensated"]
        assert undone == named[::-1], f"{undone} and {named}: {life}"

    async def _signal(self, lives: list[Life]) -> None:
        async with self.app.tx() as tx:
            for name, values in SIGNALS.items():
                for value in values:
                    await tx.rows(
                        "select weft.signal(r.id, %(name)s, to_jsonb(%(value)s::integer), r.org_id) from weft.runs as r "
                        "where r.id = any(%(runs)s) and r.finished_at is null",
                        {"name": name, "value": value, "runs": [life.run for life in lives]},
                    )

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


def programs_of(portion: int) -> list[list[Any]]:
    """Always the same ones, so that what fails can be tried again."""
    found: list[list[Any]] = []

    @seed(portion)
    @settings(max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate,))
    @given(programs=st.lists(whole, min_size=TOGETHER, max_size=TOGETHER))
    def collect(programs: list[Any]) -> None:
        found.append(programs)

    collect()
    return found[1:]


@pytest.mark.parametrize("portion", [0, *(pytest.param(one, marks=pytest.mark.long) for one in range(1, PORTIONS))])
async def test_a_crash_at_any_checkpoint_changes_nothing_on_a_real_database(app: App, portion: int) -> None:
    world = World(app, await Clock.install(app), declare(app))
    for programs in programs_of(portion):
        calm = await world.begin(programs, [(0, False)] * len(programs))
        await world.live(calm)
        lives = [
            (life.program, (strike, twice))
            for life in calm for strike in range(1, life.visits + 1) for twice in (False, True)
        ]  # fmt: skip
        expected = {repr(life.program): came for life, came in zip(calm, await world.came(calm), strict=True)}
        struck = await world.begin([one for one, _ in lives], [strike for _, strike in lives])
        if struck:
            await world.live(struck)
        for life, came in zip(struck, await world.came(struck), strict=True):
            assert came == expected[repr(life.program)], f"{life} came out otherwise"
