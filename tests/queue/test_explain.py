"""Explain: for every reason a task does not run, the answer that names it."""

import datetime as dt
import uuid

import pytest

import hands
from hands import ORG
from weft.access import orgs
from weft.base import errors, ids
from weft.db.tx import Tx
from weft.queue import explain, tasks
from weft.queue.explain import Explanation
from weft.queue.tasks import QueueSettings
from weft.settle import rescue


async def why(tx: Tx, id: str, *, org: uuid.UUID = ORG) -> Explanation:
    return await explain.explain(tx, id=uuid.UUID(id), org=org)


async def worker(tx: Tx, *, queues: tuple[str, ...] = (), capabilities: tuple[str, ...] = (), kind: str = "mail") -> None:
    await tx.run(
        "insert into weft.nodes "
        "(id, hostname, ip_address, pid, version, lease, status, roles, queues, handlers, capabilities) "
        "values (gen_random_uuid(), 'h', 'i', 1, 'v', '10 s', 'active', '{worker}', %(q)s, %(h)s, %(c)s)",
        {"q": list(queues), "h": [kind], "c": list(capabilities)},
    )


async def limit(tx: Tx, *, org: uuid.UUID = ORG, **settings: object) -> None:
    await tasks.set_queue(tx, org=org, queue="default", settings=QueueSettings(**settings), actor="t")  # type: ignore[arg-type]


async def test_it_is_not_due(tx: Tx) -> None:
    await worker(tx)
    first = await why(tx, await hands.put(tx, delay=60))
    assert first.code == "not_due" and "its start is due at 20" in first.summary
    id = await hands.put(tx)
    await hands.end(tx, [await hands.claim_one(tx)], "failed", delay=60.0)
    assert "its retry is due at" in (await why(tx, id)).summary


async def test_nobody_serves_its_queue(tx: Tx) -> None:
    await worker(tx, queues=("other",))
    answer = await why(tx, await hands.put(tx, queue="post"))
    assert (answer.code, answer.summary) == (
        "no_worker", "no worker serves the queue 'post'; start one: weft worker -q post …")  # fmt: skip


async def test_nobody_has_its_handler(tx: Tx) -> None:
    await worker(tx, kind="sms")
    assert (await why(tx, await hands.put(tx))).code == "no_handler"


async def test_nobody_has_its_capabilities(tx: Tx) -> None:
    await worker(tx, capabilities=("big",))
    answer = await why(tx, await hands.put(tx, capabilities=["gpu", "big"]))
    assert answer.code == "no_capability" and "big, gpu" in answer.summary
    await worker(tx, capabilities=("gpu", "big"))
    assert (await why(tx, await hands.put(tx, capabilities=["gpu", "big"]))).code == "in_line"


async def test_its_queue_is_paused_for_its_org_or_for_all(tx: Tx) -> None:
    await worker(tx)
    id = await hands.put(tx)
    for org in (ORG, ids.EVERY_ORG):
        await limit(tx, org=org, paused=True)
        assert (await why(tx, id)).code == "paused"
        await limit(tx, org=org)
    assert (await why(tx, id)).code == "in_line"


async def test_its_orgs_limit_is_full(tx: Tx) -> None:
    await worker(tx)
    await orgs.change(tx, id=ORG, max_concurrent=1, actor="t")
    first, second = await hands.put(tx), await hands.put(tx)
    assert (await why(tx, second)).code == "in_line"
    await hands.claim_special(tx)
    assert (await why(tx, first)).code == "running"
    assert (await why(tx, second)).summary == "its org's limit is full: 1 of 1 are running"


async def test_its_queues_limit_is_full(tx: Tx) -> None:
    await worker(tx)
    await limit(tx, max_running=2)
    await hands.put_many(tx, 3)
    await hands.claim_special(tx)
    answer = await why(tx, await hands.put(tx))
    assert (answer.code, answer.summary) == ("queue_limit", "the queue's limit is full: 2 of 2 are running")


async def test_what_other_orgs_run_does_not_fill_an_orgs_own_limit(tx: Tx) -> None:
    await worker(tx)
    other = await hands.new_org(tx, "other")
    for org in (ORG, other):
        await limit(tx, org=org, max_running=1)
    await hands.put(tx, org=other)
    await hands.claim_special(tx)
    id = await hands.put(tx)
    assert (await why(tx, id)).code == "in_line"
    await limit(tx, org=ids.EVERY_ORG, max_running=1)
    assert (await why(tx, id)).code == "queue_limit"


async def test_its_queues_rate_is_used_up(tx: Tx) -> None:
    await worker(tx)
    await limit(tx, rate_limit=1, rate_period=dt.timedelta(hours=1), rate_burst=1)
    await hands.put_many(tx, 2)
    await hands.claim_special(tx)
    assert (await why(tx, await hands.put(tx))).code == "rate_limit"


async def test_its_key_is_full(tx: Tx) -> None:
    await worker(tx)
    _, second = [await hands.put(tx, concurrency_key="k") for _ in range(2)]
    await hands.claim_special(tx)
    answer = await why(tx, second)
    assert (answer.code, answer.summary) == ("key_limit", "the concurrency key 'k' is full: 1 of 1 are running")


async def test_its_key_is_strict_and_another_is_before_it(tx: Tx) -> None:
    await worker(tx)
    first, second = [await hands.put(tx, concurrency_key="k", concurrency="strict") for _ in range(2)]
    answer = await why(tx, second)
    assert answer.code == "key_order" and first in answer.summary
    assert (await why(tx, first)).code == "in_line"


async def test_it_is_due_and_about_to_be_made_ready(tx: Tx) -> None:
    await worker(tx)
    id = await hands.put(tx, delay=60)
    await hands.make_due(tx, id)
    assert (await why(tx, id)).code == "promoting"


async def test_it_is_in_line_behind_so_many(tx: Tx) -> None:
    await worker(tx)
    await hands.put_many(tx, 12)
    other = await hands.new_org(tx, "other")
    await hands.put_many(tx, 5, org=other)
    answer = await why(tx, await hands.put(tx))
    assert answer.code == "in_line" and "12 tasks of its org are before it in 'default'" in answer.summary
    assert "0 tasks of its org" in (await why(tx, await hands.put(tx, priority=99))).summary


async def test_it_was_cancelled(tx: Tx) -> None:
    id = await hands.put(tx)
    await hands.claim_one(tx)
    assert (await why(tx, id)).code == "running"
    await rescue.cancel_one(tx, id=uuid.UUID(id), org=ORG)
    assert (await why(tx, id)).code == "cancelling"


async def test_every_reason_that_applies_is_said(tx: Tx) -> None:
    await limit(tx, paused=True)
    await orgs.change(tx, id=ORG, max_concurrent=0, actor="t")
    answer = await why(tx, await hands.put(tx, delay=60))
    assert answer.code == "not_due" and len(answer.reasons) == 4


async def test_a_finished_or_foreign_task_is_not_found(tx: Tx) -> None:
    id = await hands.put(tx)
    with pytest.raises(errors.NotFound):
        await why(tx, id, org=uuid.uuid4())
    await hands.end(tx, [await hands.claim_one(tx)])
    with pytest.raises(errors.NotFound, match="no unfinished task"):
        await why(tx, id)
