"""What courses came to, as the arguments of one statement. Pure."""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from weft.db import arrays
from weft.flows.course import Course
from weft.flows.model import Held, NewTask, Step
from weft.queue import lanes
from weft.queue.model import Claimed, Rest

_json = msgspec.json.Encoder()


def arguments(courses: Sequence[Course], *, handed: frozenset[str]) -> dict[str, Any]:
    """The arguments of `write_advance`."""
    changed = [step for course in courses for step in course.changed.values()]
    ended = [step for course in courses for id, step in course.reported.items() if id not in course.changed]
    begun: list[tuple[Course, Step]] = []
    made: list[tuple[Course, Step]] = []
    for course in courses:
        for step in course.made.values():
            (begun if _is_bare(step) else made).append((course, step))
    tasks = [(course, task) for course in courses for task in course.tasks]
    return {**_ended(ended), **_changed(changed), **_begun(begun), **_made(made), **_tasks(tasks, handed), **_runs(courses)}


def lane(task: NewTask) -> str:
    return lanes.name(task.options["queue"], task.options["capabilities"])


def claimed(
    tasks: Sequence[tuple[Held, NewTask]], taken: frozenset[str], *, token: str, run_at: dt.datetime, sent: float
) -> list[Claimed]:
    """Tasks that were handed over, as a claim would have answered them."""
    return [
        Claimed(
            task.id, run.org, task.kind, task.payload, 1, lane(task), 100 - task.options["priority"], run_at,
            Rest(
                max_attempts=task.options["max_attempts"],
                retry=None if task.options["retry"] is None else msgspec.json.decode(task.options["retry"]),
                timeout=_seconds(task), correlation_id=run.correlation_id, trace_parent=run.trace_parent,
                run_id=run.id, step_id=task.step, tags=task.options["tags"],
            ),
            token, sent,
        )
        for run, task in tasks
        if task.id in taken
    ]  # fmt: skip


def _ended(steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "ended_ids": _plain(step.id for step in steps),
        "ended_states": _plain(step.state for step in steps),
        "ended_attempts": _numbers(step.attempt for step in steps),
        "ended_outputs": _written(steps, lambda step: step.output),
        "ended_errors": _written(steps, lambda step: step.error),
        "ended_started": _moments(steps),
    }


def _changed(steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "changed_ids": _plain(step.id for step in steps),
        "changed_states": _plain(step.state for step in steps),
        "changed_succeeded": _numbers(step.succeeded for step in steps),
        "changed_failed": _numbers(step.failed for step in steps),
        "changed_skipped": _numbers(step.skipped for step in steps),
        "changed_decided": _truths(step.decided for step in steps),
        "changed_parts": _numbers(step.parts for step in steps),
        "changed_parts_ended": _numbers(step.parts_ended for step in steps),
        "changed_parts_failed": _numbers(step.parts_failed for step in steps),
        "changed_parts_made": _numbers(step.parts_made for step in steps),
        "changed_parts_started": _numbers(step.parts_started for step in steps),
        "changed_blocks": arrays.quoted([step.block for step in steps]),
        "changed_params": _written(steps, lambda step: step.params),
        "changed_tasks": arrays.quoted([step.task_id for step in steps]),
        "changed_attempts": _numbers(step.attempt for step in steps),
        "changed_outputs": _written(steps, lambda step: step.output if step.whole else None),
        "changed_errors": _written(steps, lambda step: step.error),
        "changed_started": _moments(steps),
        "changed_whole": _truths(step.whole for step in steps),
    }


def _is_bare(step: Step) -> bool:
    """Whether it is new and nothing more: it waits for others, or for its task."""
    return (
        (step.state == "pending" or (step.state == "running" and step.task_id is not None))
        and not (step.parts or step.catching or step.succeeded or step.failed or step.skipped)
        and step.block is None and step.params is None and step.output is None and step.error is None
    )  # fmt: skip


def _begun(begun: Sequence[tuple[Course, Step]]) -> dict[str, Any]:
    frames = _Shared()
    places = [
        frames.place((course.run.id, course.run.org, step.frame, step.depth, step.state, step.waits, step.decided))
        for course, step in begun
    ]
    runs, orgs, ids, depths, states, waits, decided = frames.columns(7)
    return {
        "begun_ids": arrays.uuids([step.id for _, step in begun]),
        "begun_frames": _numbers(places),
        "begun_nodes": arrays.quoted([step.node for _, step in begun]) or "{}",
        "begun_elements": _numbers([step.element for _, step in begun]),
        "begun_items": _written([step for _, step in begun], lambda step: step.item),
        "begun_tasks": arrays.quoted([step.task_id for _, step in begun]),
        "frame_runs": _plain(runs), "frame_orgs": _plain(orgs), "frame_ids": _plain(ids), "frame_depths": _numbers(depths),
        "frame_states": _plain(states), "frame_waits": _numbers(waits), "frame_decided": _truths(decided),
    }  # fmt: skip


