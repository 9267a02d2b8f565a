"""The rules of the worker protocol that a server keeps."""

import asyncio
import time
import uuid
from typing import Any

from weft.testing.conformance import NOW, Broken, Probe, Rule, must

WORDS: dict[str, dict[str, Any]] = {
    "heartbeat": {"progress": 10},
    "complete": {"result": 1},
    "fail": {"error": {"message": "no"}},
    "log": {"lines": [{"message": "hello"}]},
}


async def claim_needs_a_key(probe: Probe) -> None:
    body = {"worker": "w", "kinds": ["k"]}
    (await probe.ask("POST", "/v1/task/claim", body, key=None)).must_be(401)
    (await probe.ask("POST", "/v1/task/claim", body, key="weftw_wrong")).must_be(401)


async def claim_needs_a_worker_key(probe: Probe) -> None:
    (await probe.try_claim(key=probe.api_key)).must_be(403)


async def malformed_claims(probe: Probe) -> None:
    id = await probe.put()
    wrongs: list[dict[str, Any]] = [
        {"limit": -1}, {"kinds": []}, {"kinds": "x"}, {"wait": 9999}, {"unknown": 1}, {"org": str(uuid.uuid4())},
    ]  # fmt: skip
    for wrong in wrongs:
        (await probe.try_claim(**wrong)).must_be(400)
    (await probe.ask("POST", "/v1/task/claim", b"{not json", key=probe.worker_key)).must_be(400)
    must((await probe.look(id))["state"] == "ready", "a refused claim has claimed something")


async def claim_hands_out(probe: Probe) -> None:
    task = await probe.hold(payload={"value": [1, "ä", None]}, timeout=60)
    for name, kind in {
        "task_id": str, "attempt": int, "lease_token": str, "token": str, "kind": str, "queue": str,
        "lease_seconds": float | int,
    }.items():  # fmt: skip
        must(isinstance(task.get(name), kind), f"a claimed task has no {name}")
    must(task["payload"] == {"value": [1, "ä", None]}, f"the payload came as {task['payload']!r}")
    must(task["attempt"] == 1 and task["timeout"] == 60, "attempt or timeout are wrong")
    must((await probe.look(task["task_id"]))["state"] == "running", "a claimed task is not shown as running")


async def claimed_once(probe: Probe) -> None:
    ids = {await probe.put() for _ in range(5)}
    answers = await asyncio.gather(*(probe.claim(limit=2, worker=f"{probe.worker}-{n}") for n in range(4)))
    answers += [await probe.claim(limit=10)]
    got = [task["task_id"] for tasks in answers for task in tasks]
    must(len(got) == len(set(got)) == 5 and set(got) == ids, f"{len(got)} tasks were handed out, 5 were there")


async def claim_order(probe: Probe) -> None:
    low, high = await probe.put(priority=10), await probe.put(priority=90)
    got = [task["task_id"] for task in await probe.claim()]
    must(got == [high, low], "a higher priority does not come first")


async def only_named_kinds(probe: Probe) -> None:
    await probe.put("conformance.other")
    await probe.put(capabilities=["conformance"])
    must(await probe.claim() == [], "a task of another kind, or one that needs a capability, was handed out")
    must(len(await probe.claim(capabilities=["conformance"])) == 1, "a task whose capability was named was not handed out")


async def waits_for_work(probe: Probe) -> None:
    waiting = asyncio.create_task(probe.claim(wait=20))
    await asyncio.sleep(0.5)
    began = time.monotonic()
    id = await probe.put()
    must([task["task_id"] for task in await waiting] == [id], "a waiting claim did not get what was enqueued")
    must(time.monotonic() - began < 10, "a waiting claim waited on although there was work")


async def waits_no_longer(probe: Probe) -> None:
    began = time.monotonic()
    must(await probe.claim(wait=1) == [], "something came out of an empty queue")
    must(0.9 < time.monotonic() - began < 15, f"a claim that waits 1 s took {time.monotonic() - began:.1f} s")


async def unanswered_claims(probe: Probe) -> None:
    ids = {await probe.put() for _ in range(2)}
    name = uuid.uuid4().hex
    lost = await probe.claim(claim_id=name)
    again = await probe.claim(unanswered=[name])
    must({task["task_id"] for task in again} == ids == {task["task_id"] for task in lost}, "it was not given back at once")
    for task in again:
        must((await probe.look(task["task_id"]))["losses"] == 0, "a claim without an answer was counted as a loss")
    (await probe.say("complete", lost[0])).must_be(409, "LEASE_LOST")


async def fetches(probe: Probe) -> None:
    task = await probe.hold(payload={"value": 7})
    for path in ("/v1/task/fetch", "/internal/task-fetch"):
        found = (await probe.ask("GET", path, key=task["token"])).must_be(200).body
        must(found["task_id"] == task["task_id"] and found["payload"] == {"value": 7}, f"{path} answered another task")
    (await probe.ask("GET", "/v1/task/fetch", key="weftt_x.y.z")).must_be(401)


