"""Subjects that whole pages hang on: a run with its steps, lists, the overview.

A list is not pushed: what is told is `{"changed": n}`, another number whenever the list may look different, and the page
asks for what it shows. The number is made of rows of the watcher's org, so that nobody hears the others work. What the
feed tells of too often, or not at all, is looked at once in a while instead.
"""

import datetime as dt
import uuid
import zlib
from typing import Annotated, Any

import msgspec

from weft.api import job_shape, overview, queues, runs
from weft.api.live_subject import Nothing, Reading, Subject
from weft.base import json
from weft.cluster import nodes
from weft.flows import look, signs
from weft.flows.model import OVER
from weft.jobs import executions, manage
from weft.journal import audit
from weft.live.asking import Ask
from weft.queue import counts, minutes
from weft.queue import dead as letters
from weft.queue import queues as queue_kernel

_LARGE = 100_000
"""Bytes of a run's params and output that are pushed; larger ones are asked for."""
_QUEUES = 100
_NODES = 200


class OfRun(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which run."""

    id: uuid.UUID


class OfJob(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which job."""

    id: uuid.UUID


class OfRange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How far back, in steps of whole minutes."""

    minutes: Annotated[int, msgspec.Meta(ge=1, le=1440)] = 60
    points: Annotated[int, msgspec.Meta(ge=1, le=500)] = 60


class WatchedRun(msgspec.Struct):
    """A run; how many of its steps are in which state; another number when a step may have changed."""

    run: runs.Run
    counts: dict[str, int]
    changed: int


class Changed(msgspec.Struct):
    """Another number when something may have changed."""

    changed: int


async def run(ask: Ask) -> Reading:
    found = runs.shown_run(await look.run(ask.tx, ask.args.id, org=ask.org))
    steps = await signs.of_steps(ask.tx, ask.args.id, org=ask.org)
    if len(json.dumps([found.params, found.output, found.error])) > _LARGE:
        found.params, found.output, found.error = {}, None, None
    number = _number([steps.counts, steps.rest])
    # a workflow's own task has the run's id
    tasks = frozenset({found.id, *steps.tasks})
    return Reading(WatchedRun(found, steps.counts, number), over=found.state in OVER, tasks=tasks)


async def all_runs(ask: Ask) -> Reading:
    return Reading(Changed(_number(await signs.of_runs(ask.tx, org=ask.org))))


async def definitions(ask: Ask) -> Reading:
    return Reading(Changed(_number(await signs.of_definitions(ask.tx, org=ask.org))))


async def job(ask: Ask) -> Reading:
    return Reading(job_shape.job(await manage.get(ask.tx, id=ask.args.id, org=ask.org)))


async def all_jobs(ask: Ask) -> Reading:
    return Reading(Changed(_number(await executions.sign(ask.tx, org=ask.org))))


async def all_queues(ask: Ask) -> Reading:
    found = [queues.shown(one) for one in await queue_kernel.page(ask.tx, org=ask.org, take=_QUEUES)]
    return Reading(Changed(_number(found)))


async def all_nodes(ask: Ask) -> Reading:
    found = await nodes.seen(ask.tx, org=ask.org, statuses=("starting", "active", "draining", "dead"), take=_NODES)
    busy = await counts.running_by_node(ask.tx, org=ask.org)
    return Reading(Changed(_number([(str(one.id), one.status, busy.get(one.id, 0)) for one in found])))


async def dead(ask: Ask) -> Reading:
    return Reading(Changed(_number(await letters.sign(ask.tx, org=ask.org))))


async def trail(ask: Ask) -> Reading:
    newest = await audit.page(ask.tx, org=ask.org, filter=audit.Filter(), take=1)
    return Reading(Changed(_number([(str(one.id), one.number) for one in newest])))


async def at_a_glance(ask: Ask) -> Reading:
    now = await minutes.now(ask.tx)
    since = now - dt.timedelta(minutes=ask.args.minutes)
    return Reading(await overview.read(ask.tx, org=ask.org, since=since, until=now, points=ask.args.points, now=now))


def _number(sign: Any) -> int:
    return zlib.crc32(json.dumps(sign))


SUBJECTS = (
    Subject(
        # polled, because only some of its tasks are followed
        name="run", action="run.read", args=OfRun, tables=("runs",), read=run, row=lambda args: args.id, poll=1.0,
        summary="A run, how many of its steps are in which state, and a number that changes when a step may have.",
    ),
    Subject(
        name="runs", action="run.read", args=Nothing, tables=("runs",), read=all_runs,
        summary="A number that changes when the list of runs may have.",
    ),
    Subject(
        name="definitions", action="dag.read", args=Nothing, tables=("definitions", "workflows"), read=definitions,
        summary="A number that changes when a DAG, a workflow or a flow may have.",
    ),
    Subject(
        name="job", action="job.read", args=OfJob, tables=("jobs",), read=job, row=lambda args: args.id,
        summary="One job, as GET /v1/jobs/{id} shows it.",
    ),
    Subject(
        name="jobs", action="job.read", args=Nothing, tables=("jobs",), read=all_jobs, poll=5.0,
        summary="A number that changes when the list of jobs may have, or how their executions went.",
    ),
    Subject(
        name="queues", action="queue.read", args=Nothing, tables=("queues",), read=all_queues, poll=1.0,
        summary="A number that changes when the list of queues may have.",
    ),
    Subject(
        name="nodes", action="node.read", args=Nothing, tables=("nodes",), read=all_nodes, poll=1.0,
        summary="A number that changes when a node comes, goes, or runs more or fewer tasks.",
    ),
    Subject(
        name="dead", action="dead.read", args=Nothing, tables=("tasks",), read=dead,
        summary="A number that changes when the dead letter list may have.",
    ),
    Subject(
        name="audit", action="audit.read", args=Nothing, tables=(), read=trail, poll=1.0,
        summary="A number that changes when something was done: keys, users, roles, secrets, settings.",
    ),
    Subject(
        name="overview", action="task.read", args=OfRange, tables=(), read=at_a_glance, poll=1.0,
        summary="What GET /v1/overview says of the last minutes.",
    ),
)  # fmt: skip
