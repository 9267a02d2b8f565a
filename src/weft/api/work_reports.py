"""What workers say of the attempts they hold: still at it, done, failed, a few lines. One at a time or many."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from weft.api import errors as refusals
from weft.api import work_proof
from weft.api.operation import Call
from weft.api.work_proof import Proven
from weft.api.worker_types import (
    Attempt,
    Beat,
    Complete,
    Completion,
    Fail,
    Failure,
    Heartbeat,
    LogEntries,
    NewLog,
    Report,
    Verdict,
)  # fmt: skip
from weft.base import errors, json
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import lease, orphans, remote, tokens
from weft.queue.lease import Line, Progress
from weft.queue.tokens import Proof
from weft.sdk.retry import Retry
from weft.settle import remote as settling
from weft.settle.remote import Ruling, Said

Item = TypeVar("Item", bound=Attempt)
Ruled = Verdict | errors.WeftError
Do = Callable[[list[tuple[Any, Proven]]], Awaitable[list[Ruled]]]

_MESSAGE = 4096
_TRACEBACK = 8192


async def complete(call: Call[Complete, None]) -> Report:
    def said(item: Completion, proven: Proven) -> Said:
        result = None if item.result is None else json.text(item.result, what="the result")
        return Said(proof=proven.proof, signed=proven.signed, how="completed", result=result, started=item.started)

    return await _each(call, call.body, call.body.items, lambda group: _end(call, group, said))


async def fail(call: Call[Fail, None]) -> Report:
    def said(item: Failure, proven: Proven) -> Said:
        policy = None if item.retry is None else Retry(**msgspec.structs.asdict(item.retry))
        return Said(
            proof=proven.proof, signed=proven.signed, how=item.outcome, error=_problem(item), retryable=item.retryable,
            delay=item.retry_after, started=item.started, policy=policy, declared_attempts=item.max_attempts,
        )  # fmt: skip

    return await _each(call, call.body, call.body.items, lambda group: _end(call, group, said))


async def heartbeat(call: Call[Heartbeat, None]) -> Report:
    body = call.body
    alone = body.items is None and (body.worker is None or body.token is not None or body.task_id is not None)
    items: list[Beat] | None = None if alone else body.items or []
    if body.worker is not None and call.principal.role != "worker":
        raise errors.Forbidden("`worker` needs a worker key; leave it out to speak of one attempt")
    report = await _each(call, body, items, lambda group: _beat(call, group))
    if body.worker is not None:
        report.stop = await _worker(call, body)
    return report


async def log(call: Call[NewLog, None]) -> Report:
    return await _each(call, call.body, call.body.items, lambda group: _keep(call, group))


async def _each(call: Call[Any, None], body: Attempt, items: Sequence[Attempt] | None, do: Do) -> Report:
    """One attempt with its answer or refusal, or a verdict for each of many."""
    if items is None:
        proven = await work_proof.of(call, body, header=True)
        [ruled] = await do([(body, proven)])
        if isinstance(ruled, errors.WeftError):
            raise ruled
        return Report(**msgspec.structs.asdict(ruled))
    if body.token is not None or body.task_id is not None or body.lease_token is not None or body.attempt is not None:
        raise errors.InvalidInput("one attempt or `items`, not both; put each attempt's token into its item")
    verdicts: list[Verdict | None] = []
    group: list[tuple[Attempt, Proven]] = []
    for item in items:
        try:
            group.append((item, await work_proof.of(call, item)))
            verdicts.append(None)
        except (errors.Unauthenticated, errors.Forbidden, errors.LeaseLost, errors.InvalidInput) as error:
            verdicts.append(_refused(error, task_id=item.task_id, attempt=item.attempt))
    rulings = iter(zip(group, await do(group), strict=True)) if group else iter(())
    for place, verdict in enumerate(verdicts):
        if verdict is None:
            (_, one), ruled = next(rulings)
            verdicts[place] = (
                _refused(ruled, task_id=one.proof.task, attempt=one.proof.attempt)
                if isinstance(ruled, errors.WeftError) else ruled
            )  # fmt: skip
    return Report(items=[verdict for verdict in verdicts if verdict is not None])


def _refused(error: errors.WeftError, *, task_id: object, attempt: int | None) -> Verdict:
    return Verdict(
        task_id=None if task_id is None else str(task_id), attempt=attempt, status=refusals.status(error), code=error.code,
        message=error.message,
    )  # fmt: skip


# ending


async def _end(call: Call[Any, None], group: list[tuple[Any, Proven]], say: Callable[[Any, Proven], Said]) -> list[Ruled]:
    ruled: list[Ruled | None] = []
    said: list[Said] = []
    for item, proven in group:
        try:
            said.append(say(item, proven))
            ruled.append(None)
        except errors.InvalidInput as error:
            ruled.append(error)
    ended = iter(await _settle(call.database, said))
    work_proof.desk(call).claims.freed(str(call.principal.org))
    return [_verdict(proven.proof, next(ended)) if one is None else one
            for one, (_, proven) in zip(ruled, group, strict=True)]  # fmt: skip


async def _settle(database: Database, said: Sequence[Said]) -> list[Ruling | errors.WeftError]:
    """A batch that errors is halved down to one, so a poisonous result is refused alone."""
    if not said:
        return []
    try:
        async with database.once() if settling.is_single(said) else database.tx() as tx:
            settled = await settling.end(tx, said)
            if settled.wake:
                await orphans.wake(tx, queues=settled.wake)
            return list(settled.rulings)
    except (errors.InvalidInput, errors.DatabaseError) as error:
        if isinstance(error, errors.Unavailable):
            raise
        if len(said) == 1:
            return [errors.InvalidPayload(f"this cannot be stored: {error.message}")]
    middle = len(said) // 2
    return [*await _settle(database, said[:middle]), *await _settle(database, said[middle:])]


def _verdict(proof: Proof, ruling: Ruling | errors.WeftError) -> Ruled:
    if isinstance(ruling, errors.WeftError):
        return ruling
    if ruling.verdict == "lost":
        return errors.LeaseLost()
    return Verdict(task_id=proof.task, attempt=proof.attempt, state=ruling.verdict, retry_in=ruling.retry_in)


def _problem(item: Failure) -> str | None:
    if item.error is None:
        if item.outcome not in ("failed", "timed_out"):
            return None
        return json.text({"type": "Error", "message": "its worker gave no reason"}, what="error")
    said = {"type": item.error.type, "message": item.error.message[:_MESSAGE]}
    if item.error.traceback is not None:
        said["traceback"] = item.error.traceback[-_TRACEBACK:]
    return json.text(said, what="error")


# while it runs


async def _beat(call: Call[Any, None], group: list[tuple[Beat, Proven]]) -> list[Ruled]:
    desk = work_proof.desk(call)
    async with call.database.tx() as tx:
        mine = await _mine(tx, [proven for _, proven in group])
        reports = [
            Progress(one.proof.task, one.proof.lease, item.progress, item.message, item.started)
            for item, one in group if one.proof.task in mine
        ]  # fmt: skip
        held = await remote.extend(tx, reports) if reports else {}
    for node_id in {one.node_id for one in held.values()}:
        await desk.claims.beat(node_id)
    keys, now = await desk.tokens.ready(), desk.tokens.now()
    ruled: list[Ruled] = []
    for _, one in group:
        extended = held.get(one.proof.task)
        if extended is None:
            ruled.append(errors.LeaseLost())
            continue
        ruled.append(Verdict(
            task_id=extended.id, attempt=extended.attempt, cancelled=extended.cancelled or extended.overdue,
            reason="cancelled" if extended.cancelled else "timed_out" if extended.overdue else None,
            lease_seconds=extended.lease, token=_renewed(one, extended, keys, now=now),
        ))  # fmt: skip
    return ruled


def _renewed(one: Proven, extended: remote.Extended, keys: tokens.Keys, *, now: float) -> str | None:
    """A new token where the old one's key is retired, or its task has no timeout and may run for ever."""
    if one.token is None:
        return None
    exp = one.proof.exp
    if extended.timeout is None and exp - now < tokens.lifetime(None) / 2:
        exp = now + tokens.lifetime(None)
    if exp == one.proof.exp and keys.fresh(one.token):
        return None
    return keys.sign(msgspec.structs.replace(one.proof, exp=exp))


