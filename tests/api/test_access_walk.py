"""Every operation there is × everybody who must not come in, by a walk over the table."""

import dataclasses
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from calling import ROLES, Caller, code

from weft.access import keys
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


@pytest.mark.parametrize("name", GUARDED)
async def test_nobody_and_nonsense_are_kept_out(api: Caller, name: str) -> None:
    operation = OPERATIONS[name]
    assert await ask(api, operation, role=None) == (401, "UNAUTHENTICATED")
    real = api.keys["admin"]
    made_up = ["nonsense", "weft_", "weft_nonsense", "weftw_nonsense", "weftt_nonsense"]
    for key in [*made_up, real[:-1], real + "x", real.upper()]:
        assert await ask(api, operation, key=key) == (401, "UNAUTHENTICATED"), key
    for header in (f"Basic {real}", real, "Bearer", "Bearer ", f"Bearer {real} {real}"):
        assert await ask(api, operation, role=None, headers={"authorization": header}) == (401, "UNAUTHENTICATED"), header


@pytest.mark.parametrize("name", GUARDED)
async def test_a_key_that_was_revoked_or_has_expired_opens_nothing(api: Caller, database: Database, name: str) -> None:
    role = sorted(policy.ACTIONS[OPERATIONS[name].action] - {"attempt"})[0]
    async with database.tx() as tx:
        revoked, first = await keys.create(tx, org=ids.DEFAULT_ORG, name="a", role=role, actor="test")  # type: ignore[arg-type]
        expired, second = await keys.create(tx, org=ids.DEFAULT_ORG, name="b", role=role, actor="test")  # type: ignore[arg-type]
        await keys.revoke(tx, id=revoked.id, org=ids.DEFAULT_ORG, actor="test")
        await tx.run("update weft.keys set expires_at = weft.now() where id = %(id)s", {"id": expired.id})
    for key in (first, second):
        assert await ask(api, OPERATIONS[name], key=key) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("name", GUARDED)
async def test_every_role_that_may_not_is_refused_and_one_that_may_is_not(api: Caller, name: str) -> None:
    operation = OPERATIONS[name]
    may = policy.ACTIONS[operation.action]
    for role in ROLES:
        if role not in may:
            assert await ask(api, operation, role=role) == (403, "FORBIDDEN"), role
        elif not operation.stream:
            body = {} if operation.body is None else {"json": operation.example}
            answer = await api.ask(operation.method, filled(operation), role=role, **body)
            assert answer.status_code not in (401, 403) or role == "worker", (role, answer.text)


def test_workers_have_no_business_in_the_api_and_readers_change_nothing() -> None:
    for operation in OPERATIONS.values():
        if operation.action == policy.PUBLIC or operation.action.startswith("work."):
            continue
        may = policy.ACTIONS[operation.action]
        assert "admin" in may, operation.name
        assert not may & {"worker", "attempt"} or operation.action == "docs.read", operation.name
        assert "reader" not in may or operation.method == "GET", operation.name


BY_ID = [name for name in GUARDED if "uuid" in OPERATIONS[name].parameters.values()]


async def _theirs(api: Caller, operation: Operation) -> str:
    """An id of the kind an operation takes that is real, in another org."""
    if operation.path.startswith("/v1/keys"):
        made = await api.post("/v1/keys", {"name": "theirs", "role": "reader"}, role="other:admin")
    else:
        made = await api.post("/v1/tasks", {"kind": "mail"}, role="other:writer")
    return str(made.json()["id"])


@pytest.mark.parametrize("name", BY_ID)
async def test_another_orgs_ids_are_not_found_and_stay_as_they_are(api: Caller, database: Database, name: str) -> None:
    operation = OPERATIONS[name]
    theirs = await _theirs(api, operation)
    everything = """
        select
            (select jsonb_agg(to_jsonb(t) order by t.id) from weft.tasks as t)::text,
            (select jsonb_agg(to_jsonb(k) - 'last_used_at' order by k.id) from weft.keys as k)::text
    """
    async with database.tx() as tx:
        before = await tx.row(everything)
    body = {} if operation.body is None else {"json": operation.example}
    answer = await api.ask(operation.method, filled(operation, id=theirs), **body)
    assert code(answer) == (404, "NOT_FOUND")
    async with database.tx() as tx:
        assert await tx.row(everything) == before


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
    used |= set(re.findall(r'action="([a-z]+\.[a-z]+)"', code))
    assert set(policy.ACTIONS) <= used
