"""Advancing runs: take their facts, read what is needed, decide (`course`), write. All runs of a batch together."""

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
from weft.flows.model import Fact, Held, Place, Step
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
    """A worker that can take tasks over at once: what it serves, and how many it has room for."""

    node_id: str
    token: str
    kinds: frozenset[str]
    serves: Callable[[str], bool]
    """Whether it claims from this lane."""
    room: int


@dataclasses.dataclass
class Advanced:
    """What became of runs that were to be advanced."""

    handed: list[Claimed] = dataclasses.field(default_factory=list)
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


async def go_on(tx: Tx, holding: Holding, facts: Sequence[Fact] = (), *, hands: Hands | None = None) -> Advanced:
    """Advances runs that are held by these facts, and by those that others left.

    `hands` gets tasks that became ready, as if it had claimed them.
    """
    done = Advanced(busy=list(holding.busy))
    if holding.left:
        left = await tx.rows(SQL.take_facts, {"ids": sorted(holding.runs), "take": FACTS})
        if len(left) >= FACTS:
            done.busy += sorted(holding.runs)
        facts = [*(Fact(*row) for row in left), *facts]
    told = sorted({fact.run for fact in facts if holding.runs[fact.run].state in ("running", "waiting")})
    courses = {run: await _course(tx, holding.runs[run], holding.mint) for run in told}
    await _tell(tx, courses, [fact for fact in facts if fact.run in courses])
    await decide(tx, list(courses.values()))
    crash.point("advance: decided")
    await write(tx, list(courses.values()), done=done, hands=hands, sent=holding.sent)
    crash.point("advance: written")
    return done


async def _tell(tx: Tx, courses: Mapping[str, Course], facts: Sequence[Fact]) -> None:
    """Reads the steps that the facts are about, and the blocks around them."""
    if not facts:
        return
    expected = [
        (run, frame, node)
        for fact in facts if len(facts) <= _FEW
        for run, course in [(fact.run, courses[fact.run])]
        for frame, node in course.compiled.after(fact.task)
    ]  # fmt: skip
    for run, *row in await tx.rows(SQL.load_told, {
        "ids": arrays.plain([fact.step for fact in facts if fact.step is not None]),
        "runs": arrays.plain([run for run, _, _ in expected]),
        "frames": arrays.plain([frame for _, frame, _ in expected]),
        "nodes": arrays.quoted([node for _, _, node in expected]) or "{}",
        "elements": [-1] * len(expected),
        "catching": [False] * len(expected),
    }):  # fmt: skip
        courses[run].know(Step(*row))
    for fact in facts:
        courses[fact.run].told(fact)


async def one(tx: Tx, run: uuid.UUID | str, *, org: uuid.UUID | str) -> Course:
    """A run whose lock is waited for, by those who hold nothing else; NotFound."""
    row = await tx.row(SQL.lock_run, {"id": str(run), "org_id": str(org)})
    if row is None:
        raise errors.NotFound(f"there is no run {run}")
    held = Held(*row[:-2])
    return Course(held, await plans.load(tx, org=held.org, hash=held.plan_hash), mint=Mint(*row[-2:]))


async def decide(tx: Tx, courses: Sequence[Course]) -> None:
    """Lets each go as far as it can, reads what all of them need, and again."""
    going = list(courses)
    for _ in range(_LOADS):
        going = [course for course in going if not _going(course)]
        if not going:
            return
        await read(tx, going)
    raise errors.DatabaseError("a run asks for steps that are not there; its plan and its steps do not fit")


async def write(
    tx: Tx, courses: Sequence[Course], *, done: Advanced | None = None, hands: Hands | None = None, sent: float = 0.0
) -> Advanced:
    done = done or Advanced()
    if not courses:
        return done
    handed = [task.id for course in courses for task in course.tasks if _takes(hands, task.kind, task)]
    room = hands.room if hands is not None else 0
    arguments = writing.arguments(courses, handed=frozenset(handed[:room]))
    arguments |= {"node_id": hands.node_id if hands else None, "token": hands.token if hands else None}
    row = await tx.row(SQL.write_advance, arguments)
    assert row is not None
    taken, run_at, waiting, _ = row
    if later := [(course, step) for course in courses for step in sorted(course.later)]:
        await tx.run(SQL.leave_for_later, {
            "runs": [course.run.id for course, _ in later], "orgs": [course.run.org for course, _ in later],
            "steps": [step for _, step in later],
        })  # fmt: skip
        done.busy += sorted({course.run.id for course, _ in later})
    done.waiting += waiting or []
    done.ready += sum(len(course.tasks) for course in courses) - len(taken or ())
    if taken and hands is not None:
        done.handed += writing.claimed(courses, frozenset(taken), token=hands.token, run_at=run_at, sent=sent)
    return done


async def _course(tx: Tx, held: Held, mint: Mint | None) -> Course:
    assert mint is not None
    return Course(held, await plans.load(tx, org=held.org, hash=held.plan_hash), mint=mint)


def _going(course: Course) -> bool:
    """One step further. A course that breaks must not take the others down: its run fails."""
    try:
        return course.go_on()
    except Exception as error:
        log.exception("run %s cannot go on", course.run.id)
        course.break_off(error)
        return True


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


def _takes(hands: Hands | None, kind: str, task: Any) -> bool:
    if hands is None or task.pool is not None:
        return False
    return kind in hands.kinds and hands.serves(writing.lane(task))
