"""`/v1/live` over a real WebSocket: what is watched is shown, again when it changed, to those who may see it."""

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import websockets
from calling import ROLES
from listening import PATIENCE, Listening, listening

import hands
from weft.access import keys, logins
from weft.access.principal import Principal
from weft.api import credentials, live_connection, live_socket, live_subjects, policy
from weft.base import errors, ids
from weft.db.database import Database
from weft.journal import sequence
from weft.live import protocol
from weft.queue import lease
from weft.sdk.query import Queries


@pytest.fixture
async def here(database: Database) -> AsyncIterator[Listening]:
    async with listening(database) as made:
        yield made


async def sequenced(database: Database) -> None:
    """Everything that is committed has its place in the feed."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with database.tx() as tx:
                if not await sequence.waiting(tx):
                    return
                await sequence.once(tx)


async def put(database: Database, **options: Any) -> str:
    async with database.tx() as tx:
        return await hands.put(tx, **options)


async def test_a_task_is_shown_and_shown_again_when_it_changes(here: Listening, database: Database) -> None:
    id = await put(database)
    async with here.client() as client:
        await client.subscribe("task", {"id": id})
        first = await client.next()
        assert (first["type"], first["id"], first["gap"], first["data"]["state"]) == ("data", "s", False, "ready")
        async with database.tx() as tx:
            [held] = await hands.claim_plain(tx)
        assert (await client.next())["data"]["state"] == "running"
        async with database.tx() as tx:
            await hands.end(tx, [held], result='{"sent": true}')
        last = await client.until(lambda one: one["data"]["state"] != "running")
        assert (last["data"]["state"], last["data"]["result"]) == ("completed", {"sent": True})
        assert last["cursor"] > first["cursor"]
        await client.say(type="unsubscribe", id="s")
        assert await client.next() == {"type": "unsubscribed", "id": "s"}


async def test_how_far_a_task_is_is_pushed(here: Listening, database: Database) -> None:
    id = await put(database)
    async with database.tx() as tx:
        [held] = await hands.claim_plain(tx)
    # so that nothing but the progress is told from here on
    await sequenced(database)
    async with here.client() as client:
        await client.subscribe("task", {"id": id})
        assert (await client.next())["data"]["progress"] is None
        async with database.tx() as tx:
            await lease.report_progress(tx, [lease.Progress(id, held.token, 40, "almost half", 0.1)])
        shown = (await client.next())["data"]
        assert (shown["progress"], shown["progress_message"]) == (40, "almost half")


async def test_counts_a_queue_a_list_and_a_log(here: Listening, database: Database) -> None:
    async with here.client() as client:
        await client.subscribe("counts", id="counts")
        assert (await client.next())["data"]["ready"]["count"] == 0
        await client.subscribe("queue", {"name": "default"}, id="queue")
        await client.until(lambda one: one["id"] == "queue" and one["data"]["ready"]["count"] == 0)
        await client.subscribe("tasks", {"limit": 1}, id="tasks")
        await client.until(lambda one: one["id"] == "tasks" and one["data"]["items"] == [])
        id = await put(database)
        seen: dict[str, Any] = {}
        while len(seen) < 3:
            message = await client.next()
            seen[message["id"]] = message["data"]
        assert seen["counts"]["ready"]["count"] == seen["queue"]["ready"]["count"] == 1
        assert seen["tasks"]["items"][0]["id"] == id
        async with database.tx() as tx:
            [held] = await hands.claim_plain(tx)
        await client.subscribe("log", {"id": id}, id="log")
        assert (await client.until(lambda one: one["id"] == "log"))["data"] == []
        said: list[str] = []
        for text in ("one", "two"):
            async with database.tx() as tx:
                at = await tx.value("select weft.now()")
                await lease.write_logs(tx, [lease.Line(id, held.token, at, "info", text, None)])
            while text not in said:
                said += [line["message"] for line in (await client.until(lambda one: one["id"] == "log"))["data"]]
        assert said == ["one", "two"]


async def test_one_look_serves_everybody_who_watches_the_same(here: Listening, database: Database) -> None:
    id = await put(database)
    async with here.client() as one, here.client() as two, here.client("writer") as other:
        for client in (one, two, other):
            await client.subscribe("task", {"id": id})
            await client.next()
        looks = here.service.live.looks
        assert len(here.service.live._watched) == 2
        async with database.tx() as tx:
            await hands.claim_plain(tx)
        for client in (one, two, other):
            assert (await client.next())["data"]["state"] == "running"
        assert here.service.live.looks - looks <= 4
    async with asyncio.timeout(PATIENCE):
        while here.service.live._watched or here.service.live._by_row or here.service.live._by_table:
            await asyncio.sleep(0.01)


async def test_what_another_org_does_never_arrives(here: Listening, database: Database) -> None:
    async with database.tx() as tx:
        theirs = await hands.put(tx, payload={"secret": "canary"}, org=here.other_org)
    mine = await put(database)
    async with here.client() as client, here.client("other:reader") as other:
        for id, subject, args in (("a", "task", {"id": theirs}), ("b", "log", {"id": theirs})):
            await client.subscribe(subject, args, id=id)
            refused = await client.next()
            assert (refused["type"], refused["id"], refused["code"]) == ("error", id, "NOT_FOUND")
        for subject, args in (("counts", {}), ("tasks", {}), ("task", {"id": mine})):
            await client.subscribe(subject, args, id=subject)
            await client.next()
        await other.subscribe("task", {"id": theirs})
        await other.next()
        async with database.tx() as tx:
            await hands.put_many(tx, 150, org=here.other_org)
        # whoever may see it has: the others' turn has come too
        async with database.tx() as tx:
            await tx.run("update weft.tasks set progress_message = 'canary' where org_id = %(org)s", {"org": here.other_org})
            await tx.run("insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', null)")
        await other.until(lambda one: one["data"]["progress_message"] == "canary")
        await client.subscribe("task", {"id": mine}, id="last")
        shown = [await client.next()]
        while shown[-1]["id"] != "last":
            shown.append(await client.next())
        assert "canary" not in str(shown) and theirs not in str(shown)
        assert all(message["id"] in ("task", "last", "tasks", "counts") for message in shown)


async def test_nobody_comes_in_without_a_credential_and_from_another_site(here: Listening) -> None:
    cases: list[tuple[dict[str, str], int, str]] = [
        ({}, 401, "UNAUTHENTICATED"),
        ({"authorization": "Bearer weft_nonsense"}, 401, "UNAUTHENTICATED"),
        ({"cookie": "weft-session=nonsense"}, 401, "UNAUTHENTICATED"),
        ({"authorization": f"Bearer {here.keys['worker']}"}, 403, "FORBIDDEN"),
        ({"authorization": f"Bearer {here.keys['reader']}", "origin": "https://evil.example"}, 403, "REFUSED"),
    ]
    for headers, status, code in cases:
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with here.client(None, headers=headers):
                pass
        assert refused.value.response.status_code == status and code.encode() in refused.value.response.body


async def test_a_browser_comes_with_its_cookie_from_our_own_page(here: Listening, database: Database) -> None:
    async with database.tx() as tx:
        key = await tx.value("select id from weft.keys where role = 'reader' and org_id = %(org)s", {"org": ids.DEFAULT_ORG})
        who = Principal(org=ids.DEFAULT_ORG, actor="key:reader", role="reader", key=key)
        login, text = await logins.open(tx, who)
    headers = {"cookie": f"weft-session={text}", "origin": here.url}
    async with here.client(None, headers=headers) as client:
        await client.subscribe("counts")
        assert (await client.next())["type"] == "data"
        async with database.tx() as tx:
            await logins.revoke(tx, id=login.id, org=ids.DEFAULT_ORG, by="test", of=None)
        assert await client.closed() == 4401


@pytest.mark.parametrize("role", ROLES)
def test_every_message_and_subject_is_under_the_policy(role: str) -> None:
    live_socket.check()
    live_subjects.check()
    for action in (*protocol.ACTIONS.values(), *(one.action for one in live_subjects.SUBJECTS.values())):
        told = role in ("admin", "operator") if action == "audit.read" else role != "worker"
        assert policy.allows(role, action) == told, action  # type: ignore[arg-type]


def test_a_message_or_subject_without_a_policy_stops_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    stray = dataclasses.replace(live_subjects.SUBJECTS["task"], name="stray", action="stray.read")
    monkeypatch.setitem(live_subjects.SUBJECTS, "stray", stray)
    with pytest.raises(errors.ConfigError, match="does not know"):
        live_subjects.check()
    monkeypatch.delitem(protocol.ACTIONS, protocol.Ping)
    with pytest.raises(errors.ConfigError, match="under no policy"):
        live_socket.check()


async def test_scopes_hold_a_client_to_its_subjects(here: Listening, database: Database) -> None:
    async with database.tx() as tx:
        _, here.keys["held"] = await keys.create(
            tx, org=ids.DEFAULT_ORG, name="held", role="reader", actor="test", scopes=["live.read", "queue.read"]
        )
    async with here.client("held") as client:
        await client.subscribe("counts")
        assert (await client.next())["code"] == "FORBIDDEN"
        await client.subscribe("queue", {"name": "default"})
        assert (await client.next())["type"] == "data"


@pytest.mark.parametrize("how", ["key revoked", "role changed"])
async def test_a_revoked_credential_closes_its_socket(
    database: Database, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "REMEMBERED", 0.0)
    change = {
        "key revoked": "update weft.keys set revoked_at = weft.now() where role = 'reader'",
        "role changed": "update weft.keys set role = 'writer' where role = 'reader'",
    }[how]
    async with asyncio.timeout(PATIENCE), listening(database) as here, here.client("writer") as other:
        async with here.client() as idle, here.client() as busy:
            await busy.subscribe("counts")
            await busy.next()
            async with database.tx() as tx:
                await tx.run(change)
                await hands.put(tx)
            assert [await idle.closed(), await busy.closed()] == [4401, 4401]
        await other.subscribe("counts")
        assert (await other.next())["type"] == "data"


NONSENSE: list[tuple[Any, str]] = [
    ("nonsense", "INVALID_INPUT"),
    ("[]", "INVALID_INPUT"),
    ('{"type": "shout"}', "INVALID_INPUT"),
    ('{"type": "subscribe", "id": "", "subject": "counts"}', "INVALID_INPUT"),
    ('{"type": "subscribe", "id": "x", "subject": "counts", "args": {"a": 1}}', "INVALID_INPUT"),
    ('{"type": "subscribe", "id": "x", "subject": "task", "args": {"id": "1"}}', "INVALID_INPUT"),
    ('{"type": "subscribe", "id": "x", "subject": "weft.keys"}', "NOT_FOUND"),
    ('{"type": "subscribe", "id": "x", "subject": "query:none"}', "NOT_FOUND"),
    ('{"type": "subscribe", "id": "x", "subject": "queue", "args": {"name": "a\\u0000"}}', "INVALID_INPUT"),
    ('{"type": "subscribe", "id": "x", "subject": "counts", "cursor": -1}', "INVALID_INPUT"),
    ('{"type": "subscribe", "id": "x", "subject": "counts", "org": "y"}', "INVALID_INPUT"),
    ("[" * 5000, "INVALID_INPUT"),
    (b"\xff\xfe", "INVALID_INPUT"),
]


async def test_what_makes_no_sense_is_told_and_changes_nothing(here: Listening) -> None:
    async with here.client() as client:
        for text, code in NONSENSE:
            await client.socket.send(text)
            refused = await client.next()
            assert (refused["type"], refused["code"]) == ("error", code), text
        assert here.service.live._watched == {}
        await client.subscribe("counts")
        await client.next()
        await client.subscribe("counts")
        assert (await client.next())["code"] == "CONFLICT"
        for number in range(protocol.MOST_SUBSCRIPTIONS):
            await client.subscribe("counts", id=f"n{number}")
        refused = await client.until(lambda one: one["type"] == "error")
        assert refused["id"] == f"n{protocol.MOST_SUBSCRIPTIONS - 1}"
        for _ in range(1000):
            await client.socket.send("nonsense")
        assert await client.closed() == 4400


async def test_a_client_resumes_from_its_cursor(here: Listening, database: Database) -> None:
    id = await put(database)
    async with here.client() as client:
        await client.subscribe("task", {"id": id})
        cursor = (await client.next())["cursor"]
        session = client.hello["session"]
        await here.service.ledger.flush()
    await put(database, kind="other")
    await sequenced(database)
    async with here.client(query=f"?session={session}") as client:
        assert client.hello["session"] == session
        assert client.hello["cursor"] >= cursor
        cursor = client.hello["cursor"]
        await client.subscribe("task", {"id": id}, cursor=cursor)
        assert (await client.next()) == {"type": "unchanged", "id": "s", "cursor": cursor}
    async with database.tx() as tx:
        await hands.claim_plain(tx)
    async with here.client(query=f"?session={uuid.uuid4()}") as client:
        await client.subscribe("task", {"id": id}, cursor=cursor)
        # it happened while nobody was connected, and is in the feed soon
        missed = await client.until(lambda one: one["type"] == "data")
        assert (missed["data"]["state"], missed["gap"]) == ("running", False)
        await client.subscribe("task", {"id": id}, cursor=2**61, id="from before a restore")
        assert (await client.until(lambda one: one["id"] != "s"))["gap"] is True


async def test_a_users_query_is_pushed_when_its_table_changes(database: Database) -> None:
    queries = Queries()

    @queries.add(tables=["orders"])
    async def open_orders(ask: Any, customer: str, least: int = 0) -> Any:
        return await ask.rows(
            "select n from orders where customer = %(customer)s and n >= %(least)s order by n",
            customer=customer,
            least=least,
        )

    @queries.add(tables=["orders"])
    async def writes(ask: Any) -> Any:
        return await ask.rows("delete from orders returning n")

    @queries.add(tables=["orders"])
    async def forbidden(ask: Any) -> Any:
        return await ask.rows("select * from secrets_of_mine")

    @queries.add(tables=["orders"])
    async def odd(ask: Any) -> Any:
        return await ask.rows("select inet '10.0.0.1' as address, int4range(1, 2) as range")

    async with database.tx() as tx:
        await tx.run("reset role")
    async with await database.reserve(purpose="owner") as owner:
        for statement in (
            "create table orders (id bigint generated always as identity primary key, customer text, n int)",
            "create table secrets_of_mine (id int)",
            "select weft.enable_reactivity('orders')",
            "grant select, delete on orders to weft_tenant",
        ):
            await owner.execute(statement)
        async with asyncio.timeout(PATIENCE), listening(database, queries=queries) as here, here.client() as client:
            await client.subscribe("query:open_orders", {"customer": "ada", "least": 2})
            assert (await client.next())["data"] == []
            await owner.execute("insert into orders (customer, n) values ('ada', 1), ('ada', 3), ('bob', 4)")
            assert (await client.next())["data"] == [{"n": 3}]
            # a change that changes nothing for this query is not pushed
            await owner.execute("insert into orders (customer, n) values ('bob', 5)")
            await owner.execute("insert into orders (customer, n) values ('ada', 6)")
            assert (await client.next())["data"] == [{"n": 3}, {"n": 6}]
            for name, code in (("writes", "QUERY_FAILED"), ("forbidden", "QUERY_FAILED"), ("odd", "QUERY_FAILED")):
                await client.subscribe(f"query:{name}", id=name)
                refused = await client.until(lambda one: one["type"] == "error")
                assert (refused["id"], refused["code"]) == (name, code)
            await client.subscribe("query:open_orders", {"customer": 7}, id="x")
            assert (await client.next())["code"] == "INVALID_INPUT"
            await owner.execute("delete from orders")
            assert (await client.next())["data"] == []


async def test_a_client_that_does_not_read_is_cut_off_and_nobody_notices(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_connection.Connection.__init__, "__kwdefaults__", {"stall": 2.0})
    queries = Queries()
    sizes = iter(range(10_000))

    @queries.add(tables=["tasks_of_mine"])
    async def large(ask: Any) -> Any:
        return ["x" * 200_000, next(sizes)]

    changed = "insert into weft.change_inbox (table_name, op, ids) values ('public.tasks_of_mine', 'UPDATE', null)"
    async with (
        listening(database, queries=queries) as here,
        here.client() as reads,
        here.client(max_queue=1, write_limit=1) as stuck,
    ):
        stuck.socket.transport.pause_reading()
        await reads.subscribe("query:large")
        for number in range(20):
            await stuck.subscribe("query:large", id=str(number))
        while here.service.ledger.open_now > 1:
            async with database.tx() as tx:
                await tx.run(changed)
            assert (await reads.next())["type"] == "data"
        await reads.quiet()
        stuck.socket.transport.abort()


async def test_sessions_and_subscriptions_are_rows(here: Listening, database: Database) -> None:
    async def rows(statement: str) -> list[Any]:
        async with database.tx() as tx:
            return [tuple(row) for row in await tx.rows(statement)]

    sessions = "select user_id, status from forge.forge_sessions"
    watched = "select query_name, args, length(query_hash) from forge.forge_subscriptions"
    async with here.client() as client:
        await client.subscribe("queue", {"name": "default"})
        await client.next()
        await here.service.ledger.flush()
        assert await rows(sessions) == [("key:reader", "connected")]
        assert await rows(watched) == [("queue", {"name": "default"}, 64)]
    async with asyncio.timeout(PATIENCE):
        while await rows(sessions) != [("key:reader", "disconnected")]:
            await asyncio.sleep(0.05)
    assert await rows(watched) == []
