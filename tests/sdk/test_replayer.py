"""Random workflow programs, crashed at every checkpoint: the same result, the same effects, the same order of undoing.

The world here is imagined (no database): steps are carried out in an order that dice decide, and a crash forgets all but
what was recorded. `tests/flows/test_workflows.py` runs workflows on the real one.
"""

import datetime as dt
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.base import config, errors
from weft.parts.durable import Durable
from weft.sdk.operation import Operation, Record
from weft.sdk.replayer import Replayer

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
PROGRAMS = int(os.environ.get("WEFT_WORKFLOW_PROGRAMS", "150"))

app = Durable(config.load({}))


@app.step
async def put_back(n: int) -> None: ...


@app.step(compensate=put_back)
async def take(n: int) -> int:
    return n


@app.step
async def look(n: int) -> int:
    return n


# A program is a tree of words; `perform` is a workflow that does what it says.
leaf = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 9)),
    st.tuples(st.just("look"), st.integers(0, 9)),
    st.tuples(st.just("fail"), st.integers(0, 9)),
    st.tuples(st.just("sleep"), st.integers(1, 9)),
    st.tuples(st.just("signal"), st.integers(0, 2)),
    st.tuples(st.just("dice"), st.integers(0, 9)),
)
program: st.SearchStrategy[Any] = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(st.just("all"), st.lists(inner, max_size=3)),
        st.tuples(st.just("gather"), st.lists(inner, max_size=3), st.sampled_from([None, 1, 2])),
        st.tuples(st.just("race"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("try"), inner, inner),
        st.tuples(st.just("loop"), st.integers(0, 3), inner),
        st.tuples(st.just("if"), inner, inner, inner),
    ),
    max_leaves=8,
)


async def perform(what: Any, seen: list[Any]) -> int:
    match what:
        case ("take", n):
            found = await take(n)
        case ("look", n):
            found = await look(n)
        case ("fail", n):
            found = await look(-n - 1)
        case ("sleep", n):
            await app.sleep(n)
            found = n
        case ("signal", n):
            found = await app.wait_for(f"s{n}", timeout=5, default=-1)
        case ("dice", n):
            found = app.random().randint(0, n) + app.uuid().int % 7
        case ("all", parts):
            found = sum([await perform(one, seen) for one in parts])
        case ("gather", parts, limit):
            found = sum(await app.gather(*[perform(one, seen) for one in parts], limit=limit))
        case ("race", parts):
            index, value = await app.race(*[perform(one, seen) for one in parts])
            found = index + value
        case ("try", first, second):
            try:
                found = await perform(first, seen)
            except errors.StepFailed:
                found = await perform(second, seen)
        case ("loop", n, inner):
            found = sum([await perform(inner, seen) for _ in range(n)])
        case ("if", first, second, third):
            found = await perform(second if await perform(first, seen) % 2 else third, seen)
        case _:
            raise AssertionError(what)
    seen.append((found, (app.now() - START).total_seconds()))
    return found


class World:
    """Carries out what a replayer asks for, in an order by the dice, and remembers what was recorded."""

    def __init__(self, what: Any, seed: int) -> None:
        self.what = what
        self.seed = seed
        self.records: list[Record] = []
        self.effects: list[tuple[str, str, Any]] = []
        """Each step that was carried out and recorded."""
        self.lives = 0

    def live(self, *, until: int | None = None) -> tuple[Any, ...] | None:
        """Runs to the end, or until so many checkpoints are there, and dies."""
        self.lives += 1
        seen: list[Any] = []
        replayer = Replayer(
            perform, {"what": self.what, "seen": seen}, run_id="00000000-0000-0000-0000-000000000007", started=START,
            history=self.records,
        )  # fmt: skip
        open_: dict[str, Operation] = {}
        while True:
            replayer.go_on()
            for one in replayer.take_dropped():
                open_.pop(one.position, None)
            if replayer.finished:
                return self._result(replayer, seen)
            open_ |= {one.position: one for one in replayer.take_wanted()}
            if until is not None and len(self.records) >= until:
                replayer.close()
                return None
            record = self._carry_out(open_, replayer)
            self.records.append(record)
            replayer.tell(record)

    def _carry_out(self, open_: dict[str, Operation], replayer: Replayer) -> Record:
        """Which of those that are open ends next hangs on what was recorded only, as in the world without a crash."""
        positions = sorted(open_)
        dice = random.Random(f"{self.seed} {len(self.records)}")
        operation = open_.pop(positions[dice.randrange(len(positions))])
        number = len(self.records) + 1
        at = START + dt.timedelta(seconds=number)
        match operation.kind:
            case "step":
                step, args, kwargs = operation.about
                self.effects.append((step.name, operation.position, args))
                if args[0] < 0:
                    return Record(number, operation.position, "step", step.name, False, None, {"message": "no"}, at)
                undo = step.undo(args, kwargs)
                return Record(number, operation.position, "step", step.name, True, str(args[0]), None, at, 1, undo)
            case "signal":
                value = f"[{dice.randint(0, 9)}]" if dice.random() < 0.7 else None
                return Record(number, operation.position, "signal", operation.name, True, value, None, at)
            case _:
                return Record(number, operation.position, operation.kind, operation.name, True, None, None, at)

    def _result(self, replayer: Replayer, seen: list[Any]) -> tuple[Any, ...]:
        undoing = [one.position for one in sorted(self.records, reverse=True) if one.undo]
        return replayer.value, str(replayer.error), undoing, list(self.effects), seen