async def completes(probe: Probe) -> None:
    task = await probe.hold()
    heard = (await probe.say("complete", task, result={"n": 1})).must_be(200)
    must(heard.body["state"] == "completed", "the answer does not say that the task completed")
    found = await probe.look(task["task_id"])
    must(found["state"] == "completed" and found["result"] == {"n": 1}, "the result is not what was sent")


async def completes_twice(probe: Probe) -> None:
    task = await probe.hold()
    first = (await probe.say("complete", task, result=1)).must_be(200)
    second = (await probe.say("complete", task, result=2)).must_be(200)
    must(first.body == second.body, "a repeated complete answers something else")
    must((await probe.look(task["task_id"]))["result"] == 1, "a repeated complete changed the result")
    (await probe.say("fail", task)).must_be(409, "LEASE_LOST")


async def fails_and_retries(probe: Probe) -> None:
    task = await probe.hold(retry=NOW, max_attempts=2)
    heard = (await probe.say("fail", task, error={"type": "Oops", "message": "first"})).must_be(200)
    must(heard.body["state"] == "queued", "a failed attempt with attempts left is not queued again")
    (again,) = await probe.claim(wait=10)
    must(again["attempt"] == 2 and again["lease_token"] != task["lease_token"], "the retry is not a new attempt")
    must((await probe.say("fail", again, error={"message": "second"})).must_be(200).body["state"] == "failed", "not failed")
    found = await probe.look(task["task_id"])
    must(found["reason"] == "dead" and found["error"]["message"] == "second", "a task without attempts left is not dead")


async def retry_after(probe: Probe) -> None:
    task = await probe.hold(retry=NOW)
    heard = (await probe.say("fail", task, error={"message": "x"}, retry_after=3600)).must_be(200)
    must(heard.body["retry_in"] == 3600, "retry_after is not heard")
    must((await probe.look(task["task_id"]))["state"] == "scheduled", "the task does not wait")


async def other_endings(probe: Probe) -> None:
    for said, state, reason in (
        ({"retryable": False}, "failed", "refused"), ({"outcome": "discarded"}, "cancelled", "discarded"),
        ({"outcome": "timed_out", "max_attempts": 1}, "timed_out", "dead"),
    ):  # fmt: skip
        task = await probe.hold()
        (await probe.say("fail", task, **said)).must_be(200)
        found = await probe.look(task["task_id"])
        must((found["state"], found["reason"]) == (state, reason), f"{said} led to {found['state']} ({found['reason']})")


async def gives_back(probe: Probe) -> None:
    task = await probe.hold(max_attempts=1)
    for outcome in ("released", "snoozed"):
        (await probe.say("fail", task, outcome=outcome, retry_after=0)).must_be(200)
        (task,) = await probe.claim(wait=10)
    must((await probe.say("complete", task)).must_be(200).body["state"] == "completed", "it used up its only attempt")


async def bad_tokens(probe: Probe) -> None:
    task = await probe.hold()
    token = str(task["token"])
    middle = len(token) // 2
    forged = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]
    for verb, body in WORDS.items():
        for key in (forged, "weftt_", "weftt_e30.e30.e30", "nonsense", None):
            (await probe.ask("POST", f"/v1/task/{verb}", body, key=key)).must_be(401)
    must((await probe.look(task["task_id"]))["state"] == "running", "a bad token changed something")


async def other_tokens(probe: Probe) -> None:
    mine, other = await probe.hold(), await probe.hold()
    for verb, body in WORDS.items():
        (await probe.say(verb, mine, task_id=other["task_id"], **body)).must_be(403)
    for task in (mine, other):
        must((await probe.look(task["task_id"]))["state"] == "running", "another task's token changed something")


async def malformed_words(probe: Probe) -> None:
    task = await probe.hold()
    for verb in WORDS:
        (await probe.say(verb, task, unknown=1)).must_be(400)
        (await probe.say(verb, task, task_id="no id")).must_be(400)
        (await probe.ask("POST", f"/v1/task/{verb}", b"[", key=task["token"])).must_be(400)
    (await probe.say("complete", task, result="x" * 300_000)).must_be(400)
    (await probe.say("complete", task)).must_be(200)


async def heartbeat_keeps_the_lease(probe: Probe) -> None:
    task = await probe.hold(heartbeat_timeout=3)
    must(task["lease_seconds"] == 3, "heartbeat_timeout is not the length of the lease")
    began = time.monotonic()
    while time.monotonic() - began < 9:
        (await probe.say("heartbeat", task, progress=40, message="so far")).must_be(200)
        await asyncio.sleep(0.8)
    found = await probe.look(task["task_id"])
    must((found["losses"], found["progress"]) == (0, 40), "the lease was not kept, or the progress not stored")
    (await probe.say("complete", task)).must_be(200)


