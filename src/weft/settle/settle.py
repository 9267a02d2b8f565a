"""Settling: outcomes in, one transaction, verdicts out."""

import dataclasses
from collections.abc import Sequence

from weft.base import crash
from weft.db.tx import Tx
from weft.flows import checkpoint, operate, workflows
from weft.flows.advance import Advanced, Hands
from weft.queue import finish
from weft.queue.finish import Returned
from weft.queue.model import NOTHING, Claimed, FinalState
from weft.sdk.workflow import PREFIX
from weft.settle import ends
from weft.settle.outcome import COMPLETED, Finish, Outcome, Requeue, decide


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    """What became of a batch: the outcomes that came too late (`lost`), and queues with work that is ready again.

    `repeated`: those that had ended before with the very same token, and how. `advanced`: what followed in the runs they
    belong to; what could not be done at once is left to `afterwards`.
    """

    lost: list[Outcome]
    wake: list[str]
    repeated: list[tuple[Outcome, FinalState]] = dataclasses.field(default_factory=list, compare=False)
    advanced: Advanced | None = dataclasses.field(default=None, compare=False)


def is_single(outcomes: Sequence[Outcome]) -> bool:
    """Whether settling these takes one statement (`complete`), so that no transaction has to be opened around it."""
    for one in outcomes:
        task = one.task
        if one.how != "completed" or one.written is not None:
            return False
        if type(task) is Claimed and task.rest is NOTHING:
            continue
        if task.concurrency_key is not None or task.run_id is not None:
            return False
    return len({one.task.id for one in outcomes}) == len(outcomes)


async def settle(
    tx: Tx, outcomes: Sequence[Outcome], *, hands: Hands | None = None, advance: bool = True
) -> Settled:
    """Ends these attempts. Each is fenced by its token: one that lost its lease changes nothing and is reported.

    The runs they belong to are advanced, if nobody else is about to; `hands` may be given what became ready.
    """
    if is_single(outcomes):
        return await complete(tx, outcomes)
    # wake-ups of workflows that end without a word of their workflow
    without = {one.task.id for one in outcomes if one.written is None and one.task.kind.startswith(PREFIX)}
    over: list[tuple[Outcome, Finish]] = []
    returned: list[Returned] = []
    parked = [one.written for one in outcomes if one.written is not None and not one.written.ended]
    for outcome in outcomes:
        if outcome.written is not None and not outcome.written.ended:
            continue
        ending = decide(outcome)
        if isinstance(ending, Finish):
            over.append((outcome, ending))
        else:
            returned.append(_returned(outcome, ending))
    ended = await ends.end(tx, over, hold=advance)
    settled = set(ended.tasks)
    crash.point("settle: between statements")
    wake: set[str] = set()
    if returned:
        back = await finish.requeue(tx, returned)
        settled |= set(back)
        wake |= {queue for state, queue in back.values() if state == "ready"}
        if of_runs := [one.task.id for one in outcomes if one.task.run_id is not None and one.task.id in back]:
            await operate.hold(tx, of_runs)
    if parked:
        back = await checkpoint.park(tx, parked)
        settled |= set(back)
        wake |= {queue for state, queue in back.values() if state == "ready"}
    if written := [one.written for one in outcomes if one.written is not None and one.task.id in settled]:
        await checkpoint.end(tx, written)
    if abandoned := [ends.ended_as(*one) for one in over if one[0].task.id in settled & without]:
        await workflows.abandon(tx, abandoned)
    keys = {(one.task.org, one.task.concurrency_key) for one in outcomes if one.task.concurrency_key is not None}
    if keys:
        wake |= set(await finish.unblock(tx, [(org, key) for org, key in keys if key is not None]))
    lost, repeated = await _late(tx, outcomes, settled=settled)
    advanced = await ends.go_on(tx, ended, hands=hands, at_once=advance)
    return Settled(lost, sorted(wake), repeated, advanced)


async def complete(tx: Tx, outcomes: Sequence[Outcome]) -> Settled:
    """The hot path, if `is_single`: everything succeeded and nothing else follows."""
    settled = await finish.complete(
        tx,
        ids=[one.task.id for one in outcomes],
        tokens=[one.task.token for one in outcomes],
        results=[one.result for one in outcomes],
        started=[one.started for one in outcomes],
    )
    if missing := [one for one in outcomes if one.task.id not in settled] if len(settled) < len(outcomes) else []:
        # too late; or of a run that whoever ends it did not know of, which must be told
        settled |= (await finish.finish(tx, [ends.ended_as(one, COMPLETED) for one in missing])).ids
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


def _returned(outcome: Outcome, ending: Requeue) -> Returned:
    return Returned(
        outcome.task.id, outcome.task.token, ending.delay, ending.uncounted, ending.lost, ending.outcome, outcome.error
    )
