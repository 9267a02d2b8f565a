"""`/v1/task/…`: claiming, and every status that can be answered to whoever holds a task or does not."""

import asyncio
import dataclasses
import datetime as dt
import itertools
import uuid
from typing import Any

import calling
import holding
import pytest
from calling import Caller, code
from holding import WORDS, Hand, claim, hold, row

import hands
from each import each
from weft.base import ids
from weft.db.database import Database
from weft.queue import signing, tasks
from weft.queue.tasks import QueueSettings

# claiming


async def test_a_claim_hands_out_the_task_with_a_lease_and_a_token(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx, payload={"to": "ada"}, timeout=60, tags=["a"], correlation_id="c")
    [task] = await claim(api)
    assert {name: task[name] for name in ("task_id", "attempt", "kind", "queue", "payload", "timeout", "lease_seconds")} == {
        "task_id": id, "attempt": 1, "kind": "mail", "queue": "default", "payload": {"to": "ada"}, "timeout": 60.0,
        "lease_seconds": 120.0,
    }  # fmt: skip
    assert task["token"].startswith("weftt_") and task["tags"] == ["a"] and task["correlation_id"] == "c"
    async with database.tx() as tx:
        left = await tx.value("select extract(epoch from lease_until - weft.now()) from weft.tasks")
        assert 60 < left <= 120
        assert (await hands.look(tx, id)).state == "running"


async def test_what_is_claimed_is_not_claimed_again(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 5)
    first = await claim(api, limit=3)
    second = await claim(api, limit=3)
    assert (len(first), len(second)) == (3, 2)
    assert {one["task_id"] for one in first}.isdisjoint(one["task_id"] for one in second)
    assert await claim(api) == []


async def test_a_heartbeat_timeout_is_the_length_of_the_lease(api: Caller, database: Database) -> None:
    hand = await hold(api, database, heartbeat_timeout=7)
    assert hand.task["lease_seconds"] == 7
    assert (await hand.say("heartbeat")).json()["lease_seconds"] == 7
    async with database.tx() as tx:
        left = await tx.value("select extract(epoch from lease_until - weft.now()) from weft.tasks")
    assert 0 < left <= 7


