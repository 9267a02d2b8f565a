"""What a job that is due does: which of its times get an execution, what it waits for then, or why it is set aside. Pure."""

import datetime as dt
from typing import Any

import msgspec

from weft.base import errors, json
from weft.cron import misfire, schedule, zones
from weft.cron.misfire import Cron, Once, When
from weft.jobs import definition
from weft.jobs.model import Due


class Read(msgspec.Struct, frozen=True):
    """What the payload of a job asks for that nobody had read."""

    kind: str
    args: str
    secrets: list[str] | None


class Fire(msgspec.Struct, frozen=True):
    """Executions for these times (there may be none), and the time to wait for; None: the job is over."""

    id: str
    times: tuple[dt.datetime, ...]
    waiting: dt.datetime | None
    due_at: dt.datetime | None
    missed_since: dt.datetime | None = None
    read: Read | None = None


class SetAside(msgspec.Struct, frozen=True):
    """It cannot be dispatched; people must look."""

    id: str
    code: str
    message: str


def decide(job: Due, now: dt.datetime) -> Fire | SetAside:
    """What follows from a look at a due job. Whatever is wrong with it is its own."""
    try:
        when = _when(job)
        read = None if job.unread is None else _read(job)
        if job.unread is not None or job.next_run_time is None or (job.suspended and job.cron_expression is not None):
            # nobody knew its first time yet; or its times pass as if it were paused
            waiting = misfire.first(when, now)
            return Fire(job.id, (), waiting, _due(waiting, when), read=read)
        firing = misfire.due(when, job.next_run_time, now)
        return Fire(job.id, firing.times, firing.waiting, _due(firing.waiting, when), firing.missed_since)
    except errors.WeftError as error:
        return SetAside(job.id, error.code, error.message)


def missing(job: Due, *, known: frozenset[tuple[str, str]]) -> SetAside | None:
    """Whether the job names a secret that its org does not have."""
    for name in job.secrets or ():
        if (job.org_id, name) not in known:
            return SetAside(
                job.id, "SECRET_NOT_FOUND",
                f"the payload names the secret {name!r}, which the org does not have; set it, then resume the job",
            )  # fmt: skip
    return None


def _when(job: Due) -> When:
    if job.cron_expression is not None:
        times: Cron | Once = Cron(schedule.parse(job.cron_expression), zones.zone(job.timezone))
    elif job.run_at is not None:
        times = Once(_moment(job.run_at))
    else:
        raise errors.InvalidInput("the job has neither a cron expression nor a time")
    return When(
        times=times, start=job.start_at, end=job.end_at, misfire=job.misfire, catch_up_limit=job.catch_up_limit,
        delay=misfire.jitter(job.id, job.jitter) if job.jitter else dt.timedelta(0),
    )  # fmt: skip


def _moment(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise errors.InvalidInput(f"the job's time {text} cannot be read; give it another run_at") from None


def _read(job: Due) -> Read:
    assert job.unread is not None
    try:
        payload = json.loads(job.unread)
    except msgspec.DecodeError as error:
        raise errors.InvalidPayload(f"the payload cannot be read: {error}") from None
    columns: dict[str, Any] = definition.what(payload)
    return Read(columns["kind"], columns["args"], columns["secrets"])


def _due(waiting: dt.datetime | None, when: When) -> dt.datetime | None:
    return None if waiting is None else waiting + when.delay
