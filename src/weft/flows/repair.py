"""Doing parts of a run again that stand in nested blocks: a step, what failed in a block, all that failed in a run.

What is done again is cleared with all that comes after it in its block. Whatever it stands in is then not over: its
holder goes on, what comes after the holder is cleared too, and so on up to the run.

    run ── andThen#1 ── each[3] ── charge ✗      retry charge: charge, then what hangs on it, in each[3];
                                                 each[3], each and andThen#1 go on; what came after them is cleared

Only a run that is over can be repaired, or one that stands still: there, what should have followed follows, and steps whose
task is nowhere are begun again. `planned` says what would be done, and changes nothing.
"""

import dataclasses
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import advance, look, operate, revive
from weft.flows.course import Course
from weft.flows.model import ENDED, OVER, Place, Step
from weft.plan import frontier, graph
from weft.plan.evaluate import Known
from weft.plan.rules import Ending

SQL = statements.load("weft.flows")

MOST = 10_000
"""Failed steps that are looked at."""

_FAILED = ("failed", "timed_out", "cancelled")


@dataclasses.dataclass(frozen=True)
class Redone:
    """A step that is done again, and why it had ended."""

    id: uuid.UUID
    path: str
    state: str
    error: str | None


@dataclasses.dataclass
class _Frame:
    """What is to be done in a block."""

    wanted: set[str] = dataclasses.field(default_factory=set)
    """Nodes to be done again."""
    going: set[str] = dataclasses.field(default_factory=set)
    """Nodes inside of which something is."""
    elements: dict[str, Step] = dataclasses.field(default_factory=dict)
    """Elements to be done again, or inside of which something is."""
    redone: set[str] = dataclasses.field(default_factory=set)
    """Those of them that are themselves."""
    catches: list[Step] = dataclasses.field(default_factory=list)
    """Catches inside of which something is done again: they stay."""
    said: list[Step] = dataclasses.field(default_factory=list)
    """Steps of which somebody says how they ended."""


async def retry(tx: Tx, run: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID, actor: str) -> list[Redone]:
    """What failed in a step, once more: itself, or, of a block, the innermost steps that did."""
    course = await _over(tx, run, org=org)
    found = await _step(tx, course, step)
    if found.state not in (*_FAILED, "upstream_failed"):
        raise errors.Conflict(f"{found.node!r} is {found.state}, it did not fail; re-run from it to do it again")
    chosen = [one for one in await _culprits(tx, course) if await _within(tx, course, one, found)]
    return await _anew(tx, course, chosen or [found], actor=actor, action="run.retry")


async def rerun(tx: Tx, run: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID, actor: str) -> list[Redone]:
    """A step with all inside of it, and all that comes after it, once more, however they ended."""
    course = await _over(tx, run, org=org)
    return await _anew(tx, course, [await _step(tx, course, step)], actor=actor, action="run.rerun_from")


async def reset(tx: Tx, run: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID, actor: str) -> list[Redone]:
    """A block from its beginning, as if nothing in it had been done; the steps before it stay."""
    course = await _over(tx, run, org=org)
    found = await _step(tx, course, step)
    if found.block is None and not found.parts_made:
        raise errors.Conflict(f"{found.node!r} has opened no block; re-run from it instead")
    return await _anew(tx, course, [found], actor=actor, action="run.reset")


