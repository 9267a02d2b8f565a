"""Whatever a worker can say about an attempt is refused once the lease is lost: every call, database and HTTP.

The tables list every call there is; a new one that is missing here fails. What was refused is read from the database's own
history: not one row of the task, its history or its log was written.
"""

import json
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, get_args

import calling
import pytest
from calling import Caller
from crowd import say
from decoding import Change
from holding import Hand, claim, lapse
from witness import Witness
from zombies import Stage

from weft.api import policy, routes
from weft.base import ids
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import ended
from weft.flows.ended import Completed
from weft.queue import finish, lease, orphans, remote, tasks
from weft.queue.finish import Ended
from weft.queue.lease import Line, Progress
from weft.queue.model import Claimed
from weft.queue.tokens import Proof
from weft.settle import outcome, rescue, settle
from weft.settle import remote as settling
from weft.settle.outcome import Outcome

TABLES = ("tasks", "task_history", "task_logs")
ERROR = json.dumps({"type": "Zombie", "message": "too late"})
HOWS = get_args(outcome.How)

# who holds the task when the zombie speaks


async def waits(stage: Stage, id: str) -> None:
    """Nobody: it waits for another worker."""


async def held(stage: Stage, id: str) -> None:
    await stage.claim()


async def completed(stage: Stage, id: str) -> None:
    await stage.end(await stage.claim())


async def dead(stage: Stage, id: str) -> None:
    """It lost two more workers and was given up."""
    for _ in range(2):
        await stage.lose(await stage.claim())


async def redriven(stage: Stage, id: str) -> None:
    await dead(stage, id)
    async with stage.database.tx() as tx:
        await tasks.redrive(tx, org=ids.DEFAULT_ORG, ids=[uuid.UUID(id)], actor="chaos")
    await stage.claim()


SITUATIONS = (waits, held, completed, dead, redriven)

# the database's door: what a worker of ours can say, each answers whether it was accepted


async def write_log(tx: Tx, stale: Claimed) -> bool:
    at = await tx.value("select weft.now()")
    return await lease.write_logs(tx, [Line(stale.id, stale.token, at, "info", "too late", None)]) > 0


async def report(tx: Tx, stale: Claimed) -> bool:
    return stale.id in await lease.report_progress(tx, [Progress(stale.id, stale.token, 50, "too late", 0.1)])


async def extend(tx: Tx, stale: Claimed) -> bool:
    return stale.id in await remote.extend(tx, [Progress(stale.id, stale.token, 50, "too late", 0.1)])


async def fetch(tx: Tx, stale: Claimed) -> bool:
    return await remote.fetch(tx, id=stale.id, token=stale.token) is not None


async def verify(tx: Tx, stale: Claimed) -> bool:
    return stale.id in await lease.still_held(tx, [(stale.id, stale.token)])


async def give_back(tx: Tx, stale: Claimed) -> bool:
    return await rescue.unanswered(tx, tokens=[stale.token]) > 0


def ends(how: outcome.How) -> "Call":
    async def end(tx: Tx, stale: Claimed) -> bool:
        facts: dict[str, Any] = {"result": '"too late"'} if how == "completed" else {"error": ERROR, "delay": 0.0}
        return not (await settle.settle(tx, [Outcome(stale, how, **facts)])).lost

    return end


async def end_with_the_lock(tx: Tx, stale: Claimed) -> bool:
    """As one who holds the lock of its run."""
    late = Ended(stale.id, stale.token, "completed", None, '"too late"', None, None)
    return bool(await finish.finish_held(tx, [late], held=[]))


async def end_among_others(tx: Tx, stale: Claimed) -> bool:
    """In a batch with what somebody else claimed."""
    ids, tokens = [stale.id, str(uuid.uuid4())], [stale.token, str(uuid.uuid4())]
    return stale.id in await finish.complete(tx, ids=ids, tokens=tokens, results=['"too late"', None], started=[None, None])


