"""Tenant isolation twice: the filters in the statements, and row-level security. Each holds alone.

Thousands of requests with another org's ids, names, keys and cursors wherever one can stand (walls.py); none may show or
change anything of it: with both walls, without row-level security, and with filters that name the wrong org.
"""

import collections
import uuid
from collections.abc import AsyncIterator

import asking
import httpx2
import pytest
import walls
from walls import OneWall, Planted

from weft.access import keyring, keys
from weft.api import policy, routes, server
from weft.api.operation import Call, Operation
from weft.base import config, ids
from weft.db.database import Database

# with all there is to say, in `make chaos`
pytestmark = [pytest.mark.long] if walls.LONG else []

LEAST = {"both": 1_800, "filters": 1_800, "rls": 1_400}
"""Requests per test: more than 5,000 in all."""


@pytest.fixture
async def planted(database_url: str) -> AsyncIterator[tuple[OneWall, Planted, Planted]]:
    plenty = 1_000_000
    settings = config.Settings(
        database_url=database_url, secret_key=keyring.generate(), rate_per_key=plenty, rate_per_org=plenty
    )
    database = OneWall(settings)
    await database.open()
    app = server.build(database)
    yield database, await walls.plant(database, "mine", app=app), await walls.plant(database, "theirs", app=app)
    await database.close()


async def walk(
    database: Database,
    *,
    who: Planted,
    mine: Planted,
    theirs: Planted,
    without: tuple[str, ...] = (),
    only_reads: bool = False,
) -> tuple[int, dict[str, set[str]], list[str]]:
    """Asks everything, the roles that may taking turns: how often, who showed what of theirs, what was wrong."""
    leaks: dict[str, set[str]] = collections.defaultdict(set)
    written: set[str] = set()
    wrong: list[str] = []
    asked = 0
    app, secrets = server.build(database), theirs.secrets
    for ask in walls.asks(mine, theirs, without=without):
        # its own org a credential names itself
        name, said = ask.operation.name, f"{ask.said} {who.org}"
        if (only_reads and ask.operation.method != "GET") or (ask.operation.stream and who is theirs):
            continue  # what is theirs to read would not end
        if ask.operation.method != "GET":
            written |= {secret for secret in secrets if secret in said}
        may = sorted(policy.ACTIONS[ask.operation.action] & set(walls.ROLES))
        if not may:
            continue  # operators', who may
        role = may[asked % len(may)]
        # who asked may be told so
        said += who.actors[role]
        headers = {"authorization": f"Bearer {who.keys[role]}", **ask.headers}
        answer = await asking.ask(app, ask.operation.method, ask.path, query=ask.query, headers=headers, body=ask.body)
        asked += 1
        told = answer.text + answer.headers
        shown = {secret for secret in secrets if secret in told}
        leaks[name] |= {secret for secret in shown if secret not in said} - written
        if answer.status_code >= 500 or (ask.path_swapped and answer.status_code != 404):
            wrong.append(f"{answer.status_code} {name} {ask.said} {answer.text}")
    return asked, {name: found for name, found in leaks.items() if found}, wrong


async def test_with_both_walls_nothing_crosses(planted: tuple[OneWall, Planted, Planted]) -> None:
    database, mine, theirs = planted
    before = [await walls.everything_of(database, org) for org in (theirs.org, ids.DEFAULT_ORG)]
    asked, leaks, wrong = await walk(database, who=mine, mine=mine, theirs=theirs)
    assert (leaks, wrong[:5]) == ({}, [])
    assert [await walls.everything_of(database, org) for org in (theirs.org, ids.DEFAULT_ORG)] == before
    assert asked >= LEAST["both"]


async def test_without_row_level_security_the_filters_hold(planted: tuple[OneWall, Planted, Planted]) -> None:
    database, mine, theirs = planted
    database.rls = False
    before = [await walls.everything_of(database, org) for org in (theirs.org, ids.DEFAULT_ORG)]
    asked, leaks, wrong = await walk(database, who=mine, mine=mine, theirs=theirs)
    assert (leaks, wrong[:5]) == ({}, [])
    assert [await walls.everything_of(database, org) for org in (theirs.org, ids.DEFAULT_ORG)] == before
    assert asked >= LEAST["filters"]


AS_THE_ENGINE = ("work.",)
"""Claims and reports run as the engine, whose two walls are the key's org and the attempt's unguessable lease."""


