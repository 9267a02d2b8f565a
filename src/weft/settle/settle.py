"""Settling: outcomes in, one transaction, verdicts out."""

import dataclasses
from collections.abc import Sequence

from weft.db.tx import Tx
from weft.queue import finish
from weft.queue.finish import Ended, Returned
from weft.settle.outcome import Finish, Outcome, Requeue, decide


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    """What became of a batch: the outcomes that came too late (`lost`), and queues with work that is ready again."""

    lost: list[Outcome]
    wake: list[str]


def is_single(outcomes: Sequence[Outcome]) -> bool:
    """Whether settling these takes one statement, so that no transaction has to be opened around it."""
    return all([one.how == "completed" and one.task.concurrency_key is None for one in outcomes])


async def settle(tx: Tx, outcomes: Sequence[Outcome]) -> Settled:
    """Ends these attempts. Each is fenced by its token: one that lost its lease changes nothing and is reported."""
    if is_single(outcomes):
        return await _complete(tx, outcomes)
    ended: list[Ended] = []
    returned: list[Returned] = []
    for outcome in outcomes:
        ending = decide(outcome)
        if isinstance(ending, Finish):
            ended.append(_ended(outcome, ending))
        else:
            returned.append(_returned(outcome, ending))
    settled = await finish.finish(tx, ended) if ended else set()
    wake: set[str] = set()
    if returned:
        back = await finish.requeue(tx, returned)
        settled |= set(back)
        wake |= {queue for state, queue in back.values() if state == "ready"}
    keys = {(one.task.org, one.task.concurrency_key) for one in outcomes if one.task.concurrency_key is not None}
    if keys:
        wake |= set(await finish.unblock(tx, [(org, key) for org, key in keys if key is not None]))
    return Settled(await _lost(tx, outcomes, settled=settled), sorted(wake))


async def _complete(tx: Tx, outcomes: Sequence[Outcome]) -> Settled:
    """The hot path: everything succeeded and nothing else follows."""
    settled = await finish.complete(
        tx,
        ids=[one.task.id for one in outcomes],
        tokens=[one.task.token for one in outcomes],
        results=[one.result for one in outcomes],
        started=[one.started for one in outcomes],
    )
    return Settled(await _lost(tx, outcomes, settled=settled), [])


async def _lost(tx: Tx, outcomes: Sequence[Outcome], *, settled: set[str]) -> list[Outcome]:
    """Those whose token was not there any more, but for a finish said twice: that gets the same answer again."""
    if len(settled) == len(outcomes):
        return []
    lost = [one for one in outcomes if one.task.id not in settled]
    if not lost:
        return []
    earlier = await finish.ended_with(tx, [(one.task.org, one.task.id, one.task.token) for one in lost])
    return [one for one in lost if one.task.id not in earlier]


def _ended(outcome: Outcome, ending: Finish) -> Ended:
    return Ended(
        outcome.task.id, outcome.task.token, ending.state, ending.reason, outcome.result, outcome.error, outcome.started
    )


def _returned(outcome: Outcome, ending: Requeue) -> Returned:
    return Returned(
        outcome.task.id, outcome.task.token, ending.delay, ending.uncounted, ending.lost, ending.outcome, outcome.error
    )