async def _worker(call: Call[Heartbeat, None], body: Heartbeat) -> list[str]:
    """How the worker itself is, and what it should end."""
    assert body.worker is not None
    desk, node_id = work_proof.desk(call), remote.node_id(org=str(call.principal.org), worker=body.worker)
    if body.status == "gone":
        await desk.claims.gone(node_id)
        return []
    await desk.claims.beat(node_id, draining=body.status == "draining")
    async with call.database.once() as tx:
        return [id for id, _ in await lease.cancelled_on(tx, node_id=node_id, grace=dt.timedelta(0))]


async def _keep(call: Call[Any, None], group: list[tuple[LogEntries, Proven]]) -> list[Ruled]:
    await work_proof.desk(call).tokens.ready()
    now = dt.datetime.fromtimestamp(work_proof.desk(call).tokens.now(), dt.UTC)
    lines = [_lines(item, one.proof, now=now) for item, one in group]
    async with call.database.tx() as tx:
        mine = await _mine(tx, [one for _, one in group])
        wanted = [line for (_, one), some in zip(group, lines, strict=True) if one.proof.task in mine for line in some]
        kept = await lease.write_logs(tx, wanted) if wanted else 0
        if kept < len(wanted) or not wanted:
            mine &= await lease.still_held(tx, [(one.proof.task, one.proof.lease) for _, one in group])
    return [
        Verdict(task_id=one.proof.task, attempt=one.proof.attempt, kept=len(some))
        if one.proof.task in mine else errors.LeaseLost()
        for (_, one), some in zip(group, lines, strict=True)
    ]  # fmt: skip


def _lines(item: LogEntries, proof: Proof, *, now: dt.datetime) -> list[Line]:
    return [
        Line(proof.task, proof.lease, line.at or now, line.level, line.message,
             json.text(line.fields, what="log fields") if line.fields else None)
        for line in item.lines
    ]  # fmt: skip


async def _mine(tx: Tx, proven: Sequence[Proven]) -> set[str]:
    """Whose word may count: what we signed, and of the rest what the rows, locked by this, say is theirs."""
    unsigned = {one.proof.task: one.proof for one in proven if not one.signed}
    mine = {one.proof.task for one in proven if one.signed}
    if unsigned:
        for id, org, _kind, token, attempt, *_ in await orphans.held(tx, ids=sorted(unsigned)):
            proof = unsigned[id]
            if (org, token, attempt) == (proof.org, proof.lease, proof.attempt):
                mine.add(id)
    return mine
