"""Attempts that are over: their tasks leave the queue, and their runs are told.

Whoever can lock the runs at once is told himself; others find it in their inbox.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from weft.db.tx import Tx
from weft.flows import advance, ended
from weft.flows.advance import Advanced, Hands, Holding
from weft.flows.ended import Completed
from weft.flows.model import Fact, Held, Over
from weft.queue import finish
from weft.queue.finish import Ended
from weft.queue.model import Claimed
from weft.settle.outcome import COMPLETED, Finish, Outcome


@dataclasses.dataclass
class Ends:
    """What was over, and whom it concerns."""

    tasks: set[str] = dataclasses.field(default_factory=set)
    """Those that were still held with their token."""
    runs: set[str] = dataclasses.field(default_factory=set)
    """Runs to be advanced."""
    holding: Holding | None = None
    facts: list[Fact] = dataclasses.field(default_factory=list)
    """What those who hold the runs are told."""
    over: list[Over] = dataclasses.field(default_factory=list)
    """Their steps that have ended."""


async def end(tx: Tx, over: Sequence[tuple[Outcome, Finish]], *, hold: bool) -> Ends:
    """Ends these tasks; `hold`: and locks their runs before, as far as that needs no waiting."""
    ends = Ends()
    theirs = {outcome.task.run_id for outcome, _ in over if outcome.task.run_id is not None}
    if hold and theirs and "" not in theirs:
        # before their tasks: whoever has the lock of a run need not be told by the way of its inbox
        ends.holding = await advance.hold(tx, sorted(theirs))
    held = {} if ends.holding is None else ends.holding.runs
    quick: dict[str, Completed] = {}
    others: list[Ended] = []
    for outcome, ending in over:
        task = outcome.task
        if ending is COMPLETED and type(task) is Claimed and _ends_its_step(task, held) and task.id not in quick:
            quick[task.id] = Completed(task, outcome.result, outcome.started)
        else:
            others.append(ended_as(outcome, ending))
    if quick:
        await _complete(tx, list(quick.values()), ends)
    if others and held:
        for one in await finish.finish_held(tx, others, held=list(held)):
            ends.tasks.add(one.task)
            if one.run is not None:
                ends.runs.add(one.run)
            if one.run in held:
                ends.facts.append(Fact(str(one.run), one.step or "", *one[2:]))
    elif others:
        finished = await finish.finish(tx, others)
        ends.tasks |= finished.ids
        ends.runs |= set(finished.runs)
    return ends


async def go_on(tx: Tx, ends: Ends, *, hands: Hands | None, at_once: bool) -> Advanced | None:
    """Advances the runs that were told. `at_once`: else that is left to others."""
    if not ends.runs:
        return None
    if ends.holding is not None:
        return await advance.go_on(tx, ends.holding, ends.facts, over=ends.over, hands=hands)
    if at_once:
        return await advance.advance(tx, sorted(ends.runs))
    return Advanced(busy=sorted(ends.runs))


def ended_as(outcome: Outcome, ending: Finish) -> Ended:
    return Ended(
        outcome.task.id, outcome.task.token, ending.state, ending.reason, outcome.result, outcome.error, outcome.started
    )


def _ends_its_step(task: Claimed, held: Mapping[str, Held]) -> bool:
    """Whether it is the task of a step of a run that goes on and is ours."""
    if task.rest.step_id is None or task.rest.run_id is None:
        return False
    run = held.get(task.rest.run_id)
    return run is not None and run.state in ("running", "waiting")


async def _complete(tx: Tx, succeeded: Sequence[Completed], ends: Ends) -> None:
    tasks, over = await ended.complete(tx, succeeded)
    ends.tasks |= tasks
    ends.over += over
    ends.runs |= {one.run for one in over}