async def stale_leases(probe: Probe) -> None:
    task = await probe.hold(heartbeat_timeout=1)
    await probe.until(task["task_id"], lambda found: found["losses"] == 1, what="a lapsed lease is taken away")
    for verb, body in WORDS.items():
        (await probe.say(verb, task, **body)).must_be(409, "LEASE_LOST")
    (await probe.ask("GET", "/v1/task/fetch", key=task["token"])).must_be(409, "LEASE_LOST")
    (again,) = await probe.claim(wait=10)
    must(again["attempt"] == 2 and again["losses"] == 1, "the next attempt does not say that a worker was lost")
    for verb, body in WORDS.items():
        (await probe.say(verb, task, **body)).must_be(409, "LEASE_LOST")
    (await probe.say("complete", again, result="second")).must_be(200)
    must((await probe.look(task["task_id"]))["result"] == "second", "the stale worker's word counted")


async def tells_of_cancellation(probe: Probe) -> None:
    task = await probe.hold()
    must(not (await probe.say("heartbeat", task)).must_be(200).body.get("cancelled"), "cancelled before anybody asked")
    await probe.cancel(task["task_id"])
    told = (await probe.say("heartbeat", task)).must_be(200).body
    must(told.get("cancelled") is True, "a heartbeat does not tell of the cancellation")
    (await probe.say("fail", task, outcome="cancelled")).must_be(200)
    must((await probe.look(task["task_id"]))["state"] == "cancelled", "it is not cancelled")


async def keeps_logs(probe: Probe) -> None:
    task = await probe.hold()
    lines = [{"message": "one"}, {"message": "two", "level": "error", "fields": {"n": 2}}]
    (await probe.say("log", task, lines=lines)).must_be(200)
    page = (await probe.ask("GET", f"/v1/tasks/{task['task_id']}/logs", key=probe.api_key)).must_be(200).body
    must([line["message"] for line in page["items"]] == ["one", "two"], "the lines were not kept in their order")


async def batches(probe: Probe) -> None:
    for _ in range(3):
        await probe.put()
    first, second, third = await probe.claim()
    items: list[dict[str, Any]] = [
        {"token": first["token"], "result": 1}, {"token": "weftt_bad"},
        {"token": second["token"], "task_id": first["task_id"]},
        {name: third[name] for name in ("task_id", "attempt", "lease_token")},
        {**{name: second[name] for name in ("task_id", "attempt")}, "lease_token": str(uuid.uuid4())},
    ]  # fmt: skip
    heard = (await probe.ask("POST", "/v1/task/complete", {"items": items}, key=probe.worker_key)).must_be(200)
    statuses = [verdict.get("status", 200) for verdict in heard.body["items"]]
    must(statuses == [200, 401, 403, 200, 409], f"the verdicts were {statuses}, expected 200, 401, 403, 200, 409")
    states = [(await probe.look(task["task_id"]))["state"] for task in (first, second, third)]
    must(states == ["completed", "running", "completed"], f"the batch led to {states}")
    many = {"items": [{"token": "x"}] * 501}
    (await probe.ask("POST", "/v1/task/complete", many, key=probe.worker_key)).must_be(400)


RULES = (
    Rule("a claim needs a key (401)", claim_needs_a_key),
    Rule("a claim needs a worker key (403)", claim_needs_a_worker_key),
    Rule("a malformed claim is refused and claims nothing (400)", malformed_claims),
    Rule("a claim hands out the task with its lease and token", claim_hands_out),
    Rule("a task is handed out once, however many ask", claimed_once),
    Rule("higher priorities come first", claim_order),
    Rule("only the kinds, queues and capabilities named are handed out", only_named_kinds),
    Rule("a claim that waits gets what is enqueued meanwhile", waits_for_work),
    Rule("a claim waits no longer than it asked to", waits_no_longer),
    Rule("what a claim without an answer took is given back", unanswered_claims),
    Rule("fetch answers the task of the token", fetches),
    Rule("complete stores the result", completes),
    Rule("a repeated complete answers the same", completes_twice),
    Rule("fail retries by the policy, then the task is dead", fails_and_retries),
    Rule("retry_after overrides the policy", retry_after),
    Rule("non-retryable, discarded and timed out end the task", other_endings),
    Rule("released and snoozed use up no attempt", gives_back),
    Rule("a bad token is refused and changes nothing (401)", bad_tokens),
    Rule("another task's token is refused and changes nothing (403)", other_tokens),
    Rule("a malformed word is refused and changes nothing (400)", malformed_words),
    Rule("heartbeats keep the lease and carry progress", heartbeat_keeps_the_lease),
    Rule("a stale lease is refused for every word, and changes nothing (409)", stale_leases),
    Rule("a heartbeat tells of a cancellation", tells_of_cancellation),
    Rule("log lines are kept in order", keeps_logs),
    Rule("each item of a batch gets its own verdict", batches),
)

__all__ = ["RULES", "Broken"]
