"""Advancing runs: take their facts, read what is needed, decide (`course`), write. All runs of a batch together."""

import dataclasses
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from weft.base import crash, errors
from weft.db import statements
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


async def advance(
    tx: Tx, runs: Sequence[str], *, ended: Sequence[str] = (), hands: Hands | None = None
) -> Advanced:
    """Advances those of these runs whose lock is free. `hands` gets tasks that became ready, as if it had claimed them.

    `ended`: tasks that have just ended, so that what hangs on them can be read along with the facts.
    """
    sent = time.monotonic()
    rows = await tx.rows(SQL.lock_runs, {"ids": sorted(runs)})
    done = Advanced(busy=sorted(set(runs) - {row[0] for row in rows}))
    if not rows:
        return done
    mint = Mint(*rows[0][-2:])
    expected = _expected(rows, ended)
    found = await tx.rows(SQL.take_facts, {"ids": [row[0] for row in rows], "take": FACTS, **expected})
    told: dict[str, list[Sequence[Any]]] = {}
    for fact in found:
        told.setdefault(fact[0], []).append(fact)
    courses = []
    for row in rows:
        held = Held(*row[:-2])
        if held.id in told and held.state in ("running", "waiting"):
            courses.append(await _course(tx, held, mint, told[held.id]))
    if len(found) >= FACTS:
        done.busy += [row[0] for row in rows]
    await decide(tx, courses)
    crash.point("advance: decided")
    await write(tx, courses, done=done, hands=hands, sent=sent)
    crash.point("advance: written")
    return done


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


async def _course(tx: Tx, held: Held, mint: Mint, facts: Sequence[Sequence[Any]]) -> Course:
    course = Course(held, await plans.load(tx, org=held.org, hash=held.plan_hash), mint=mint)
    for row in facts:
        course.know(Step(*row[8:]))
        if row[1] is not None:
            course.told(Fact(*row[:8]))
    return course


def _expected(rows: Sequence[Sequence[Any]], ended: Sequence[str]) -> dict[str, Any]:
    """The steps that hang on tasks of these runs that have just ended, as far as this process knows them."""
    places: list[tuple[str, str, str]] = []
    for row in rows:
        plan = plans.cached(row[2])
        if plan is not None and len(ended) <= _FEW:
            places += [(row[0], frame, node) for task in ended for frame, node in plan.after(task)]
    return {
        "runs": [run for run, _, _ in places],
        "frames": [frame for _, frame, _ in places],
        "nodes": [node for _, _, node in places],
        "elements": [-1] * len(places),
        "catching": [False] * len(places),
    }


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