async def end_with_its_step(tx: Tx, stale: Claimed) -> bool:
    """The same, where its step ends with it."""
    tasks, over = await ended.complete(tx, [Completed(stale, '"too late"', None)])
    return bool(tasks or over)


def ends_over_http(how: outcome.How, signed: bool) -> "Call":
    async def end(tx: Tx, stale: Claimed) -> bool:
        proof = Proof(stale.id, stale.attempt, stale.token, stale.org, 0.0)
        said = settling.Said(proof=proof, signed=signed, how=how, result='"too late"', error=ERROR)
        return (await settling.end(tx, [said])).rulings[0].verdict != "lost"

    return end


Call = Callable[[Tx, Claimed], Awaitable[bool]]
CALLS: dict[str, Call] = {
    "log": write_log, "progress": report, "heartbeat": extend, "fetch": fetch, "verify": verify, "give back": give_back,
    "settle with a run's lock": end_with_the_lock, "settle with its step": end_with_its_step,
    "settle among others": end_among_others,
    **{f"settle: {how}": ends(how) for how in HOWS},
    **{f"settle for HTTP, {'signed' if signed else 'by its ids'}: {how}": ends_over_http(how, signed)
       for how in HOWS for signed in (True, False)},
}  # fmt: skip

FENCED = {
    "finish", "finish_held", "complete", "complete_claimed", "requeue", "report_progress", "write_logs", "extend_leases",
}  # fmt: skip
"""Statements that write on the word of whoever has the lease."""

OF_OTHERS = {
    # take what nobody has: the state is their fence
    "claim_plain", "claim_named", "claim_limited", "claim_counted", "claim_chosen", "block",
    "enqueue_simple", "enqueue_plain", "enqueue_many_plain",  # clients, of what is not there yet
    "redrive", "discard_dead", "cancel_queued",  # clients, of what nobody runs
    "count_running_as_limited", "count_late_as_limited",  # of whole queues, by their settings
    "promote", "unblock", "prune_org",  # chores, under the leader's fence, of what nobody runs
}  # fmt: skip
"""Statements that write to the same tables and that no lease gives the right to."""


def test_every_statement_that_writes_to_tasks_is_fenced_or_not_a_workers() -> None:
    writes = re.compile(rf"\b(insert into|update|delete from) weft\.({'|'.join(TABLES)})\b")
    found = {name for name, text in statements.load("weft.queue").texts.items() if writes.search(text)}
    assert found == FENCED | OF_OTHERS, "say here whether it is fenced, and try it above if it is"
    for room in ("weft.cluster", "weft.journal", "weft.access"):
        assert [name for name, text in statements.load(room).texts.items() if writes.search(text)] == []


class Listening(Tx):
    """Notes which statements were said."""

    __slots__ = ("said",)

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx.connection)
        self.said: set[str] = set()

    async def _execute(self, statement: str, params: Any) -> Any:
        self.said.add(statement)
        return await super()._execute(statement, params)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
async def test_nothing_a_worker_says_after_its_lease_was_lost_changes_anything(
    witness: Witness, situation: Callable[[Stage, str], Awaitable[None]], capsys: pytest.CaptureFixture[str]
) -> None:
    named = {text: name for name, text in statements.load("weft.queue").texts.items()}
    said: set[str] = set()
    accepted = []
    async with Stage(witness) as stage:
        await stage.put()
        stale = await stage.claim()
        await stage.lose(stale)
        await situation(stage, stale.id)
        before = len(of_tasks(witness))
        for name, call in CALLS.items():
            async with stage.database.tx() as tx:
                listening = Listening(tx)
                if await call(listening, stale):
                    accepted.append(name)
                said |= {named[text] for text in listening.said if text in named}
    assert accepted == []
    assert of_tasks(witness)[before:] == []
    assert said >= FENCED, "a fenced statement that nothing here says"
    assert witness.verdict() == []
    say(capsys, f"{situation.__name__}: {len(CALLS)} stale calls to the database, 0 accepted")


