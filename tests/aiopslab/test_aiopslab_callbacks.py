"""Callbacks: written with whatever ends a task, signed, guarded, sent again under the same id, visible in the task."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from lab import Lab

from weft.base import ids
from weft.db.database import Database
from weft.journal import outbox
from weft.net import webhooks
from weft.upkeep.sender import Sender


class Receiver:
    """A server of somebody else's. `statuses` are what it answers, one after the other; then 200."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            pairs = [line.partition(": ") for line in head.split("\r\n")[1:]]
            told = {name.lower(): value for name, _, value in pairs if value}
            body = await reader.readexactly(int(told.get("content-length", 0)))
            self.got.append((told, body))
            status = self.statuses.pop(0) if self.statuses else 200
            rest = "location: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            writer.write(f"HTTP/1.1 {status} x\r\n{rest}".encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    async with server:
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        yield made


async def send(database: Database) -> int:
    """What the chore does."""
    sender = Sender()
    async with database.tx() as tx:
        taken = await sender.once(tx)
    await sender.send(database)
    return taken


async def allow(lab: Lab) -> None:
    async with lab.database.tx() as tx:
        await tx.run("insert into weft.allowed_hosts (org_id, entry, created_by) "
                     "values ('00000000-0000-7000-8000-000000000001', '127.0.0.1', 'test')")  # fmt: skip


Ending = Callable[[Lab, str, str], Any]


async def _complete(lab: Lab, worker: str, id: str) -> None:
    await lab.claim(worker)
    await lab.post(f"/workers/{worker}/tasks/{id}/complete", {"output": {"solved": True}})


async def _fail(lab: Lab, worker: str, id: str) -> None:
    await lab.claim(worker)
    await lab.post(f"/workers/{worker}/tasks/{id}/fail", {"error": "no cluster"})


async def _cancel(lab: Lab, _worker: str, id: str) -> None:
    await lab.delete(f"/tasks/{id}")


async def _lose(lab: Lab, worker: str, _id: str) -> None:
    await lab.claim(worker)
    await lab.advance(seconds=70)


async def _overtake(lab: Lab, worker: str, _id: str) -> None:
    await lab.claim(worker)
    for _ in range(3):
        await lab.beat(worker)
        await lab.advance(seconds=25)


@pytest.mark.parametrize(
    ("ending", "status", "why"),
    [(_complete, "completed", None), (_fail, "failed", "no cluster"), (_cancel, "failed", "cancelled by request"),
     (_lose, "failed", "worker lost"), (_overtake, "timeout", "it took longer than its timeout_minutes")],
)  # fmt: skip
async def test_however_a_task_ends_its_caller_is_told_once_and_signed(
    lab: Lab, receiver: Receiver, ending: Ending, status: str, why: str | None
) -> None:
    await allow(lab)
    worker = await lab.register()
    id = await lab.submit(callback_url=receiver.url, timeout_minutes=1, metadata={"team": "sre"})
    assert await send(lab.database) == 0, "nothing is said before it has ended"
    await ending(lab, worker, id)
    assert (await lab.task(id))["callbacks"][0]["state"] == "waiting"
    assert await send(lab.database) == 1 and await send(lab.database) == 0
    [(told, body)] = receiver.got
    key = webhooks.read_key((await lab.get("/callbacks/key")).json()["key"])
    assert webhooks.is_genuine(key, told, body) and not webhooks.is_genuine(key, told, body + b" ")
    said = json.loads(body)
    assert said["event"] == f"task.{status}" and said["task"]["id"] == id
    about = said["task"]
    assert (about["status"], about.get("error_details"), about["metadata"]) == (status, why, {"team": "sre"})
    [seen] = (await lab.task(id))["callbacks"]
    assert (seen["state"], seen["attempts"], seen["status"], seen["id"]) == ("delivered", 1, 200, told["webhook-id"])


