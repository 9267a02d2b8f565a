"""Every operation there is × everybody who must not come in, by a walk over the table."""

import ast
import dataclasses
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from calling import ROLES, Caller, code

import hands
from weft.access import keys, orgs
from weft.api import policy, routes, server
from weft.api.operation import Call, Operation
from weft.base import errors, ids
from weft.db.database import Database

OPERATIONS = {one.name: one for one in routes.operations()}
GUARDED = [name for name, one in OPERATIONS.items() if one.action != policy.PUBLIC]
NAMES = {"uuid": str(uuid.UUID("01890f3e-7b2c-7cc0-98c4-dc0c0c07398f")), "path": "some name", "str": "x"}


def filled(operation: Operation, **values: str) -> str:
    return operation.template.format(**{name: values.get(name, NAMES[kind]) for name, kind in operation.parameters.items()})


async def ask(api: Caller, operation: Operation, **how: Any) -> tuple[int, str]:
    """Asks with the operation's own example, which is refused only for who asks."""
    body = {} if operation.body is None else {"json": operation.example}
    return code(await api.ask(operation.method, filled(operation), **body, **how))


def test_there_is_something_to_walk() -> None:
    assert len(GUARDED) > 10 and {one.partition(" ")[0] for one in GUARDED} >= {"GET", "POST", "DELETE"}
    assert {name for name in OPERATIONS if name not in GUARDED} == policy.EXEMPT


async def test_nobody_and_nonsense_are_kept_out(api: Caller) -> None:
    real = api.keys["admin"]
    made_up = ["nonsense", "weft_", "weft_nonsense", "weftw_nonsense", "weftt_nonsense", "eyJhbGciOiJub25lIn0.e30."]
    for name in GUARDED:
        assert await ask(api, OPERATIONS[name], role=None) == (401, "UNAUTHENTICATED"), name
        for key in [*made_up, real[:-1], real + "x", real.upper()]:
            assert await ask(api, OPERATIONS[name], key=key) == (401, "UNAUTHENTICATED"), (name, key)
        for header in (f"Basic {real}", real, "Bearer", "Bearer ", f"Bearer {real} {real}"):
            asked = await ask(api, OPERATIONS[name], role=None, headers={"authorization": header})
            assert asked == (401, "UNAUTHENTICATED"), (name, header)


async def _key(database: Database, role: str, org: uuid.UUID = ids.DEFAULT_ORG, **how: Any) -> tuple[keys.Key, str]:
    async with database.tx() as tx:
        return await keys.create(tx, org=org, name="k", role=role, actor="test", **how)  # type: ignore[arg-type]


async def _shut_out(database: Database, role: str) -> dict[str, str]:
    """Keys of a role that opened everything once."""
    (revoked, first), (expired, second) = await _key(database, role), await _key(database, role)
    async with database.tx() as tx:
        await keys.revoke(tx, id=revoked.id, org=ids.DEFAULT_ORG, actor="test")
        await tx.run("update weft.keys set expires_at = weft.now() where id = %(id)s", {"id": expired.id})
        suspended = await hands.new_org(tx, f"suspended-{role}")
        _, third = await keys.create(tx, org=suspended, name="k", role=role, actor="test")  # type: ignore[arg-type]
        await orgs.change(tx, id=suspended, actor="test", suspended=True)
    return {"revoked": first, "expired": second, "suspended": third}


async def test_a_key_that_was_revoked_has_expired_or_is_of_a_suspended_org_opens_nothing(
    api: Caller, database: Database
) -> None:
    shut_out = {role: await _shut_out(database, role) for role in ROLES}
    for name in GUARDED:
        role = next(role for role in ROLES if role in policy.ACTIONS[OPERATIONS[name].action])
        for why, key in shut_out[role].items():
            assert await ask(api, OPERATIONS[name], key=key) == (401, "UNAUTHENTICATED"), (name, why)


async def test_every_role_that_may_not_is_refused_and_one_that_may_is_not(api: Caller) -> None:
    for name in GUARDED:
        operation = OPERATIONS[name]
        for role in ROLES:
            if role not in policy.ACTIONS[operation.action]:
                assert await ask(api, operation, role=role) == (403, "FORBIDDEN"), (name, role)
            elif not operation.stream:
                body = {} if operation.body is None else {"json": operation.example}
                answer = await api.ask(operation.method, filled(operation), role=role, **body)
                assert answer.status_code not in (401, 403) or role == "worker", (name, role, answer.text)


async def test_a_scope_lets_in_and_every_other_keeps_out(api: Caller, database: Database) -> None:
    for name in GUARDED:
        operation = OPERATIONS[name]
        family, _, _ = operation.action.partition(".")
        may = next(role for role in ROLES if role in policy.ACTIONS[operation.action])
        others = sorted({action.partition(".")[0] + ".*" for action in policy.ACTIONS} - {f"{family}.*"})
        _, held = await _key(database, may, scopes=others)
        if operation.action in policy.UNSCOPED:
            continue
        assert await ask(api, operation, key=held) == (403, "FORBIDDEN"), name
        if not operation.stream:
            for scope in (operation.action, f"{family}.*"):
                _, let_in = await _key(database, may, scopes=[scope])
                body = {} if operation.body is None else {"json": operation.example}
                answer = await api.ask(operation.method, filled(operation), key=let_in, **body)
                # a scope does not give away a whole role
                giving = operation.action in ("key.write", "user.write", "org.write")
                assert answer.status_code not in (401, 403) or may == "worker" or giving, (name, answer.text)