async def test_the_same_words_of_whoever_has_the_lease_are_heard(witness: Witness) -> None:
    """Or else the refusals above would show nothing."""
    for name, call in CALLS.items():
        async with Stage(witness) as stage:
            await stage.put()
            task = await stage.claim()
            async with stage.database.tx() as tx:
                assert await call(tx, task), name
                await rescue._end(tx, [task.id], how="cancelled", why="the test goes on")
                await rescue.cancel(tx, ids=[task.id])


# HTTP

WORDS: dict[str, list[dict[str, Any]]] = {
    "POST /v1/task/heartbeat": [{"progress": 50}],
    "POST /v1/task/complete": [{"result": "too late"}],
    "POST /v1/task/fail": [
        {"error": {"message": "too late"}}, {"error": {"message": "too late"}, "retryable": False},
        {"outcome": "discarded"}, {"outcome": "timed_out"}, {"outcome": "snoozed", "retry_after": 1},
        {"outcome": "released"}, {"outcome": "cancelled"},
    ],
    "POST /v1/task/log": [{"lines": [{"message": "too late"}]}],
    "GET /v1/task/fetch": [{}],
    "GET /internal/task-fetch": [{}],
}  # fmt: skip


def test_every_operation_that_an_attempt_allows_is_tried() -> None:
    found = {one.name for one in routes.operations() if policy.allows("attempt", one.action)}
    assert found == set(WORDS)
    claims = {one.name for one in routes.operations() if policy.allows("worker", one.action)} - found
    # secrets are given, not changed; tests/api has that a lost lease gets none
    reads = {"GET /v1/openapi.json", "GET /v1/me", "POST /v1/task/secrets"}
    assert claims == {"POST /v1/task/claim", *reads}, "what may a worker do besides?"


@pytest.fixture
async def wire(witness: Witness) -> AsyncIterator[tuple[Stage, Caller]]:
    async with Stage(witness) as stage:
        made = await calling.caller(stage.database)
        yield stage, made
        await made.client.aclose()


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
async def test_nothing_an_http_worker_says_after_its_lease_was_lost_changes_anything(
    witness: Witness, wire: tuple[Stage, Caller], situation: Callable[[Stage, str], Awaitable[None]],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stage, api = wire
    await stage.put()
    [task] = await claim(api)
    hand = Hand(api, task)
    await lapse(stage.database, hand.id)
    async with stage.database.tx() as tx:
        assert await orphans.past_lease(tx, take=10) == [hand.id]
        assert await rescue.leases(tx) == 1
    await situation(stage, hand.id)
    before = len(of_tasks(witness))
    answers = []
    for name, words in WORDS.items():
        method, path = name.split()
        for word in words:
            answers += [(name, word, *one) for one in await zombie_says(hand, method, path, word)]
    assert [one for one in answers if one[2:] != (409, "LEASE_LOST")] == []
    assert of_tasks(witness)[before:] == []
    assert witness.verdict() == []
    say(capsys, f"{situation.__name__}: {len(answers)} stale requests, 0 accepted")


async def zombie_says(hand: Hand, method: str, path: str, word: dict[str, Any]) -> list[tuple[int, str]]:
    """With its token, with its ids, and as one of many."""
    if method == "GET":
        which = "&".join(f"{name}={value}" for name, value in hand.which.items())
        answers = [await hand.api.get(path, key=hand.task["token"]), await hand.api.get(f"{path}?{which}", role="worker")]
        return [calling.code(one) for one in answers]
    answers = [
        await hand.api.post(path, word, key=hand.task["token"]),
        await hand.api.post(path, {**hand.which, **word}, role="worker"),
    ]
    found = [calling.code(one) for one in answers]
    many = await hand.api.post(
        path, {"items": [{"token": hand.task["token"], **word}, {**hand.which, **word}]}, role="worker"
    )
    return found + [(one["status"], one["code"]) for one in many.json()["items"]]


def of_tasks(witness: Witness) -> list[Change]:
    return [one for one in witness.read() if one.table in TABLES]
