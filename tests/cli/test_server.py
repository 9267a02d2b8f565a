"""`weft server`, `weft up` and `weft key` as people run them."""

import json
import re
import signal
from pathlib import Path

import cli_process
import httpx2
import pytest

from weft.db.database import Database

HERE = Path(__file__).parent


def env(database: Database) -> dict[str, str | None]:
    return {"DATABASE_URL": database.settings.database_url}


async def made_key(database: Database, role: str, *more: str) -> dict[str, str]:
    code, said = await cli_process.run("key", "create", f"the {role}", "--role", role, "--json", *more, env=env(database))
    assert code == 0, said
    found: dict[str, str] = json.loads(said)
    return found


def address(program: cli_process.Program) -> str:
    found = re.search(r"http://\S+:\d+", program.said)
    assert found, program.said
    return found[0]


async def test_a_server_serves_leads_and_stops_clean(database: Database) -> None:
    key = (await made_key(database, "admin"))["key"]
    async with cli_process.weft("server", "--port", "0", env=env(database)) as program:
        await program.says("weft server is ready at")
        async with httpx2.AsyncClient(base_url=address(program), headers={"authorization": f"Bearer {key}"}) as client:
            assert (await client.get("/ready")).json() == {"status": "ready", "missing": []}
            # due a moment later: somebody must lead to make it ready
            made = await client.post("/v1/tasks", json={"kind": "nobody", "delay": 0.01})
            assert made.status_code == 201
            await program.says("leads, term")
            answer = await client.get("/v1/nodes")
            assert [node["status"] for node in answer.json()["items"]] == ["active"]
            asked = await client.get("/v1/keys", headers={"x-request-id": "my-own-id"})
            assert asked.headers["x-request-id"] == "my-own-id"
        await program.says("weft.api my-own-id: GET /v1/keys 200")
        program.send(signal.SIGTERM)
        assert await program.ends() == 0


async def test_others_are_not_let_in_before_a_key_exists(database: Database) -> None:
    code, said = await cli_process.run("server", "--host", "0.0.0.0", "--port", "0", env=env(database))
    assert code == 2 and "weft key create" in said and "127.0.0.1" in said
    await made_key(database, "reader")
    async with cli_process.weft("server", "--host", "0.0.0.0", "--port", "0", env=env(database)) as program:
        await program.says("weft server is ready at http://0.0.0.0:")
        program.send(signal.SIGINT)
        assert await program.ends() == 0


async def test_a_port_that_is_taken_is_said_in_one_line(database: Database) -> None:
    async with cli_process.weft("server", "--port", "0", env=env(database)) as program:
        await program.says("weft server is ready at")
        port = address(program).rpartition(":")[2]
        code, said = await cli_process.run("server", "--port", port, env=env(database))
    assert code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in said and "Traceback" not in said


async def test_up_serves_and_works(database: Database) -> None:
    key = (await made_key(database, "writer"))["key"]
    async with cli_process.weft("up", "cli_app:app", "--port", "0", env=env(database), cwd=HERE) as program:
        await program.says("weft worker is ready")
        async with httpx2.AsyncClient(base_url=address(program), headers={"authorization": f"Bearer {key}"}) as client:
            made = await client.post("/v1/tasks", json={"kind": "double", "payload": {"n": 21}, "check": True})
            assert made.status_code == 201, made.text
            result = await client.get(f"/v1/tasks/{made.json()['id']}/result?wait=30", timeout=40)
            assert (result.status_code, result.json()["result"]) == (200, 42)
        program.send(signal.SIGTERM)
        assert await program.ends() == 0


async def test_keys_are_made_listed_and_revoked_from_the_shell(database: Database) -> None:
    made = await made_key(database, "worker", "--expires", "12h")
    assert made["key"].startswith("weftw_") and made["expires_at"]
    code, plain = await cli_process.run("key", "create", "plain", "--role", "reader", env=env(database))
    assert code == 0 and plain.startswith("weft_") and "not shown again" in plain
    code, listed = await cli_process.run("key", "list", "--json", env=env(database))
    assert code == 0 and [one["name"] for one in json.loads(listed)] == ["plain", "the worker"]
    assert made["key"] not in listed
    code, said = await cli_process.run("key", "revoke", made["id"], env=env(database))
    assert code == 0 and said.startswith("revoked the worker (weftw_")
    code, listed = await cli_process.run("key", "list", env=env(database))
    assert code == 0 and "revoked" in listed and "valid" in listed
    code, said = await cli_process.run("key", "revoke", "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", env=env(database))
    assert code == 1 and "there is no key" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("key", "create", "a"), "--role"),
        (("key", "create", "a", "--role", "owner"), "owner"),
        (("key", "create", "a", "--role", "reader", "--expires", "soon"), "not a duration"),
        (("key", "revoke", "nonsense"), "UUID"),
        (("server", "--port", "70000"), "70000"),
        (("server", "--port", "0", "--host", "no.such.host.invalid"), "cannot listen"),
        (("up",), "MODULE:APP"),
    ],
)
async def test_a_wrong_command_says_what_is_wrong(database: Database, arguments: tuple[str, ...], why: str) -> None:
    await made_key(database, "reader")
    code, said = await cli_process.run(*arguments, env=env(database))
    assert code == 2 and why in said and "Traceback" not in said