def test_workers_have_no_business_in_the_api_and_readers_change_nothing() -> None:
    for operation in OPERATIONS.values():
        if operation.action == policy.PUBLIC or operation.action.startswith("work."):
            continue
        may = policy.ACTIONS[operation.action]
        assert "operator" in may, operation.name
        assert "admin" in may or operation.action == "org.write", operation.name
        assert not may & {"worker", "attempt"} or operation.action in ("docs.read", "me.read"), operation.name
        assert "reader" not in may or operation.method == "GET" or operation.action == "session.own", operation.name


async def test_a_denial_is_written_down_once(api: Caller, database: Database) -> None:
    for _ in range(3):
        await api.post("/v1/tasks", {"kind": "a"}, role="reader")
    async with database.tx() as tx:
        found = await tx.rows("select actor, object_id, after ->> 'role' from weft.journal where action = 'access.denied'")
    assert found == [("key:reader", "POST /v1/tasks", "reader")]


async def _nothing(_call: Call[None, None]) -> None: ...


@pytest.mark.parametrize(
    ("action", "why"), [("task.destroy", "does not know"), ("", "does not know"), ("public", "list of exemptions")]
)
async def test_a_route_without_a_policy_stops_the_server(database: Database, action: str, why: str) -> None:
    stray = Operation("GET", "/v1/stray", action=action, handler=_nothing, summary="")
    with pytest.raises(errors.ConfigError, match=why):
        server.build(database, operations=[*routes.operations(), stray])


async def test_an_operation_that_is_there_twice_stops_the_server(database: Database) -> None:
    again = dataclasses.replace(routes.operations()[0])
    with pytest.raises(errors.ConfigError, match="twice"):
        server.build(database, operations=[*routes.operations(), again])


def test_the_policy_has_no_action_that_nothing_uses() -> None:
    used = {operation.action for operation in OPERATIONS.values()}
    # some handlers ask the policy for another action, depending on what is wanted
    code = "".join(path.read_text() for path in Path(policy.__file__).parent.glob("*.py") if path.name != "policy.py")
    used |= set(re.findall(r'action="([a-z]+\.[a-z_]+)"', code))
    assert set(policy.ACTIONS) <= used


BEYOND_THE_TENANT = {
    "credentials.py": "looks up whom a credential stands for: the org is what it asks",
    "live_feed.py": "follows the feed, which is of all orgs and names rows only",
    "live_ledger.py": "writes down the sockets of all orgs; each row names its own",
    "live_watch.py": "asks the feed whether something happened since a cursor; what is shown is read as the org",
    "login.py": "looks up whom a cookie stands for; tenants must not open or end sessions, so confined to the org",
    "nodes.py": "tells a worker to drain, which tenants must not write; finds only what the org may see",
    "login_oidc.py": "looks up whom the issuer's token stands for; the session names their org",
    "limiter.py": "takes from buckets, which no tenant may; they hold numbers only",
    "health.py": "asks which migrations there are, for nobody",
    "jobs.py": "asks whether anybody leads, which no tenant may know; it says yes or no",
    "keys.py": "tenants must not make keys; confined to the org",
    "orgs.py": "operators see every org; an admin's own is confined to it",
    "roles.py": "tenants must not hand out roles; confined to the org",
    "secrets.py": "tenants must not write secrets; confined to the org",
    "serving.py": "asks whether there is any key, before anybody is served",
    "strangers.py": "writes down who was refused, of no org",
    "unlocked.py": "asks whether there is any key, before anybody is somebody",
    "users.py": "tenants must not make admins; confined to the org",
    "waiting.py": "asks for many orgs at once; each pair names its own",
    "work_claims.py": "claims as the engine; each claim names its key's org",
    "work_reports.py": "settles as the engine; each attempt is proven",
    "work_secrets.py": "opens what no tenant may; for an attempt that is proven, by names in its payload",
    "work_tokens.py": "reads the keys that sign, which no tenant may",
    "worker_protocol.py": "fetches a held task by its lease",
}
"""Files of the API whose transactions are not a tenant's, and why."""


def _leaves_the_tenant(path: Path) -> bool:
    """Whether a file opens a transaction other than `call.tx()` or one with the org of its caller."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_database = "database" in ast.unparse(node.func.value)
            if node.func.attr in ("engine_tx", "operator_tx", "reserve"):
                return True
            if node.func.attr in ("tx", "once") and of_database and "org" not in {one.arg for one in node.keywords}:
                return True
    return False


def test_only_these_files_work_as_anybody_but_the_tenant() -> None:
    """A new route that does gets a line above, with its reason, or uses `call.tx()`."""
    found = {path.name for path in Path(policy.__file__).parent.glob("*.py") if _leaves_the_tenant(path)}
    assert found == set(BEYOND_THE_TENANT)