async def test_with_filters_that_let_the_other_org_through_row_level_security_holds(
    planted: tuple[OneWall, Planted, Planted],
) -> None:
    """Whoever asks is theirs, so that every filter says `theirs`; the database is told that it is for mine."""
    database, mine, theirs = planted
    database.pinned = mine.org
    before = await walls.everything_of(database, theirs.org)
    asked, leaks, _ = await walk(database, who=theirs, mine=mine, theirs=theirs, without=AS_THE_ENGINE)
    assert leaks == {}
    assert await walls.everything_of(database, theirs.org) == before
    assert asked >= LEAST["rls"]


async def test_without_either_wall_the_walk_sees_nearly_everything(planted: tuple[OneWall, Planted, Planted]) -> None:
    """So that the three above are known to look in the right places."""
    database, mine, theirs = planted
    database.rls = False
    _, leaks, _ = await walk(database, who=theirs, mine=mine, theirs=theirs, without=AS_THE_ENGINE, only_reads=True)
    reads = {one.name for one in routes.operations() if one.method == "GET" and not one.action.startswith(AS_THE_ENGINE)}
    silent = reads - set(leaks)
    # they show numbers, what was asked for, or nothing of anybody; or never end
    assert silent == {
        "GET /v1/queues/{name}", "GET /v1/openapi.json", "GET /health", "GET /ready",
        "GET /v1/tasks/counts", "GET /v1/tasks/{id}/logs/stream", "GET /v1/audit/verify", "GET /v1/me",
        "GET /v1/jobs/{id}/preview", "GET /v1/cron/preview", "GET /v1/executions/{id}/logs/stream",
        "GET /v1/dag-runs/{id}/explain", "GET /v1/dags/{dag_id}/versions", "GET /v1/live/sse",
        "GET /v1/runs/{id}/explain", "GET /v1/overview", "GET /v1/workflows", "GET /v1/demo", "GET /v1/login/options",
        "GET /v1/login/oidc", "GET /v1/login/oidc/back", "GET /v1/runs/{id}/answer", "GET /v1/runs/{id}/graph",
        "GET /v1/flows/{id}/handlers", "GET /v1/runners/{id}/explain",
        "GET /v1/runs/{id}/attempts",
        "GET /v1/runs/{id}/diff/{other}",  # both must be the asker's
    }  # fmt: skip
    seen = set().union(*leaks.values())
    unseen = [one for one in theirs.canaries if one not in seen]
    assert len(unseen) <= len(theirs.canaries) // 3, unseen


async def _forgetful(call: Call[None, None]) -> list[str]:
    """A handler whose statement forgot its filter."""
    async with call.tx() as tx:
        return [str(row[0]) for row in await tx.rows("select t.payload from weft.tasks as t")]


async def test_a_handler_that_forgets_its_filter_is_stopped_by_the_database(
    planted: tuple[OneWall, Planted, Planted],
) -> None:
    database, mine, theirs = planted
    stray = Operation("GET", "/v1/stray", action="task.read", handler=_forgetful, summary="", answer=list[str])
    for rls in (True, False):
        database.rls = rls
        transport = httpx2.ASGITransport(app=server.build(database, operations=[stray]))
        async with httpx2.AsyncClient(transport=transport, base_url="http://weft") as client:
            answer = await client.get("/v1/stray", headers={"authorization": f"Bearer {mine.keys['reader']}"})
        assert any(canary in answer.text for canary in mine.canaries)
        assert any(canary in answer.text for canary in theirs.canaries) is not rls


async def test_an_operator_alone_reaches_other_orgs_and_only_their_rows_of_orgs(
    planted: tuple[OneWall, Planted, Planted],
) -> None:
    database, mine, theirs = planted
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=mine.org, name="op", role="operator", actor="test")
    transport = httpx2.ASGITransport(app=server.build(database))
    async with httpx2.AsyncClient(transport=transport, base_url="http://weft") as client:
        client.headers["authorization"] = f"Bearer {key}"
        assert (await client.get(f"/v1/orgs/{theirs.org}")).status_code == 200
        for path in ("tasks", "queues", "dead", "locks", "keys", "users", "roles", "nodes"):
            answer = await client.get(f"/v1/{path}")
            assert answer.status_code == 200 and not [one for one in theirs.canaries if one in answer.text], path
        for id in theirs.ids:
            if uuid.UUID(id) != theirs.org:
                assert (await client.get(f"/v1/tasks/{id}")).status_code == 404
