"""Settling: outcomes in, one transaction, verdicts out."""

import dataclasses
from collections.abc import Sequence

from weft.base import crash
from weft.db.tx import Tx
from weft.queue import finish
from weft.queue.finish import Ended, Returned
from weft.queue.model import FinalState
from weft.settle.outcome import Finish, Outcome, Requeue, decide


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    """What became of a batch: the outcomes that came too late (`lost`), and queues with work that is ready again.

    `repeated`: those that had ended before with the very same token, and how.
    """

    lost: list[Outcome]
    wake: list[str]
    repeated: list[tuple[Outcome, FinalState]] = dataclasses.field(default_factory=list, compare=False)


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
    crash.point("settle: between statements")
    wake: set[str] = set()
    if returned:
        back = await finish.requeue(tx, returned)
        settled |= set(back)
        wake |= {queue for state, queue in back.values() if state == "ready"}
    keys = {(one.task.org, one.task.concurrency_key) for one in outcomes if one.task.concurrency_key is not None}
    if keys:
        wake |= set(await finish.unblock(tx, [(org, key) for org, key in keys if key is not None]))
    lost, repeated = await _late(tx, outcomes, settled=settled)
    return Settled(lost, sorted(wake), repeated)


async def _complete(tx: Tx, outcomes: Sequence[Outcome]) -> Settled:
    """The hot path: everything succeeded and nothing else follows."""
    settled = await finish.complete(
        tx,
        ids=[one.task.id for one in outcomes],
        tokens=[one.task.token for one in outcomes],
        results=[one.result for one in outcomes],
        started=[one.started for one in outcomes],
    )
    lost, repeated = await _late(tx, outcomes, settled=settled)
    return Settled(lost, [], repeated)


async def _late(
    tx: Tx, outcomes: Sequence[Outcome], *, settled: set[str]
) -> tuple[list[Outcome], list[tuple[Outcome, FinalState]]]:
    """Those whose token was not there any more: lost, or a finish said twice, which gets the same answer again."""
    if len(settled) == len(outcomes):
        return [], []
    late = [one for one in outcomes if one.task.id not in settled]
    if not late:
        return [], []
    earlier = await finish.ended_with(tx, [(one.task.org, one.task.id, one.task.token) for one in late])
    lost = [one for one in late if one.task.id not in earlier]
    return lost, [(one, earlier[one.task.id]) for one in late if one.task.id in earlier]


def _ended(outcome: Outcome, ending: Finish) -> Ended:
    return Ended(
        outcome.task.id, outcome.task.token, ending.state, ending.reason, outcome.result, outcome.error, outcome.started
    )


def _returned(outcome: Outcome, ending: Requeue) -> Returned:
    return Returned(
        outcome.task.id, outcome.task.token, ending.delay, ending.uncounted, ending.lost, ending.outcome, outcome.error
    )
