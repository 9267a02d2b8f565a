"""Any plans on a real database, by the doors that workers use, whatever goes wrong on the way: every step ends as the
plan alone says it must (tests/plan/running.py), and so does the run.

`make chaos` tries 2,000 others (WEFT_ANY_PLANS).
"""

import asyncio
import dataclasses
import os
import random
import uuid
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import any_plan
import hypothesis
import msgspec
import pytest
import running
from hypothesis import strategies as st

import hands
from weft.base import config, ids, json
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import afterwards, chores, operate, start
from weft.flows.advance import Hands
from weft.flows.start import Wish
from weft.plan import model
from weft.plan.evaluate import Known
from weft.plan.model import Plan
from weft.queue import promote
from weft.queue.model import Claimed
from weft.settle.outcome import Outcome
from weft.settle.settle import Settled, settle

MANY = int(os.environ.get("WEFT_ANY_PLANS", "2000"))
PART = 10
ORG = ids.DEFAULT_ORG
OPTIONS = st.fixed_dictionaries(
    {"max_attempts": st.integers(1, 3)}, optional={"pool": st.sampled_from("ab"), "priority": st.integers(40, 60)}
)
PLANS = st.lists(any_plan.plans(OPTIONS), min_size=1, max_size=3)


class Fate(NamedTuple):
    """What becomes of a task, and at which attempt: a function of its arguments, so that the plan alone tells it too."""

    state: str
    attempts: int
    retryable: bool = True

    @classmethod
    def of(cls, args: dict[str, Any]) -> "Fate":
        roll = zlib.crc32(msgspec.json.encode(args, order="sorted"))
        most: int = args["told"]["max_attempts"]
        state = ("failed", "failed", "timed_out", "cancelled")[roll // 8 % 4]
        match roll % 8:
            case 0 | 1:
                return cls(state, 1, retryable=False)
            case 2:
                return cls("cancelled", 1) if state == "cancelled" else cls(state, most)
            case 3:
                return cls("completed", most)
        return cls("completed", 1)


def do(_kind: str, args: dict[str, Any]) -> Any:
    fate = Fate.of(args)
    if fate.state != "completed":
        raise running.Failure("told to", fate.state)
    return args["n"]


class Crash(Exception):
    """The process dies before it commits."""


class Trial:
    """Some runs, ended by a worker that everything happens to."""

    def __init__(self, database: Database, seed: int) -> None:
        self.database, self.dice = database, random.Random(seed)
        self.runs: list[uuid.UUID] = []
        self.harmed: set[str] = set()

    async def go(self, plans: Sequence[Plan]) -> None:
        for plan in plans:
            async with self.database.tx() as tx:
                self.runs.append((await start.start_plan(tx, plan, org=ORG, wish=Wish(params={"given": 3}))).id)
        held: list[Claimed] = []
        for _ in range(2000):
            held += await self._claim()
            if not held:
                return
            self.dice.shuffle(held)
            batch = [held.pop() for _ in range(self.dice.randint(1, min(6, len(held))))]
            held += await self._report([self._outcome(task) for task in batch])
        raise AssertionError("the runs never end")

    async def _claim(self) -> list[Claimed]:
        want = self.dice.randint(1, 8)
        async with self.database.tx() as tx:
            if await tx.run("update weft.tasks set run_at = weft.now() - interval '1 second' where state = 'scheduled'"):
                await promote.once(tx)
            found = await hands.claim_plain(tx, want, kinds=["t"])
            return found + await hands.claim_special(tx, want, kinds=["t"])

    def _outcome(self, task: Claimed) -> Outcome:
        """Mostly what is to become of it; once in its life something that uses up no attempt."""
        if task.id not in self.harmed and self.dice.random() < 0.2:
            self.harmed.add(task.id)
            return Outcome(task, self.dice.choice(["lost", "snoozed", "released"]))
        args = json.loads(task.payload)
        fate = Fate.of(args)
        last = task.attempt - task.uncounted == fate.attempts
        if fate.state == "completed" and last:
            return Outcome(task, "completed", result=json.text(args["n"]))
        error = json.text({"type": "Failure", "message": "told to"})
        if fate.state == "cancelled":
            return Outcome(task, "discarded", error=error)
        how = "timed_out" if fate.state == "timed_out" else "failed"
        return Outcome(task, how, error=error, retryable=fate.retryable)

    async def _report(self, outcomes: list[Outcome]) -> list[Claimed]:
        """Ends these attempts, in one of the ways there are; answers what was handed over."""
        worker = Hands(
            node_id=hands.NODE, token=str(ids.token()), kinds=frozenset({"t"}), serves=lambda _lane: True,
            room=self.dice.choice([0, 0, 1, 5]),
        )  # fmt: skip
        way = self.dice.choice(["at once", "at once", "crash", "busy", "left", "paused"])
        settled: Settled | None = None
        if way == "crash":
            with pytest.raises(Crash):
                async with self.database.tx() as tx:
                    await settle(tx, outcomes, hands=dataclasses.replace(worker, given=[]))
                    raise Crash
            self.dice.shuffle(outcomes)
        if way == "paused":
            await self._paused(outcomes)
        elif way == "busy":
            async with self.database.tx() as holder:
                await holder.rows("select id from weft.runs where id = any(%(ids)s) for update", {"ids": self.runs})
                async with self.database.tx() as tx:
                    settled = await settle(tx, outcomes, hands=worker)
        else:
            async with self.database.tx() as tx:
                settled = await settle(tx, outcomes, hands=worker, advance=way != "left")
        if settled is not None and settled.advanced is not None and settled.advanced.unfinished:
            async with self.database.tx() as tx:
                await (chores.sweep(tx) if way == "left" else afterwards.once_more(tx, settled.advanced))
        if self.dice.random() < 0.3:
            # said again: the answer came too late, or not at all
            async with self.database.tx() as tx:
                again = await settle(tx, outcomes)
                assert len(again.lost) + len(again.repeated) == len(outcomes) and again.advanced is None
        return worker.given if worker is not None else []

    async def _paused(self, outcomes: list[Outcome]) -> None:
        """The run stands still while they are ended: nothing of it may be there to claim."""
        runs = sorted({str(one.task.run_id) for one in outcomes})
        for run in runs:
            async with self.database.tx() as tx:
                await operate.pause(tx, uuid.UUID(run), org=ORG, actor="test")
        async with self.database.tx() as tx:
            await settle(tx, outcomes)
            await promote.unblock(tx)
            ready = await tx.value(
                "select count(*) from weft.tasks where run_id = any(%(runs)s::uuid[]) and state in ('ready', 'scheduled')",
                {"runs": runs},
            )
            assert ready == 0
        for run in runs:
            async with self.database.tx() as tx:
                await operate.resume(tx, uuid.UUID(run), org=ORG, actor="test")


async def compare(tx: Tx, run: uuid.UUID, expected: running.Run) -> None:
    row = await tx.row("select state, output, error from weft.runs where id = %(id)s", {"id": run})
    assert row is not None and expected.result is not None
    errors = [_error(one.error) for one in expected.steps.values() if one.error] + [_error(expected.result.error)]
    assert (row[0], row[1]) == (expected.result.state, expected.result.output)
    assert _error(row[2]) in errors if row[0] == "failed" else row[2] is None
    steps = await _steps(tx, run)
    assert {path: _plain(one) for path, one in steps.items()} == {path: _plain(one) for path, one in expected.steps.items()}
    assert all(_error(one.error) in errors for one in steps.values() if one.error)
    tasks = await tx.rows(
        "select t.payload, t.state, t.attempt - t.uncounted, s.attempt from weft.task_history as t "
        "left join weft.steps as s on s.id = t.step_id where t.run_id = %(id)s",
        {"id": run},
    )
    assert [(Fate.of(args)[:2], Fate.of(args).attempts) for args, *_ in tasks] == [
        ((state, counted), attempt) for _, state, counted, attempt in tasks
    ]
    assert len(tasks) == len(expected.log)


async def _steps(tx: Tx, run: uuid.UUID) -> dict[running.Path, Known]:
    rows = await tx.rows(
        "select id, frame_id, node, element, catching, state, output, error from weft.steps where run_id = %(id)s",
        {"id": run},
    )
    around = {row[0]: row for row in rows}

    def path(row: Sequence[Any]) -> running.Path:
        outer = around.get(row[1])
        return (*(path(outer) if outer is not None else ()), tuple(row[2:5]))

    found = {path(row): Known(*row[5:]) for row in rows}
    assert len(found) == len(rows)
    return found


def _plain(known: Known) -> tuple[str, Any]:
    return known.state, known.output


def _error(error: dict[str, Any] | None) -> tuple[str, str] | None:
    return error and (error["type"], error["message"])


def tried(url: str, many: int, *, fixed: bool = False) -> None:
    with asyncio.Runner() as runner:
        database = Database(config.Settings(database_url=url))
        runner.run(database.open())

        async def story(plans: Sequence[Plan], seed: int) -> None:
            trial = Trial(database, seed)
            await trial.go(plans)
            async with database.once() as tx:
                for plan, run in zip(plans, trial.runs, strict=True):
                    await compare(tx, run, running.run(plan, {"given": 3}, do, seed=seed))
                assert not await tx.value("select count(*) from weft.tasks")
                assert not await tx.value("select count(*) from weft.run_inbox")

        async def clear() -> None:
            # what a run that went wrong left behind is not the next one's
            async with database.tx() as tx:
                for table in ("tasks", "run_inbox", "runs", "steps"):
                    await tx.run(f"delete from weft.{table}")

        # not made smaller: that takes longer than reading the plans, which are printed
        @hypothesis.settings(
            deadline=None, max_examples=many, derandomize=fixed, suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )  # fmt: skip
        @hypothesis.given(plans=PLANS, seed=st.integers(0, 2**32))
        def each(plans: Sequence[Plan], seed: int) -> None:
            try:
                runner.run(story(plans, seed))
            except BaseException:
                hypothesis.note("\n".join(model.encode(plan).decode() for plan in plans))
                runner.run(clear())
                raise

        try:
            each()
        finally:
            runner.run(database.close())


def test_any_plan_ends_as_it_must_whatever_happens_on_the_way(database_url: str) -> None:
    tried(database_url, 25, fixed=True)


@pytest.mark.long
@pytest.mark.parametrize("part", range(MANY // PART))
def test_many_plans_end_as_they_must(database_url: str, part: int) -> None:
    tried(database_url, PART)