@settings(max_examples=PROGRAMS, deadline=None, suppress_health_check=list(HealthCheck))
@given(program, st.integers(0, 1 << 16))
def test_a_crash_at_any_checkpoint_changes_nothing(what: Any, seed: int) -> None:
    calm = World(what, seed)
    expected = calm.live()
    for crash in range(len(calm.records)):
        world = World(what, seed)
        assert world.live(until=crash) is None
        assert world.live() == expected
    # and at all of them
    world = World(what, seed)
    for crash in range(len(calm.records)):
        world.live(until=crash)
    assert world.live() == expected
    # a replay of what is over asks for nothing
    assert over(calm).live() == expected


def over(calm: World) -> World:
    world = World(calm.what, calm.seed)
    world.records, world.effects = list(calm.records), list(calm.effects)
    return world


def replay(function: Callable[..., Any], *records: Record) -> Replayer:
    replayer = Replayer(function, {}, run_id="00000000-0000-0000-0000-000000000007", started=START, history=records)
    replayer.go_on()
    return replayer


def record(number: int, position: str, name: str, output: str = "1") -> Record:
    return Record(number, position, "step", name, True, output)


def test_history_that_the_code_does_not_ask_for_is_a_mismatch() -> None:
    async def looks() -> None:
        await look(1)

    with pytest.raises(errors.HistoryMismatch, match="'take' at 1, where the code asks for step 'look' at 1"):
        replay(looks, record(1, "1", "take"))
    with pytest.raises(errors.HistoryMismatch, match="the code has ended"):
        replay(looks, record(1, "1", "look"), record(2, "2", "take"))
    with pytest.raises(errors.HistoryMismatch, match="asks for nothing"):
        replay(looks, record(1, "2", "look"))


def test_a_key_is_there_once() -> None:
    async def keyed() -> int:
        found: int = await look.keyed("a")(1)
        return found + await look.keyed("a")(2)

    found = replay(keyed, record(1, "=a", "look"))
    assert "used twice" in str(found.error)


def test_an_operation_is_awaited_once() -> None:
    async def twice() -> list[int]:
        one = look(1)
        found: list[int] = await app.gather(one, one)
        return found

    with pytest.raises(errors.Conflict, match="awaited twice"):
        replay(twice)


def test_the_loser_of_a_race_may_still_be_recorded() -> None:
    async def races() -> int:
        index, _ = await app.race(look(1), look(2))
        return int(index + await look(3))

    found = replay(races, record(1, "2", "look"), record(2, "1", "look"), record(3, "4", "look", "5"))
    assert (found.value, [one.position for one in found.dropped]) == (6, ["1"])


def test_a_patch_is_new_only_where_history_ends() -> None:
    asked: list[bool] = []

    async def patched() -> None:
        asked.append(app.patched("a"))
        await look(1)
        asked.append(app.patched("b"))

    found = replay(patched, record(1, "1", "look"))
    assert (asked, found.new_markers) == ([False, True], ["b"])


def test_outside_of_a_workflow_a_step_is_a_function_and_the_rest_says_so() -> None:
    with pytest.raises(errors.Conflict, match="inside of a workflow"):
        app.sleep(1)
    coroutine = look(4)
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert stopped.value.value == 4


def test_a_compensation_must_fit_its_step() -> None:
    other = Durable(config.load({}))

    async def undo(unknown: str) -> None: ...

    async def do(n: int) -> None: ...

    with pytest.raises(errors.InvalidInput, match="'unknown' is none of the step's"):
        other.step(compensate=undo)(do)
