"""Advancing runs: take their facts, read what is needed, decide (`course`), write. All runs of a batch together."""

import asyncio
import dataclasses
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.base import crash, errors
from weft.db import arrays, statements
from weft.db.tx import Tx
from weft.flows import compiled as plans
from weft.flows import writing
from weft.flows.course import Course
from weft.flows.model import Fact, Held, NewTask, Over, Place, Step
from weft.queue.model import Claimed

SQL = statements.load("weft.flows")

log = logging.getLogger("weft.flows")

FACTS = 5000
"""Facts taken at a time."""
_FEW = 20
_LOADS = 1000
"""A run that asks to read more often than this in one advance is broken."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hands:
    """A worker that can take tasks over at once: what it serves, how many it has room for, and what it was given."""

    node_id: str
    token: str
    kinds: frozenset[str]
    serves: Callable[[str], bool]
    """Whether it claims from this lane."""
    room: int
    given: list[Claimed] = dataclasses.field(default_factory=list)
    """Its own as soon as the transaction is committed."""


@dataclasses.dataclass
class Advanced:
    """What became of runs that were to be advanced."""

    busy: list[str] = dataclasses.field(default_factory=list)
    """Runs that somebody else holds, or that have more facts: to be tried again after the commit."""
    waiting: list[str] = dataclasses.field(default_factory=list)
    """Definitions of which a run ended while others wait to be let in."""
    ready: int = 0
    """New tasks that are there for anybody to claim."""

    @property
    def unfinished(self) -> bool:
        return bool(self.busy or self.waiting)


class Mint:
    """Ids in order, from one draw of the database."""

    def __init__(self, prefix: str, low: int) -> None:
        self._prefix, self._next = prefix, low

    def __call__(self) -> str:
        self._next += 1
        return f"{self._prefix}{self._next:012x}"


class Holding:
    """Runs whose locks are ours until the transaction ends."""

    def __init__(self, rows: Sequence[Sequence[Any]], *, asked: Sequence[str], sent: float) -> None:
        self.runs = {row[0]: Held(*row[:-3]) for row in rows}
        self.busy = sorted(set(asked) - self.runs.keys())
        """Those that somebody else has, or that stand still."""
        self.left = any(row[-3] for row in rows)
        """There are facts that others left for us."""
        self.mint = Mint(*rows[0][-2:]) if rows else None
        self.sent = sent


async def hold(tx: Tx, runs: Sequence[str]) -> Holding:
    """Locks those of these runs that are free: nobody waits."""
    sent = time.monotonic()
    return Holding(await tx.rows(SQL.lock_runs, {"ids": sorted(runs)}), asked=runs, sent=sent)


async def advance(tx: Tx, runs: Sequence[str]) -> Advanced:
    """Advances those of these runs whose lock is free by what they were told."""
    return await go_on(tx, await hold(tx, runs))


async def give_up(tx: Tx, run: str, error: Exception) -> None:
    """A run of which nothing can be written but that it failed; what it was told is dropped with it."""
    holding = await hold(tx, [run])
    courses = [await _course(tx, held, holding.mint) for held in holding.runs.values()]
    for course in courses:
        # as if something of it was written: its tasks are cancelled
        course.wrote()
        course.break_off(error)
    await carry_out(tx, courses)


async def go_on(
    tx: Tx, holding: Holding, facts: Sequence[Fact] = (), *, over: Sequence[Over] = (), hands: Hands | None = None
) -> Advanced:
    """Advances runs that are held by these facts, by what is `over`, and by those facts that others left.

    `hands` gets tasks that became ready, as if it had claimed them.
    """
    done = Advanced(busy=list(holding.busy))
    if holding.left:
        left = await tx.rows(SQL.take_facts, {"ids": sorted(holding.runs), "take": FACTS})
        if len(left) >= FACTS:
            done.busy += sorted(holding.runs)
        facts = [*(Fact(*row) for row in left), *facts]
    over = await _uncounted(tx, holding, over)
    all_told: list[Fact | Over] = [*facts, *over]
    told = sorted({one.run for one in all_told if holding.runs[one.run].state in ("running", "waiting")})
    courses = {run: await _course(tx, holding.runs[run], holding.mint) for run in told}
    await _tell(tx, courses, [fact for fact in facts if fact.run in courses], over)
    await carry_out(tx, list(courses.values()), done=done, hands=hands, sent=holding.sent)
    return done


async def _uncounted(tx: Tx, holding: Holding, over: Sequence[Over]) -> Sequence[Over]:
    """Counts those from which nothing follows, where their block stays open, reading nothing; answers the others."""
    quiet: dict[str, list[Over]] = {}
    others: list[Over] = []
    for one in over:
        plan = plans.cached(holding.runs[one.run].plan_hash)
        block = None if plan is None or one.element >= 0 or one.catching else plan.opened.get(one.frame)
        if plan is None or block is None or one.frame == one.run or not plan.is_quiet(block, one.node, one.output):
            others.append(one)
        else:
            quiet.setdefault(one.frame, []).append(one)
    if not quiet:
        return over
    rows = await tx.rows(SQL.count_ended, {
        "ids": arrays.plain(quiet), "counts": [len(ended) for ended in quiet.values()],
    })  # fmt: skip
    counted = {id for (id,) in rows}
    return others + [one for frame, ended in quiet.items() if frame not in counted for one in ended]


async def _tell(tx: Tx, courses: Mapping[str, Course], facts: Sequence[Fact], over: Sequence[Over]) -> None:
    """Reads the steps that facts are about, and the blocks around all of them."""
    all_told: list[Fact | Over] = [*facts, *over]
    expected = [
        (one.run, frame, node)
        for one in all_told if len(all_told) <= _FEW
        for frame, node in courses[one.run].compiled.after(one.task)
    ]  # fmt: skip
    about = {fact.step for fact in facts if fact.step is not None}
    about |= {one.frame for one in over if one.frame != one.run}
    if about or expected:
        for run, *row in await tx.rows(SQL.load_told, {
            "ids": arrays.plain(about),
            "runs": arrays.plain([run for run, _, _ in expected]),
            "frames": arrays.plain([frame for _, frame, _ in expected]),
            "nodes": arrays.quoted([node for _, _, node in expected]) or "{}",
            "elements": [-1] * len(expected),
            "catching": [False] * len(expected),
        }):  # fmt: skip
            courses[run].know(Step(*row))
    for one in over:
        courses[one.run].over(one)
    for fact in facts:
        courses[fact.run].told(fact)


async def one(tx: Tx, run: uuid.UUID | str, *, org: uuid.UUID | str) -> Course:
    """A run whose lock is waited for, by those who hold nothing else; NotFound."""
    row = await tx.row(SQL.lock_run, {"id": str(run), "org_id": str(org)})
    if row is None:
        raise errors.NotFound(f"there is no run {run}")
    held = Held(*row[:-2])
    return Course(held, await plans.load(tx, org=held.org, hash=held.plan_hash), mint=Mint(*row[-2:]))


async def carry_out(
    tx: Tx, courses: Sequence[Course], *, done: Advanced | None = None, hands: Hands | None = None, sent: float = 0.0
) -> Advanced:
    """Lets each go as far as it can and writes what comes of it: of much, a portion while the next is decided."""
    done = done or Advanced()
    room = hands.room if hands is not None else 0
    beside: asyncio.Task[None] | None = None
    try:
        while courses:
            await _decide(tx, courses)
            crash.point("advance: decided")
            last = all(course.done for course in courses)
            portion = _portion(courses, hands, room=room, last=last)
            room -= portion.offered
            if beside is not None:
                await beside
                beside = None
            written = _write(tx, portion, done=done, hands=hands, sent=sent)
            if last:
                await written
                break
            beside = asyncio.create_task(written)
            # before the next is decided, which keeps the loop to itself
            await tx.sent()
    finally:
        if beside is not None:  # the connection is not free before
            await asyncio.gather(beside, return_exceptions=True)
    crash.point("advance: written")
    return done


async def _decide(tx: Tx, courses: Sequence[Course]) -> None:
    """Lets each go until its portion is full or it is done; reads what all of them need, and again."""
    going = list(courses)
    for _ in range(_LOADS):
        going = [course for course in going if _going(course)]
        if not going:
            return
        await read(tx, going)
    raise errors.DatabaseError("a run asks for steps that are not there; its plan and its steps do not fit")


@dataclasses.dataclass(frozen=True)
class _Portion:
    """What is to be written at a time."""

    arguments: dict[str, Any]
    tasks: list[tuple[Held, NewTask]]
    offered: int
    """How many of the tasks are offered to who asks."""
    later: list[tuple[Held, str]]
    """Steps with more elements to begin, for the next advance."""
    broken: list[str]
    """Runs that broke after something of them was written."""


def _portion(courses: Sequence[Course], hands: Hands | None, *, room: int, last: bool) -> _Portion:
    """What has come of them by now. What is left for later is said once, with the last."""
    tasks = [(course.run, task) for course in courses for task in course.tasks]
    handed = _offered(hands, [task for _, task in tasks], room=room)
    arguments = writing.arguments(courses, handed=frozenset(handed))
    arguments |= {"node_id": hands.node_id if hands else None, "token": hands.token if hands else None}
    later = [(course.run, step) for course in courses for step in sorted(course.later)] if last else []
    broken = [course.run.id for course in courses if course.broken and course.in_portions]
    for course in courses:
        course.wrote()
    return _Portion(arguments, tasks, len(handed), later, broken)


async def _write(tx: Tx, portion: _Portion, *, done: Advanced, hands: Hands | None, sent: float) -> None:
    row = await tx.row(SQL.write_advance, portion.arguments)
    assert row is not None
    taken, run_at, waiting, _ = row
    for run in portion.broken:
        await tx.run(SQL.cancel_tasks, {"run_id": run, "nodes": None})
    if portion.later:
        await tx.run(SQL.leave_for_later, {
            "runs": [run.id for run, _ in portion.later], "orgs": [run.org for run, _ in portion.later],
            "steps": [step for _, step in portion.later],
        })  # fmt: skip
        done.busy += sorted({run.id for run, _ in portion.later})
    done.waiting += waiting or []
    done.ready += len(portion.tasks) - len(taken or ())
    if taken and hands is not None:
        hands.given.extend(writing.claimed(portion.tasks, frozenset(taken), token=hands.token, run_at=run_at, sent=sent))


async def _course(tx: Tx, held: Held, mint: Mint | None) -> Course:
    assert mint is not None
    return Course(held, await plans.load(tx, org=held.org, hash=held.plan_hash), mint=mint)


def _going(course: Course) -> bool:
    """One step further; whether it must read something first. A course that breaks must not take the others down: its run
    fails."""
    try:
        return course.go_on()
    except Exception as error:
        log.exception("run %s cannot go on", course.run.id)
        course.break_off(error)
        return False


async def read(tx: Tx, courses: Sequence[Course]) -> None:
    """What they have asked for."""
    by_run = {course.run.id: course for course in courses}
    if frames := [id for course in courses for id in course.wanted_ids]:
        for run, *row in await tx.rows(SQL.load_frames, {"ids": frames}):
            if run in by_run:
                by_run[run].know(Step(*row))
    for course in courses:
        for place in course.wanted_lists:
            whose = {"run_id": course.run.id, "frame_id": place.frame, "node": place.node}
            elements, outputs = await tx.row(SQL.load_elements, whose) or ((), ())
            course.know_elements(place, dict(zip(elements or (), outputs or (), strict=True)))
    places = [(course.run.id, place, whole) for course in courses for place, whole in course.wanted.items()]
    if not places:
        return
    arguments = {
        "runs": [run for run, _, _ in places],
        "frames": [place.frame for _, place, _ in places],
        "nodes": [place.node for _, place, _ in places],
        "elements": [place.element for _, place, _ in places],
        "catching": [place.catching for _, place, _ in places],
        "whole": [whole for _, _, whole in places],
    }
    found: set[tuple[str, Place]] = set()
    for run, *row in await tx.rows(SQL.load_steps, arguments):
        step = Step(*row)
        by_run[run].know(step)
        found.add((run, step.place))
    for run, place, _ in places:
        if (run, place) not in found:
            by_run[run].not_there(place)


def _offered(hands: Hands | None, tasks: Sequence[NewTask], *, room: int) -> list[str]:
    """Those that whoever asks may have, the first of them."""
    if hands is None or room <= 0:
        return []
    # options are the same object for all tasks of a plan that have the same (`compiled`)
    kinds = {(task.kind, id(task.options)): task for task in tasks}
    taken = {
        key for key, one in kinds.items()
        if one.pool is None and one.kind in hands.kinds and hands.serves(writing.lane(one))
    }  # fmt: skip
    return [task.id for task in tasks if (task.kind, id(task.options)) in taken][:room]