def _made(made: Sequence[tuple[Course, Step]]) -> dict[str, Any]:
    steps = [step for _, step in made]
    return {
        "made_ids": _plain(step.id for step in steps),
        "made_runs": _plain(course.run.id for course, _ in made),
        "made_orgs": _plain(course.run.org for course, _ in made),
        "made_frames": _plain(step.frame for step in steps),
        "made_nodes": arrays.quoted([step.node for step in steps]) or "{}",
        "made_elements": _numbers(step.element for step in steps),
        "made_catching": _truths(step.catching for step in steps),
        "made_depths": _numbers(step.depth for step in steps),
        "made_states": _plain(step.state for step in steps),
        "made_waits": _numbers(step.waits for step in steps),
        "made_succeeded": _numbers(step.succeeded for step in steps),
        "made_failed": _numbers(step.failed for step in steps),
        "made_skipped": _numbers(step.skipped for step in steps),
        "made_decided": _truths(step.decided for step in steps),
        "made_parts": _numbers(step.parts for step in steps),
        "made_parts_ended": _numbers(step.parts_ended for step in steps),
        "made_parts_failed": _numbers(step.parts_failed for step in steps),
        "made_parts_made": _numbers(step.parts_made for step in steps),
        "made_parts_started": _numbers(step.parts_started for step in steps),
        "made_blocks": arrays.quoted([step.block for step in steps]),
        "made_params": _written(steps, lambda step: step.params),
        "made_items": _written(steps, lambda step: step.item),
        "made_tasks": arrays.quoted([step.task_id for step in steps]),
        "made_outputs": _written(steps, lambda step: step.output),
        "made_errors": _written(steps, lambda step: step.error),
    }


def _tasks(tasks: Sequence[tuple[Course, NewTask]], handed: frozenset[str]) -> dict[str, Any]:
    shapes = _Shared()
    # options are the same object for all tasks of a plan that have the same (`compiled`)
    places = [shapes.place((course.run.id, task.kind, id(task.options)), (course.run, task)) for course, task in tasks]
    return {
        "task_ids": arrays.uuids([task.id for _, task in tasks]),
        "task_steps": arrays.uuids([task.step for _, task in tasks]),
        "task_payloads": arrays.quoted([task.payload for _, task in tasks]),
        "task_shapes": _numbers(places),
        "task_handed": _truths([task.id in handed for _, task in tasks]),
        **_shapes(shapes.values),
    }


def _shapes(shapes: Sequence[tuple[Held, NewTask]]) -> dict[str, Any]:
    options = [task.options for _, task in shapes]
    return {
        "shape_orgs": _plain(run.org for run, _ in shapes),
        "shape_runs": _plain(run.id for run, _ in shapes),
        "shape_kinds": arrays.quoted([task.kind for _, task in shapes]),
        "shape_queues": arrays.quoted([one["queue"] for one in options]),
        "shape_lanes": arrays.quoted([lane(task) for _, task in shapes]),
        "shape_urgencies": _numbers(100 - one["priority"] for one in options),
        "shape_attempts": arrays.floats([one["max_attempts"] for one in options]),
        "shape_retries": arrays.quoted([one["retry"] for one in options]),
        "shape_timeouts": arrays.floats([_seconds(task) for _, task in shapes]),
        "shape_tags": arrays.quoted([arrays.quoted(one["tags"]) if one["tags"] else None for one in options]),
        "shape_pools": arrays.quoted([task.pool for _, task in shapes]),
        "shape_correlations": arrays.quoted([run.correlation_id for run, _ in shapes]),
        "shape_traces": arrays.quoted([run.trace_parent for run, _ in shapes]),
    }


class _Shared:
    """What rows have in common, each kind of it once; a row says by its number which is its own."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, key: tuple[Any, ...], value: Any = None) -> int:
        found = self._places.get(key)
        if found is None:
            self.values.append(key if value is None else value)
            found = self._places[key] = len(self.values)
        return found

    def columns(self, count: int) -> list[Sequence[Any]]:
        return list(zip(*self.values, strict=True)) or [()] * count


def _runs(courses: Sequence[Course]) -> dict[str, Any]:
    runs = [course.run for course in courses]
    return {
        "run_ids": _plain(run.id for run in runs),
        "run_states": _plain(run.state for run in runs),
        "run_nodes": _numbers(run.parts for run in runs),
        "run_nodes_ended": _numbers(run.parts_ended for run in runs),
        "run_nodes_failed": _numbers(run.parts_failed for run in runs),
        "run_errors": _written(runs, lambda run: run.error),
        "run_outputs": _written(runs, lambda run: run.output),
        "run_ended": _truths(course.ended for course in courses),
        "definitions": _plain(
            course.run.definition_id for course in courses if course.ended and course.run.definition_id is not None
        ),
    }


def _moments(steps: Sequence[Step]) -> str:
    return arrays.moments([step.started_at for step in steps])


def _seconds(task: NewTask) -> float | None:
    timeout = task.options["timeout"]
    return None if timeout is None else float(timeout.total_seconds())


def _plain(values: Iterable[str]) -> str:
    return arrays.plain(values)


def _numbers(values: Iterable[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def _truths(values: Iterable[bool]) -> str:
    return "{" + ",".join(["t" if value else "f" for value in values]) + "}"


def _written(things: Sequence[Any], what: Callable[[Any], Any]) -> str | None:
    values = (what(one) for one in things)
    return arrays.quoted([None if value is None else _json.encode(value).decode() for value in values])
