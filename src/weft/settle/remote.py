"""Ending attempts on the word of HTTP workers: a batch in, a verdict for each, everything through `settle`.

A completion needs no look at the row: its signed proof says all that `settle` wants to know. A failure does, because
what follows from it depends on the attempts before. A proof that is not signed is looked up too.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from weft.db.tx import Tx
from weft.queue import finish, orphans
from weft.queue.model import FinalState
from weft.queue.tokens import Proof
from weft.sdk.retry import Retry
from weft.settle import outcome as outcomes
from weft.settle import settle
from weft.settle.outcome import Finish, Held, How, Outcome

Verdict = Literal["completed", "failed", "timed_out", "cancelled", "queued", "lost"]
"""What became of the task; `lost`: nothing, because the attempt was not the caller's any more."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """How an attempt went, by its worker's word."""

    proof: Proof
    signed: bool
    """We signed the proof. Otherwise the row must say that it is true."""
    how: How
    result: str | None = None
    error: str | None = None
    retryable: bool = True
    delay: float | None = None
    started: float | None = None
    policy: Retry | None = None
    declared_attempts: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Ruling:
    """What became of a task, and in how many seconds it is tried again, if it is."""

    verdict: Verdict
    retry_in: float | None = None


LOST = Ruling("lost")


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    rulings: list[Ruling]
    """One for each that was said, in its order."""
    wake: list[str]


def is_single(said: Sequence[Said]) -> bool:
    """Whether one statement does it, so that no transaction has to be opened around it."""
    return all(one.signed and one.how == "completed" and one.proof.key is None and not one.proof.run for one in said)


async def end(tx: Tx, said: Sequence[Said]) -> Settled:
    """Ends these attempts, each at most once: of two words about one attempt the first counts."""
    ending = await _outcomes(tx, said)
    rulings: dict[tuple[str, str], Ruling] = {}
    for place, outcome in ending.items():
        follows = outcomes.decide(outcome)
        if isinstance(follows, Finish):
            rulings[place] = Ruling(follows.state)
        else:
            # decided once: the dice of the retry policy must not be thrown again
            outcome.delay = follows.delay
            rulings[place] = Ruling("queued", follows.delay)
    wake: list[str] = []
    earlier: dict[tuple[str, str], FinalState] = {}
    if ending:
        settled = await settle.settle(tx, list(ending.values()))
        wake = settled.wake
        earlier = {(one.task.id, one.task.token): state for one, state in settled.repeated}
        for one in settled.lost:
            rulings[one.task.id, one.task.token] = LOST
    if missing := [one for one in said if _place(one) not in ending]:
        found = await finish.ended_with(tx, [(one.proof.org, one.proof.task, one.proof.lease) for one in missing])
        earlier |= {_place(one): found[one.proof.task] for one in missing if one.proof.task in found}
    return Settled([_repeat(one, earlier[place]) if (place := _place(one)) in earlier else rulings.get(place, LOST)
                    for one in said], wake)  # fmt: skip


async def release(tx: Tx, ids: Sequence[str]) -> int:
    """Gives back what nobody ever began. No loss, no attempt."""
    if not ids:
        return 0
    held = [Held(*row) for row in await orphans.held(tx, ids=ids)]
    settled = await settle.settle(tx, [Outcome(one, "released") for one in held])
    if settled.wake:
        await orphans.wake(tx, queues=settled.wake)
    return len(held)


async def _outcomes(tx: Tx, said: Sequence[Said]) -> dict[tuple[str, str], Outcome]:
    """One for each attempt that may be the caller's; the fence says whether it is."""
    look_up = [one for one in said if not (one.signed and one.how == "completed")]
    rows = await orphans.held(tx, ids=sorted({one.proof.task for one in look_up})) if look_up else []
    held = {row[0]: Held(*row) for row in rows}
    found: dict[tuple[str, str], Outcome] = {}
    for one in said:
        proof = one.proof
        task: Held | None
        if one.signed and one.how == "completed":
            # which run it is is found when it ends; that there is one means more than one statement
            run = "" if proof.run else None
            task = Held(proof.task, proof.org, "", proof.lease, proof.attempt, 0, 0, None, proof.key, None, run)
        else:
            task = held.get(proof.task)
            if task is None or (task.token, task.org, task.attempt) != (proof.lease, proof.org, proof.attempt):
                continue
        # only what was asked to end can end so
        how = "failed" if one.how == "cancelled" and not task.cancelling else one.how
        found.setdefault(_place(one), Outcome(
            task, how, one.result, one.error, one.retryable, one.delay, one.started, one.policy, one.declared_attempts
        ))  # fmt: skip
    return found


def _repeat(one: Said, state: FinalState) -> Ruling:
    """Said again of an attempt that ended with this token: the same answer, unless it now says otherwise."""
    return Ruling(state) if (one.how == "completed") == (state == "completed") else LOST


def _place(one: Said) -> tuple[str, str]:
    return one.proof.task, one.proof.lease
