"""What follows from what HTTP workers say: endings, retries, progress, cancellation, logs; one at a time and in batches."""

import asyncio
import uuid
from typing import Any

import calling
import holding
import pytest
from calling import Caller, code
from holding import Hand, claim, hold, row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hands
from weft.access import keys
from weft.base import config
from weft.cluster import nodes
from weft.db.database import Database
from weft.queue import tasks
from weft.settle import rescue

NOW = {"backoff": "fixed", "base": 0}


async def view(database: Database, id: str) -> Any:
    async with database.tx() as tx:
        return await hands.look(tx, id)


async def test_a_repeated_complete_answers_the_same_and_stores_the_first_result(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    first = await hand.say("complete", result={"n": 1})
    second = await hand.say("complete", result={"n": 2})
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content == second.content
    assert (await view(database, hand.id)).result == {"n": 1}


async def test_a_repeated_complete_with_the_ids_answers_the_same_too(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    answers = [await api.post("/v1/task/complete", hand.which, role="worker") for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200] and answers[0].content == answers[1].content


async def test_what_ended_one_way_does_not_end_another(api: Caller, database: Database) -> None:
    done, failed = await hold(api, database), await hold(api, database, max_attempts=1)
    assert (await done.say("complete")).json()["state"] == "completed"
    assert (await failed.say("fail")).json()["state"] == "failed"
    before = await row(database, done.id), await row(database, failed.id)
    assert code(await done.say("fail")) == (409, "LEASE_LOST")
    assert code(await failed.say("complete")) == (409, "LEASE_LOST")
    assert (await row(database, done.id), await row(database, failed.id)) == before


async def test_a_failure_is_retried_by_the_tasks_policy_then_dead(api: Caller, database: Database) -> None:
    hand = await hold(api, database, max_attempts=2, retry=NOW)
    answer = await hand.say("fail", error={"type": "Oops", "message": "no", "traceback": "line 1"})
    assert answer.json() == {"task_id": hand.id, "attempt": 1, "state": "queued", "retry_in": 0.0}
    [again] = await claim(api, wait=5)
    assert again["attempt"] == 2
    assert (await Hand(api, again).say("fail", error={"message": "again"})).json()["state"] == "failed"
    ended = await view(database, hand.id)
    assert ended.reason == "dead" and ended.error == {"type": "Error", "message": "again"}
    assert ended.attempts[0]["error"] == {"type": "Oops", "message": "no", "traceback": "line 1"}


@pytest.mark.parametrize(
    ("said", "state", "reason"),
    [
        ({"outcome": "discarded"}, "cancelled", "discarded"),
        ({"retryable": False}, "failed", "refused"),
        ({"outcome": "timed_out", "max_attempts": 1}, "timed_out", "dead"),
        ({"max_attempts": 1}, "failed", "dead"),
    ],
)
async def test_the_worker_says_that_it_is_over(
    api: Caller, database: Database, said: dict[str, Any], state: str, reason: str
) -> None:
    hand = await hold(api, database)
    assert (await hand.say("fail", **said)).json()["state"] == state
    ended = await view(database, hand.id)
    assert (ended.state, ended.reason) == (state, reason)


@pytest.mark.parametrize(
    ("said", "counted", "delayed"),
    [
        ({"retry_after": 99}, 1, 99.0),
        ({"outcome": "snoozed", "retry_after": 50}, 0, 50.0),
        ({"outcome": "released"}, 0, 0.0),
        ({"retry": {"backoff": "fixed", "base": 7, "jitter": 0}}, 1, 7.0),
    ],
)
async def test_the_worker_says_when_it_goes_on(
    api: Caller, database: Database, said: dict[str, Any], counted: int, delayed: float
) -> None:
    hand = await hold(api, database)
    answer = (await hand.say("fail", **said)).json()
    assert (answer["state"], answer["retry_in"]) == ("queued", delayed)
    back = await view(database, hand.id)
    assert back.attempt - back.uncounted == counted
    assert abs((back.run_at - back.created_at).total_seconds() - delayed) < 60


async def test_nobody_can_say_cancelled_who_was_not_asked_to_end(api: Caller, database: Database) -> None:
    hand = await hold(api, database, max_attempts=1)
    assert (await hand.say("fail", outcome="cancelled")).json()["state"] == "failed"


async def test_a_heartbeat_tells_of_a_cancellation(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    assert "cancelled" not in (await hand.say("heartbeat")).json()
    async with database.tx() as tx:
        await rescue.cancel_one(tx, id=uuid.UUID(hand.id), org=hands.ORG)
    told = (await hand.say("heartbeat")).json()
    assert (told["cancelled"], told["reason"]) == (True, "cancelled")
    about = await api.post("/v1/task/heartbeat", {"worker": "ada"}, role="worker")
    assert about.json()["stop"] == [hand.id]
    assert (await hand.say("fail", outcome="cancelled")).json()["state"] == "cancelled"


async def test_a_heartbeat_tells_that_the_timeout_is_over(api: Caller, database: Database) -> None:
    hand = await hold(api, database, timeout=1)
    async with database.tx() as tx:
        await tx.run("update weft.tasks set claimed_at = claimed_at - interval '2 seconds'")
    told = (await hand.say("heartbeat")).json()
    assert (told["cancelled"], told["reason"]) == (True, "timed_out")


async def test_a_heartbeat_keeps_the_lease_and_without_one_it_is_a_loss(api: Caller, database: Database) -> None:
    kept, dropped = await hold(api, database), await hold(api, database)
    await holding.lapse(database, kept.id)
    await holding.lapse(database, dropped.id)
    assert (await kept.say("heartbeat", progress=40, message="half")).status_code == 200
    async with database.tx() as tx:
        assert await rescue.leases(tx) == 1
    saved, lost = await view(database, kept.id), await view(database, dropped.id)
    assert (saved.state, saved.progress, saved.progress_message) == ("running", 40, "half")
    assert (lost.state, lost.losses, lost.attempt - lost.uncounted) == ("ready", 1, 0)


async def test_three_losses_are_the_end(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx)
    for _ in range(3):
        [task] = await claim(api, wait=5)
        await holding.rescued(database, Hand(api, task))
    ended = await view(database, id)
    assert (ended.state, ended.reason, ended.losses) == ("failed", "lost", 3)


async def test_a_dead_node_does_not_take_what_has_a_lease_of_its_own(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    async with database.tx() as tx:
        [node] = [one for one in await nodes.known(tx) if one.node.hostname == "ada"]
        assert await rescue.nodes(tx, [node.node.id]) == 0
        await tx.run("delete from weft.nodes")
        await tx.run("update weft.tasks set claimed_at = claimed_at - interval '1 hour'")
        assert await rescue.strays(tx) == 0
    assert (await hand.say("complete")).status_code == 200


async def test_a_database_workers_task_still_hangs_on_its_beat(database: Database, api: Caller) -> None:
    async with database.tx() as tx:
        await hands.put(tx)
        held = await hands.claim_one(tx)
        assert await tx.value("select lease_until from weft.tasks") is None
    which = {"task_id": held.id, "attempt": 1, "lease_token": held.token}
    assert (await api.post("/v1/task/heartbeat", which, role="worker")).status_code == 200
    async with database.tx() as tx:
        assert await tx.value("select lease_until from weft.tasks") is None
        assert await rescue.leases(tx) == 0
        assert await rescue.nodes(tx, [hands.NODE]) == 1


async def test_log_lines_are_kept_in_order_with_their_attempt(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    lines = [{"message": "one"}, {"message": "two", "level": "error", "fields": {"n": 2}}]
    assert (await hand.say("log", lines=lines)).json()["kept"] == 2
    async with database.tx() as tx:
        kept = await tasks.logs(tx, id=uuid.UUID(hand.id), org=hands.ORG)
    assert [(line.level, line.message, line.fields) for line in kept] == [("info", "one", None), ("error", "two", {"n": 2})]


async def test_a_worker_is_a_node_until_it_says_that_it_goes(api: Caller, database: Database) -> None:
    await claim(api, queues=["slow"], capabilities=["gpu"], limit=7)
    async with database.tx() as tx:
        [node] = [one for one in await nodes.known(tx) if one.node.hostname == "ada"]
        assert (node.status, node.node.roles, node.node.handlers) == ("active", ("worker",), ("mail",))
        assert (node.node.queues, node.node.capabilities, node.node.concurrency) == (("slow",), ("gpu",), 7)
    for status, found in (("draining", ["draining"]), ("gone", [])):
        assert (await api.post("/v1/task/heartbeat", {"worker": "ada", "status": status}, role="worker")).status_code == 200
        async with database.tx() as tx:
            assert [one.status for one in await nodes.known(tx) if one.node.hostname == "ada"] == found


async def test_a_worker_that_was_told_to_drain_gets_nothing_more(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    async with database.tx() as tx:
        [node] = [one.node.id for one in await nodes.known(tx) if one.node.hostname == "ada"]
        await hands.put(tx)
    assert (await api.post(f"/v1/nodes/{node}/drain")).json()["status"] == "draining"
    assert await claim(api) == []
    assert (await hand.say("complete")).json()["state"] == "completed"
    assert len(await claim(api, worker="grace")) == 1


async def test_another_org_does_not_see_an_http_worker(api: Caller, database: Database) -> None:
    await claim(api)
    async with database.tx(org=api.other_org) as tx:
        assert await tx.value("select count(*) from weft.nodes") == 0
    async with database.tx(org=hands.ORG) as tx:
        assert await tx.value("select count(*) from weft.nodes") == 1


async def test_the_list_of_nodes_shows_an_http_worker_to_its_own_org_only(api: Caller, database: Database) -> None:
    await claim(api)
    for role, names in (("reader", ["ada"]), ("other:reader", [])):
        listed = (await api.get("/v1/nodes", role=role)).json()["items"]
        assert [node["hostname"] for node in listed] == names


async def test_explain_knows_what_http_workers_can_do(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        id, theirs = await hands.put(tx), await hands.put(tx, org=api.other_org)
    await claim(api, queues=["elsewhere"])
    before = (await api.get(f"/v1/tasks/{id}/explain", role="reader")).json()
    await claim(api, queues=["default"], limit=0)
    after = (await api.get(f"/v1/tasks/{id}/explain", role="reader")).json()
    other = (await api.get(f"/v1/tasks/{theirs}/explain", role="other:reader")).json()
    assert before["code"] == other["code"] != after["code"]


# batches


async def test_each_item_of_a_batch_gets_the_verdict_it_would_have_got_alone(api: Caller, database: Database) -> None:
    good, stale, huge, twice = [await hold(api, database) for _ in range(4)]
    await holding.rescued(database, stale)
    items: list[dict[str, Any]] = [
        {"token": good.task["token"], "result": 1}, {"token": stale.task["token"]},
        {"token": huge.task["token"], "result": "x" * 300_000}, {"token": "weftt_bad"},
        {"token": twice.task["token"], "task_id": good.id}, twice.which, {"token": twice.task["token"]},
        {"task_id": good.id},
    ]  # fmt: skip
    answer = (await api.post("/v1/task/complete", {"items": items}, role="worker")).json()["items"]
    assert [one.get("status", 200) for one in answer] == [200, 409, 400, 401, 403, 200, 200, 400]
    assert [one.get("code") for one in answer[1:5]] == ["LEASE_LOST", "INVALID_PAYLOAD", "UNAUTHENTICATED", "FORBIDDEN"]
    async with database.tx() as tx:
        assert await hands.states(tx, [good.id, huge.id, twice.id]) == ["completed", "running", "completed"]


@pytest.mark.parametrize("verb", holding.WORDS)
async def test_every_word_comes_in_batches(api: Caller, database: Database, verb: str) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 3)
    held = [Hand(api, task) for task in await claim(api)]
    items = [{"token": one.task["token"], **holding.WORDS[verb]} for one in held]
    answer = await api.post(f"/v1/task/{verb}", {"items": items}, role="worker")
    assert [one["task_id"] for one in answer.json()["items"]] == [one.id for one in held]
    assert all(one.get("status", 200) == 200 for one in answer.json()["items"])


async def test_a_batch_and_one_attempt_cannot_be_mixed(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    body = {"items": [{"token": hand.task["token"]}], "task_id": hand.id}
    assert code(await api.post("/v1/task/complete", body, role="worker"))[0] == 400


async def test_large_payloads_beyond_the_answer_are_fetched(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        for _ in range(40):
            await hands.put(tx, payload={"blob": "x" * 250_000})
    held = await claim(api)
    bare = [task for task in held if "payload" not in task]
    assert len(held) == 40 and 0 < len(bare) < 40
    assert len((await Hand(api, bare[0]).fetch()).json()["payload"]["blob"]) == 250_000


Word = st.sampled_from(["complete", "fail", "heartbeat", "log", "lose"])


@given(words=st.lists(Word, max_size=10))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_only_the_holder_is_heard_and_a_task_ends_once(words: list[str], database_url: str) -> None:
    asyncio.run(_play(words, url=database_url))


async def _play(words: list[str], *, url: str) -> None:
    """Every attempt that ever was says every word; only the one that holds the task may be heard."""
    database = Database(config.Settings(database_url=url))
    async with database.tx() as tx:
        id = await hands.put(tx, retry=NOW, max_attempts=1000)
        _, key = await keys.create(tx, org=hands.ORG, name="w", role="worker", actor="t")
    api = Caller(calling.client(database), {"worker": key}, hands.ORG)
    attempts: list[Hand] = []
    holder = finisher = None
    try:
        for word in words:
            if holder is None and finisher is None:
                [task] = await claim(api, wait=20)
                holder = Hand(api, task)
                attempts.append(holder)
            if word == "lose":
                if holder is not None:
                    await holding.lapse(database, id)
                    async with database.tx() as tx:
                        await tx.run("update weft.tasks set losses = 0")
                        assert await rescue.leases(tx) == 1
                    holder = None
                continue
            for hand in attempts:
                answer = await hand.say(word, **holding.WORDS[word])
                heard = hand is holder or (hand is finisher and word == "complete")
                assert answer.status_code == (200 if heard else 409), (word, answer.text)
            if holder is not None and word == "complete":
                holder, finisher = None, holder
            elif holder is not None and word == "fail":
                holder = None
        async with database.tx() as tx:
            assert await tx.value("select count(*) from weft.task_history where id = %(id)s", {"id": id}) == (
                1 if finisher is not None else 0
            )
            await tx.run("delete from weft.tasks")
    finally:
        await api.client.aclose()
        await database.close()