async def planned(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> list[Redone]:
    """What `repair` would do again."""
    if await look.stands_still(tx, run, org=org):
        afresh, lost = await revive.look(tx, run, org=org)
        return await _told(tx, afresh, lost)
    course = await _over(tx, run, org=org)
    return await _told(tx, course, await _culprits(tx, course))


async def repair(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> list[Redone]:
    """Everything that failed in a run, the innermost steps of it; what went well is kept."""
    course = await advance.one(tx, run, org=org)
    if await look.stands_still(tx, run, org=org):
        return await _revived(tx, run, org=org, actor=actor)
    _must_be_over(course)
    culprits = await _culprits(tx, course)
    if not culprits:
        raise errors.Conflict("nothing in this run failed, so there is nothing to repair")
    return await _anew(tx, course, culprits, actor=actor, action="run.repair")


async def mark(
    tx: Tx, run: uuid.UUID, step: uuid.UUID, *, org: uuid.UUID, actor: str, state: Literal["completed", "failed"],
    output: Any = None,
) -> None:  # fmt: skip
    """Says how a step ended, wherever it stands; the run goes on from there."""
    course = await advance.one(tx, run, org=org)
    found = await _step(tx, course, step)
    error = None if state == "completed" else {"type": "Marked", "message": f"marked by {actor}"}
    known = Known(state, output, error)
    if found.state in ENDED and course.run.state not in OVER:
        raise errors.Conflict(f"{found.node!r} has ended ({found.state}); wait until the run has, or cancel it")
    await operate.journal(tx, course, actor=actor, action="run.mark", after={"step": found.id, "state": state})
    if course.run.state in OVER:
        await _clear(tx, course, [found], said=True)
    elif found.task_id is not None or found.parts:
        await tx.run(SQL.cancel_below, {"run_id": run, "id": found.id})
        await tx.run(SQL.drop_below, {"run_id": run, "opened": [found.id], "caught": [found.id]})
    found.task_id = None
    course.say(found, known)
    await operate.go(tx, course)


async def _over(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> Course:
    course = await advance.one(tx, run, org=org)
    _must_be_over(course)
    return course


def _must_be_over(course: Course) -> None:
    if course.run.state not in OVER:
        raise errors.Conflict(f"the run is {course.run.state}; wait until it has ended, or cancel it")


async def _revived(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> list[Redone]:
    """Whatever should have followed in a run that stands still, and steps whose task is nowhere once more."""
    course, lost = await revive.look(tx, run, org=org)
    told = await _told(tx, course, lost)
    for step in lost:
        course.redo(step)
    await advance.carry_out(tx, [course])
    if await look.stands_still(tx, run, org=org):
        raise errors.Conflict("its steps do not say how it could go on; cancel it, and run it again")
    after = {"steps": [str(one.id) for one in told[:100]], "count": len(told)}
    await operate.journal(tx, course, actor=actor, action="run.repair", after=after)
    return told


async def _step(tx: Tx, course: Course, id: uuid.UUID) -> Step:
    """A catch stands for the step whose failure it caught."""
    row = await tx.row(SQL.steps_by_id, {"run_id": course.run.id, "ids": [id]})
    if row is None:
        raise errors.NotFound(f"the run has no step {id}")
    step = Step(*row)
    course.know(step)
    if step.catching:
        [step] = await _places(tx, course, [Place(step.frame, step.node, step.element)])
    return step


async def _culprits(tx: Tx, course: Course) -> list[Step]:
    """The innermost steps that failed and that nothing caught: those that a failed run failed of."""
    rows = await tx.rows(SQL.unhappy_steps, {"run_id": course.run.id, "take": MOST})
    steps = [Step(*row) for row in rows]
    inside: dict[str, list[Step]] = {}
    elements: dict[tuple[str, str], list[Step]] = {}
    for one in steps:
        if one.catching:
            continue  # what it stands for is tried again, and it with it
        if one.element >= 0:
            elements.setdefault((one.frame, one.node), []).append(one)
        else:
            inside.setdefault(one.frame, []).append(one)
    found: list[Step] = []
    todo = list(inside.get(course.run.id, ()))
    while todo:
        one = todo.pop()
        deeper = inside.get(one.id, []) + (elements.get((one.frame, one.node), []) if one.element < 0 else [])
        todo += deeper
        if not deeper:
            course.know(one)
            found.append(one)
    return sorted(found, key=lambda one: one.id)


async def _within(tx: Tx, course: Course, one: Step, whole: Step) -> bool:
    """Whether a step is this one, one of its elements, or stands in what it has opened."""
    await _ancestors(tx, course, [one])
    while True:
        if (one.frame, one.node) == (whole.frame, whole.node) and whole.element in (-1, one.element):
            return True
        if one.frame == course.run.id:
            return False
        one = course.by_id(one.frame)


async def _anew(tx: Tx, course: Course, targets: Sequence[Step], *, actor: str, action: str) -> list[Redone]:
    told = await _told(tx, course, targets)
    await _clear(tx, course, targets)
    after = {"steps": [str(one.id) for one in told[:100]], "count": len(told)}
    await operate.journal(tx, course, actor=actor, action=action, after=after)
    await operate.go(tx, course)
    return told


async def _clear(tx: Tx, course: Course, targets: Sequence[Step], *, said: bool = False) -> None:
    """Clears what is to be done again, and begins it; `said`: not the targets themselves, but what comes after them."""
    await _ancestors(tx, course, targets)
    for frame, told in _frames(course, targets, said=said).items():
        await _clear_frame(tx, course, frame, told)


def _frames(course: Course, targets: Iterable[Step], *, said: bool) -> dict[str, _Frame]:
    """What is to be done in which blocks, the outermost first; nothing in what is cleared as a whole."""
    frames: dict[str, _Frame] = {}
    for target in targets:
        frame = frames.setdefault(target.frame, _Frame())
        if target.element >= 0:
            frame.elements[target.id] = target
        if said:
            frame.said.append(target)
        elif target.element >= 0:
            frame.redone.add(target.id)
        (frame.going if said or target.element >= 0 else frame.wanted).add(target.node)
        one = target
        while one.frame != course.run.id:
            one = course.by_id(one.frame)
            outer = frames.setdefault(one.frame, _Frame())
            outer.going.add(one.node)
            if one.catching:
                outer.catches.append(one)
            if one.element >= 0:
                whole = course.at(Place(one.frame, one.node, one.element))
                outer.elements[whole.id] = whole
    return _kept(course, frames)


def _kept(course: Course, frames: dict[str, _Frame]) -> dict[str, _Frame]:
    kept: dict[str, _Frame] = {}
    for frame in sorted(frames, key=lambda id: course.by_id(id).depth if id != course.run.id else -1):
        told = frames[frame]
        if frame != course.run.id:
            holder = course.by_id(frame)
            outer = kept.get(holder.frame)
            if outer is None or holder.node not in outer.going or holder.id in outer.redone:
                continue  # cleared with what it stands in
        edges = course.edges(frame)
        told.wanted |= {after for node in told.going for after in edges.downstream[node]}
        told.wanted = set(graph.below(edges, told.wanted))
        told.going -= told.wanted
        kept[frame] = told
    return kept


async def _clear_frame(tx: Tx, course: Course, frame: str, told: _Frame) -> None:
    edges = course.edges(frame)
    steps: dict[str, Step] = {}
    for row in await tx.rows(SQL.frame_steps, {"run_id": course.run.id, "frame_id": frame}):
        steps[row[2]] = course.known(Step(*row))
    going = [steps[node] for node in sorted(told.going)]
    elements = [one for one in told.elements.values() if one.node in told.going]
    redone = [one for one in elements if one.id in told.redone]
    stays = {(one.node, one.element) for one in told.catches}
    caught = [one.id for one in (*going, *elements) if (one.node, one.element) not in stays]
    opened = [one.id for one in (*redone, *told.said)]
    await tx.run(SQL.drop_below, {"run_id": course.run.id, "opened": opened, "caught": caught})
    open_ = [*going, *elements, *(one for one in told.catches if one.node in told.going)]
    await tx.run(SQL.forget_endings, {"ids": [one.id for one in open_]})
    before = {one.id: one.error for one in open_}
    for one in open_:
        course.set_going(one)
    for one in redone:
        one.block = one.params = one.task_id = None
        one.parts = one.parts_ended = one.parts_failed = one.parts_made = one.parts_started = 0
        course.redo(one)
    for node in sorted({one.node for one in elements}):
        await _recount_elements(tx, course, steps[node], [one.id for one in elements if one.node == node])
        if steps[node].parts_failed:
            steps[node].error = before[steps[node].id]  # of another element
    if told.wanted:
        endings: dict[str, Ending] = {name: one.state for name, one in steps.items() if one.state in ENDED}  # type: ignore[misc]
        await operate.restart(tx, course, steps, frontier.again(edges, endings, frozenset(told.wanted)))
    if frame == course.run.id:
        operate.recount(course, steps)
    else:
        course.recount(frame, steps)
        course.close_if_over(course.by_id(frame))


async def _recount_elements(tx: Tx, course: Course, whole: Step, but: list[str]) -> None:
    """The counters of a foreach, of which some elements are not over now. All that were made count as started."""
    arguments = {"run_id": course.run.id, "frame_id": whole.frame, "node": whole.node, "but": but}
    row = await tx.row(SQL.count_elements, arguments)
    assert row is not None
    whole.parts_ended, whole.parts_failed = row
    whole.parts_started = whole.parts_made


async def _ancestors(tx: Tx, course: Course, steps: Sequence[Step]) -> None:
    """Reads what these steps stand in, all the way up."""
    outer = sorted({one.frame for one in steps if one.frame != course.run.id})
    places = []
    for _, *row in await tx.rows(SQL.load_frames, {"ids": outer}) if outer else ():
        one = course.known(Step(*row))
        if one.catching and one.element >= 0:
            places.append(Place(one.frame, one.node, one.element))
    if places:
        await _places(tx, course, places)


async def _places(tx: Tx, course: Course, places: Sequence[Place]) -> list[Step]:
    course.wanted.clear()
    course.wanted_ids.clear()
    course.wanted |= {place: False for place in places}
    await advance.read(tx, [course])
    return [course.at(place) for place in places]


async def _told(tx: Tx, course: Course, targets: Sequence[Step]) -> list[Redone]:
    await _ancestors(tx, course, targets)
    return [Redone(uuid.UUID(one.id), _path(course, one), one.state, (one.error or {}).get("message")) for one in targets]


def _path(course: Course, one: Step) -> str:
    """Where a step stands, in words: `andThen#1/each[3]/charge`."""
    names = []
    while True:
        names.append(one.node + (f"[{one.element}]" if one.element >= 0 else "") + (" (catch)" if one.catching else ""))
        if one.frame == course.run.id:
            return "/".join(reversed(names))
        one = course.by_id(one.frame)
