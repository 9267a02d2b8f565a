"""The application on a real port: where it listens, who may reach it, and how it stops."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import httpx2
import pytest
from calling import caller

from weft.access import keys
from weft.api import server, serving
from weft.api.endpoint import Service
from weft.base import config, errors, ids
from weft.db.database import Database
from weft.net import address


@contextlib.asynccontextmanager
async def served(database: Database) -> AsyncIterator[tuple[httpx2.AsyncClient, Service]]:
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="a", role="admin", actor="test")
    app = server.build(database)
    listener = serving.listen("127.0.0.1", 0)
    async with (
        httpx2.AsyncClient(base_url=serving.address(listener), headers={"authorization": f"Bearer {key}"}) as client,
        serving.serving(app, listener=listener),
    ):
        yield client, app.state.service


async def until(service: Service, *, streams: int) -> None:
    """Waits until so many streams are open."""
    async with asyncio.timeout(20):
        while service.streams.open != streams:
            await asyncio.sleep(0)


async def test_a_stream_nobody_reads_any_more_ends(database: Database) -> None:
    async with served(database) as (client, service):
        id = (await client.post("/v1/tasks", json={"kind": "a"})).json()["id"]
        async with client.stream("GET", f"/v1/tasks/{id}/logs/stream") as answer:
            assert answer.status_code == 200
            await until(service, streams=1)
        await until(service, streams=0)


async def test_stopping_answers_those_who_wait(database: Database) -> None:
    async with served(database) as (client, service):
        id = (await client.post("/v1/tasks", json={"kind": "a"})).json()["id"]
        waiting = asyncio.create_task(client.get(f"/v1/tasks/{id}/result?wait=60", timeout=70))
        async with client.stream("GET", f"/v1/tasks/{id}/logs/stream") as answer:
            await until(service, streams=1)
            service.waiting.closed.set()
            assert [line async for line in answer.aiter_lines()] == []
        assert (await waiting).status_code == 202


def test_answers_are_not_held_back() -> None:
    with contextlib.closing(serving.listen("127.0.0.1", 0)) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
        ("10.0.0.1", False), ("example.com", False), ("localhost.example.com", False), ("", False),
    ],
)  # fmt: skip
async def test_only_this_machine_is_let_in_without_keys(database: Database, host: str, loopback: bool) -> None:
    assert address.is_loopback(host) is loopback
    if loopback:
        await serving.must_be_guarded(database, host=host)
        return
    with pytest.raises(errors.ConfigError, match="weft key create"):
        await serving.must_be_guarded(database, host=host)
    await caller(database)
    await serving.must_be_guarded(database, host=host)


async def test_an_issuer_of_tokens_is_a_lock_too(database: Database) -> None:
    told = {"oidc_issuer": "https://issuer.example", "oidc_audience": "weft"}
    locked = Database(config.Settings(database_url=database.settings.database_url, **told))
    await serving.must_be_guarded(locked, host="0.0.0.0")
    half = Database(config.Settings(database_url=database.settings.database_url, oidc_issuer="https://issuer.example"))
    with pytest.raises(errors.ConfigError, match="WEFT_OIDC_AUDIENCE"):
        await serving.must_be_guarded(half, host="0.0.0.0")


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 1 << 17), ("203.0.113.1", 0), ("no.such.host.invalid", 0)])
def test_an_address_that_cannot_be_is_said(host: str, port: int) -> None:
    with pytest.raises(errors.ConfigError, match="cannot listen on"):
        serving.listen(host, port)