async def test_a_claim_takes_only_kinds_queues_and_capabilities_that_are_named(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        plain = await hands.put(tx)
        await hands.put(tx, "other")
        slow = await hands.put(tx, queue="slow")
        gpu = await hands.put(tx, capabilities=["gpu"])
    assert [one["task_id"] for one in await claim(api, queues=["slow"])] == [slow]
    assert [one["task_id"] for one in await claim(api)] == [plain]
    assert [one["task_id"] for one in await claim(api, capabilities=["gpu", "big"])] == [gpu]


async def test_the_org_is_the_keys(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        ours = await hands.put(tx)
        theirs = await hands.put(tx, org=api.other_org)
    assert [one["task_id"] for one in await claim(api, role="other:worker")] == [theirs]
    assert [one["task_id"] for one in await claim(api)] == [ours]


async def test_a_paused_queue_gives_nothing(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put(tx)
        await tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="default", settings=QueueSettings(paused=True), actor="t")
    assert await claim(api) == []


async def test_limits_hold_for_http_workers_and_places_come_back(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="default", settings=QueueSettings(max_running=2), actor="t")
        await hands.put_many(tx, 4)
    held = await claim(api)
    assert len(held) == 2 and await claim(api) == []
    assert (await Hand(api, held[0]).say("complete")).status_code == 200
    assert len(await claim(api)) == 1


async def test_work_under_a_limit_is_only_handed_out_to_be_started(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="default", settings=QueueSettings(max_running=5), actor="t")
        await hands.put_many(tx, 5)
    assert len(await claim(api, idle=1)) == 1


async def test_one_of_a_strict_key_at_a_time_and_the_next_after_it(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        first = await hands.put(tx, concurrency_key="k", concurrency=0)
        second = await hands.put(tx, concurrency_key="k", concurrency=0)
    [held] = await claim(api)
    assert held["task_id"] == first and await claim(api) == []
    assert (await Hand(api, held).say("complete")).status_code == 200
    assert [one["task_id"] for one in await claim(api)] == [second]


async def test_a_suspect_is_handed_out_alone(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    await holding.rescued(database, hand)
    async with database.tx() as tx:
        await hands.put_many(tx, 3)
    answers = [await claim(api), await claim(api)]
    assert sorted(len(answer) for answer in answers) == [1, 3]
    [suspect] = min(answers, key=len)
    assert (suspect["task_id"], suspect["losses"], suspect["attempt"]) == (hand.id, 1, 2)


async def test_a_waiting_claim_gets_what_is_enqueued_meanwhile(api: Caller, database: Database) -> None:
    waiting = asyncio.create_task(claim(api, wait=30))
    async with database.tx() as tx:
        id = await hands.put(tx)
    assert [one["task_id"] for one in await waiting] == [id]


async def test_claims_whose_answer_was_lost_are_given_back_without_a_loss(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        ids_ = await hands.put_many(tx, 3)
    lost = await claim(api, claim_id="c-1", limit=2)
    again = await claim(api, claim_id="c-2", unanswered=["c-1"])
    assert {one["task_id"] for one in again} == set(ids_)
    assert len(lost) == 2 and all("losses" not in one for one in again)
    async with database.tx() as tx:
        counted = await tx.rows("select attempt - uncounted, losses from weft.tasks")
    assert {tuple(one) for one in counted} == {(1, 0)}
    assert code(await Hand(api, lost[0]).say("complete")) == (409, "LEASE_LOST")


async def test_only_its_own_claims_can_be_called_unanswered(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put(tx)
    [held] = await claim(api, claim_id="c-1")
    assert await claim(api, worker="eve", unanswered=["c-1"]) == []
    assert await claim(api, role="other:worker", unanswered=["c-1"]) == []
    assert (await Hand(api, held).say("complete")).status_code == 200


@each("role", ["reader", "writer", "admin"])
async def test_only_a_worker_key_claims(api: Caller, role: str) -> None:
    answer = await api.post("/v1/task/claim", {"worker": "ada", "kinds": ["mail"]}, role=role)
    assert code(answer) == (403, "FORBIDDEN")


async def test_a_claim_without_a_key_is_refused(api: Caller) -> None:
    answer = await api.post("/v1/task/claim", {"worker": "ada", "kinds": ["mail"]}, role=None)
    assert code(answer) == (401, "UNAUTHENTICATED")


async def test_a_task_token_does_not_claim(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    answer = await api.post("/v1/task/claim", {"worker": "ada", "kinds": ["mail"]}, key=hand.task["token"])
    assert code(answer) == (403, "FORBIDDEN")


@each(
    "body",
    [
        {}, {"worker": "ada"}, {"worker": "ada", "kinds": []}, {"worker": "", "kinds": ["mail"]},
        {"worker": "ada", "kinds": ["mail"], "limit": -1}, {"worker": "ada", "kinds": ["mail"], "limit": 501},
        {"worker": "ada", "kinds": ["mail"], "wait": 61}, {"worker": "ada", "kinds": ["mail"], "org": str(uuid.uuid4())},
        {"worker": "ada", "kinds": "mail"}, {"worker": "ada", "kinds": ["a\nb"]},
        {"worker": "ada", "kinds": ["m"], "limit": 1.5},
    ],
)  # fmt: skip
async def test_a_malformed_claim_claims_nothing(api: Caller, database: Database, body: dict[str, Any]) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx)
    assert code(await api.post("/v1/task/claim", body, role="worker"))[0] == 400
    async with database.tx() as tx:
        assert (await hands.look(tx, id)).state == "ready"


# every word, every status


@pytest.mark.parametrize("verb", WORDS)
async def test_every_word_is_taken_with_the_tasks_token(api: Caller, database: Database, verb: str) -> None:
    hand = await hold(api, database)
    answer = await hand.say(verb, **WORDS[verb])
    assert answer.status_code == 200, answer.text
    assert (answer.json()["task_id"], answer.json()["attempt"]) == (hand.id, 1)


@pytest.mark.parametrize("verb", WORDS)
async def test_every_word_is_taken_with_a_worker_key_and_the_ids(api: Caller, database: Database, verb: str) -> None:
    hand = await hold(api, database)
    answer = await api.post(f"/v1/task/{verb}", {**hand.which, **WORDS[verb]}, role="worker")
    assert answer.status_code == 200, answer.text


def _tampered(token: str) -> str:
    place = len(token) // 2
    return token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]


@each("verb", [*WORDS, "fetch"])
@each("key", ["weftt_", "weftt_a.b.c", "nonsense", "tampered"])
async def test_a_bad_token_is_401_and_changes_nothing(api: Caller, database: Database, verb: str, key: str) -> None:
    hand = await hold(api, database)
    before = await row(database, hand.id)
    key = _tampered(hand.task["token"]) if key == "tampered" else key
    if verb == "fetch":
        answer = await api.get("/v1/task/fetch", key=key)
    else:
        answer = await api.post(f"/v1/task/{verb}", WORDS[verb], key=key)
    assert code(answer) == (401, "UNAUTHENTICATED")
    assert await row(database, hand.id) == before


@pytest.mark.parametrize("verb", WORDS)
async def test_another_tasks_token_is_403_and_changes_nothing(api: Caller, database: Database, verb: str) -> None:
    mine, other = await hold(api, database), await hold(api, database)
    before = await row(database, mine.id), await row(database, other.id)
    assert code(await mine.say(verb, task_id=other.id, **WORDS[verb])) == (403, "FORBIDDEN")
    assert (await row(database, mine.id), await row(database, other.id)) == before


@each("verb", WORDS)
async def test_another_orgs_key_cannot_say_anything(api: Caller, database: Database, verb: str) -> None:
    hand = await hold(api, database)
    before = await row(database, hand.id)
    path = f"/v1/task/{verb}"
    assert code(await api.post(path, {**hand.which, **WORDS[verb]}, role="other:worker")) == (409, "LEASE_LOST")
    item = {"token": hand.task["token"], **WORDS[verb]}
    answer = await api.post(path, {"items": [item]}, role="other:worker")
    assert [one["status"] for one in answer.json()["items"]] == [403]
    assert await row(database, hand.id) == before


@pytest.mark.parametrize("verb", [*WORDS, "fetch"])
async def test_a_zombie_is_409_and_changes_nothing(api: Caller, database: Database, verb: str) -> None:
    hand = await hold(api, database)
    await holding.rescued(database, hand)
    before = await row(database, hand.id)
    answer = await hand.fetch() if verb == "fetch" else await hand.say(verb, **WORDS[verb])
    assert code(answer) == (409, "LEASE_LOST")
    if verb != "fetch":
        assert code(await api.post(f"/v1/task/{verb}", {**hand.which, **WORDS[verb]}, role="worker")) == (409, "LEASE_LOST")
    assert await row(database, hand.id) == before


@pytest.mark.parametrize("verb", [*WORDS, "fetch"])
async def test_a_zombie_does_not_disturb_whoever_has_the_task_now(api: Caller, database: Database, verb: str) -> None:
    zombie = await hold(api, database)
    await holding.rescued(database, zombie)
    [task] = await claim(api, worker="bob")
    before = await row(database, zombie.id)
    answer = await zombie.fetch() if verb == "fetch" else await zombie.say(verb, **WORDS[verb])
    assert code(answer) == (409, "LEASE_LOST")
    assert await row(database, zombie.id) == before
    assert (await Hand(api, task).say("complete", result="bob")).json()["state"] == "completed"


@pytest.mark.parametrize("verb", WORDS)
async def test_ids_of_another_attempt_are_409(api: Caller, database: Database, verb: str) -> None:
    hand = await hold(api, database)
    before = await row(database, hand.id)
    for wrong in ({"attempt": 2}, {"lease_token": str(uuid.uuid4())}):
        assert code(await hand.say(verb, **{**hand.which, **wrong}, **WORDS[verb])) == (409, "LEASE_LOST")
        answer = await api.post(f"/v1/task/{verb}", {**hand.which, **wrong, **WORDS[verb]}, role="worker")
        assert code(answer) == (409, "LEASE_LOST")
    assert await row(database, hand.id) == before


MALFORMED = [{"task_id": "no"}, {"unknown": 1}, {"attempt": 0}, {"items": []}, {"items": [{"x": 1}]}]


@each(("verb", "body"), itertools.product(WORDS, MALFORMED))
async def test_a_malformed_word_is_400(api: Caller, database: Database, verb: str, body: dict[str, Any]) -> None:
    if verb == "heartbeat" and body == {"items": []}:
        body = {"progress": 101}
    hand = await hold(api, database)
    before = await row(database, hand.id)
    assert code(await hand.say(verb, **body))[0] == 400
    assert await row(database, hand.id) == before


@pytest.mark.parametrize("verb", WORDS)
async def test_a_worker_key_must_say_which_attempt(api: Caller, database: Database, verb: str) -> None:
    hand = await hold(api, database)
    assert code(await api.post(f"/v1/task/{verb}", {"task_id": hand.id, **WORDS[verb]}, role="worker"))[0] == 400
    assert code(await api.post(f"/v1/task/{verb}", WORDS[verb], role="admin"))[0] == 403


async def test_a_result_that_cannot_be_stored_is_400_and_the_attempt_goes_on(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    assert code(await hand.say("complete", result="x" * 300_000))[0] == 400
    deep: Any = 1
    for _ in range(66):
        deep = [deep]
    assert code(await hand.say("complete", result=deep))[0] == 400
    assert (await hand.say("complete", result="ok")).json()["state"] == "completed"


async def test_the_old_path_of_fetch_answers_too(api: Caller, database: Database) -> None:
    hand = await hold(api, database, payload={"n": 1})
    old = await api.get("/internal/task-fetch", key=hand.task["token"])
    new = await hand.fetch()
    assert old.json() == new.json() and new.json()["payload"] == {"n": 1} and new.json()["task_id"] == hand.id


async def test_a_rotated_key_still_verifies_and_the_next_heartbeat_brings_a_new_token(
    api: Caller, database: Database
) -> None:
    hand = await hold(api, database)
    async with database.tx() as tx:
        await signing.rotate(tx)
    restarted = dataclasses.replace(api, client=calling.client(database))
    renewed = (await Hand(restarted, hand.task).say("heartbeat")).json()["token"]
    assert renewed != hand.task["token"]
    assert (await Hand(restarted, {**hand.task, "token": renewed}).say("complete")).status_code == 200
    await restarted.client.aclose()


async def test_a_key_retired_at_once_proves_nothing(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    async with database.tx() as tx:
        await signing.rotate(tx, still=dt.timedelta(0))
    restarted = dataclasses.replace(api, client=calling.client(database))
    assert code(await Hand(restarted, hand.task).say("complete")) == (401, "UNAUTHENTICATED")
    await restarted.client.aclose()