async def test_a_receiver_that_fails_is_asked_again_under_the_same_id_and_at_last_given_up(
    lab: Lab, receiver: Receiver
) -> None:
    await allow(lab)
    receiver.statuses = [500, 302, *[503] * outbox.TRIES]
    id = await lab.submit(callback_url=receiver.url)
    await lab.delete(f"/tasks/{id}")
    for attempt in range(1, outbox.TRIES + 1):
        assert await send(lab.database) == 1
        assert await send(lab.database) == 0, "not before its time"
        [seen] = (await lab.task(id))["callbacks"]
        assert seen["attempts"] == attempt and "answered" in seen["problem"]
        await lab.advance(hours=7)
    assert seen["state"] == "dead" and await send(lab.database) == 0
    assert len({told["webhook-id"] for told, _ in receiver.got}) == 1 and len(receiver.got) == outbox.TRIES
    assert len({body for _, body in receiver.got}) == 1


async def test_a_receiver_that_wants_none_is_not_asked_again(lab: Lab, receiver: Receiver) -> None:
    await allow(lab)
    receiver.statuses = [410]
    id = await lab.submit(callback_url=receiver.url)
    await lab.delete(f"/tasks/{id}")
    await send(lab.database)
    assert (await lab.task(id))["callbacks"][0]["state"] == "dead"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://169.254.169.254/latest", "http://[::1]:9/", "http://10.0.0.1/"])
async def test_an_address_that_is_not_public_is_never_called(lab: Lab, url: str) -> None:
    id = await lab.submit(callback_url=url)
    await lab.delete(f"/tasks/{id}")
    assert await send(lab.database) == 1
    [seen] = (await lab.task(id))["callbacks"]
    assert seen["state"] == "waiting" and "refused" in seen["problem"] and "status" not in seen


async def test_what_its_sender_never_answered_for_is_sent_again(lab: Lab, receiver: Receiver) -> None:
    """A process that dies between taking and saying how it went: the same letter, under the same id."""
    await allow(lab)
    id = await lab.submit(callback_url=receiver.url)
    await lab.delete(f"/tasks/{id}")
    async with lab.database.tx() as tx:
        [lost] = await outbox.take(tx)
    assert await send(lab.database) == 0
    await lab.advance(seconds=61)
    assert await send(lab.database) == 1
    assert receiver.got[0][0]["webhook-id"] == str(lost.id)
    async with lab.database.tx() as tx:
        await outbox.failed(tx, lost, problem="late", status=None)
    [seen] = (await lab.task(id))["callbacks"]
    assert (seen["state"], seen["attempts"]) == ("delivered", 2), "who lost it has no say"


async def test_nothing_is_sent_for_what_did_not_commit(lab: Lab) -> None:
    id = await lab.submit(callback_url="https://example.com/")
    with contextlib.suppress(ZeroDivisionError):
        async with lab.database.tx() as tx:
            await tx.run("update weft.tasks set cancel_requested_at = weft.now()")
            await outbox.post(
                tx, org=ids.DEFAULT_ORG, topic="t", subject=uuid.UUID(id), url="https://example.com/", body="{}"
            )
            raise ZeroDivisionError
    assert await lab.count("outbox") == 0 and (await lab.task(id))["callbacks"] == []


async def test_a_new_key_signs_what_is_sent_from_then_on(lab: Lab, receiver: Receiver) -> None:
    await allow(lab)
    old = (await lab.get("/callbacks/key")).json()["key"]
    new = (await lab.post("/callbacks/key")).json()["key"]
    assert old != new == (await lab.get("/callbacks/key")).json()["key"]
    id = await lab.submit(callback_url=receiver.url)
    await lab.delete(f"/tasks/{id}")
    await send(lab.database)
    [(told, body)] = receiver.got
    assert [webhooks.is_genuine(webhooks.read_key(key), told, body) for key in (old, new)] == [False, True]


async def test_what_was_delivered_is_forgotten_after_a_month(lab: Lab, receiver: Receiver) -> None:
    await allow(lab)
    id = await lab.submit(callback_url=receiver.url)
    await lab.delete(f"/tasks/{id}")
    await send(lab.database)
    for days, gone in ((29, 0), (2, 1)):
        await lab.advance(days=days)
        async with lab.database.tx() as tx:
            assert await outbox.prune(tx) == gone
