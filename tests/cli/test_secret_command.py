"""`weft secret`, `weft audit` and `weft hosts` as real processes, on the database and against a server."""

import asyncio
import json
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cli_process
import psycopg
import pytest
import shell
from shell import Shell

from weft.access import keyring

VALUE = "correct horse battery staple"


@pytest.fixture
def ring() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="weft-ring-"))
    file = folder / "secret.key"
    file.write_text(keyring.generate() + "\n")
    file.chmod(0o600)
    yield file
    shutil.rmtree(folder)


async def test_set_list_delete_and_no_value_is_ever_said(database_url: str, ring: Path) -> None:
    weft = Shell(DATABASE_URL=database_url, WEFT_SECRET_KEY_FILE=str(ring))
    said = [await weft("secret", "set", "SMTP", stdin=f"{VALUE}\n".encode())]
    said.append(await weft("secret", "set", "SMTP", "--remote", stdin=f"{VALUE}\r\n".encode()))
    said.append(await weft("secret", "list"))
    listed = await weft.json("secret", "list")
    said.append(await weft("secret", "delete", "SMTP"))
    assert [code for code, _ in said] == [0, 0, 0, 0]
    assert "version 1" in said[0][1] and "version 2" in said[1][1] and "SMTP" in said[2][1]
    assert [(one["name"], one["version"], one["remote"]) for one in listed] == [("SMTP", 2, True)]
    assert all(VALUE not in text for _, text in said) and VALUE not in json.dumps(listed)
    code, text = await weft("secret", "set", "SMTP", stdin=b"\xff\xfe rubbish")
    assert code == 2 and "UTF-8" in text


async def test_the_same_over_http(database_url: str, ring: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_SECRET_KEY_FILE", str(ring))
    async with shell.served(database_url) as weft:
        weft.env["WEFT_SECRET_KEY_FILE"] = None
        assert (await weft("secret", "set", "SMTP", stdin=VALUE.encode()))[0] == 0
        assert [one["name"] for one in await weft.json("secret", "list")] == ["SMTP"]
        entries = await weft.json("audit", "list", "--action", "secret.put")
        assert [(one["object_id"], one["actor"]) for one in entries] == [("SMTP", "key:tests admin")]
        assert (await weft("secret", "delete", "SMTP"))[0] == 0
        code, text = await weft("audit", "list", "--since", "1h", "--type", "secret")
        assert code == 0 and "secret.delete" in text


def rewrite(ring: Path, change: Callable[[list[str]], list[str]]) -> None:
    ring.write_text("\n".join(change(ring.read_text().splitlines())) + "\n")


def by_key(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        return {str(key): int(n) for key, n in connection.execute("select key_id, count(*) from weft.secrets group by 1")}


async def test_a_rotation_that_dies_in_the_middle_is_completed_by_the_next(database_url: str, ring: Path) -> None:
    weft = Shell(DATABASE_URL=database_url, WEFT_SECRET_KEY_FILE=str(ring))
    assert (await weft("secret", "set", "FIRST", stdin=VALUE.encode()))[0] == 0
    with psycopg.connect(database_url) as connection:
        # many, in another form than anybody could open: rotation must not touch what it cannot read
        connection.execute(
            "insert into weft.secrets (org_id, name, key_id, nonce, sealed, updated_by) "
            "select org_id, 'FOREIGN', 'another key', nonce, sealed, updated_by from weft.secrets"
        )
    for n in range(3):
        assert (await weft("secret", "set", f"S{n}", stdin=f"{VALUE} {n}".encode()))[0] == 0
    rewrite(ring, lambda keys: [keyring.generate(), *keys])
    before = by_key(database_url)
    dying = Shell(**weft.env, WEFT_CRASH_AT="secret rotation: before commit")
    assert (await dying("secret", "rotate"))[0] == -signal.SIGKILL
    assert by_key(database_url) == before
    code, said = await weft("secret", "rotate")
    assert code == 0 and "4 sealed anew" in said and "1 are still under the key another key" in said
    assert (await weft.json("secret", "rotate"))["rotated"] == 0
    with psycopg.connect(database_url) as connection:
        connection.execute("delete from weft.secrets where key_id = 'another key'")
    rewrite(ring, lambda keys: keys[:1])
    _, said = await weft("secret", "rotate")
    assert "needed no more" in said
    assert len(by_key(database_url)) == 1 and set(by_key(database_url)) != set(before)


async def test_keygen_makes_what_a_ring_takes(database_url: str) -> None:
    code, said = await Shell(DATABASE_URL=database_url)("secret", "keygen")
    assert code == 0 and len(keyring.parse(said, where="x")) == 1
    code, said = await Shell(DATABASE_URL=database_url)("secret", "keygen", "--json")
    assert code == 0 and len(keyring.parse(json.loads(said)["key"], where="x")) == 1


async def test_verify_says_what_is_wrong_and_fails(database_url: str) -> None:
    weft = Shell(DATABASE_URL=database_url)
    for name in ("a", "b", "c"):
        await weft("queues", "pause", name)
    async with cli_process.weft("server", "--port", "0", env={"DATABASE_URL": database_url}) as server:
        await server.says("ready at http")
        await sealed(database_url, 3)
    code, said = await weft("audit", "verify")
    head = re.search(r"head (3:[0-9a-f]{64})", said)
    assert code == 0 and "3 entries, no findings" in said and head
    assert (await weft("audit", "verify", "--head", head[1]))[0] == 0
    with psycopg.connect(database_url) as owner:
        owner.execute("update weft.journal set actor = 'nobody' where number = 2")
    code, said = await weft("audit", "verify")
    assert code == 1 and "entry 2: changed" in said


async def sealed(url: str, count: int) -> None:
    """Waits for the chore."""
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        with psycopg.connect(url) as connection:
            found = connection.execute("select count(*) from weft.journal where number is not null").fetchone()
        if found is not None and found[0] >= count:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("nothing was sealed")


async def test_strangers_are_listed_for_whoever_runs_it(database_url: str) -> None:
    async with shell.served(database_url) as there:
        there.env["WEFT_KEY"] = "weft_nonsense"
        assert (await there("tasks"))[0] == 1
    here = Shell(DATABASE_URL=database_url)
    code, said = await here("audit", "list", "--org", "*")
    assert code == 0 and "access.denied" in said and "GET /v1/tasks" in said and "nonsense" not in said


async def test_hosts(database_url: str) -> None:
    weft = Shell(DATABASE_URL=database_url)
    assert (await weft("hosts", "allow", "10.1.0.0/16"))[0] == 0
    assert await weft.json("hosts", "list") == ["10.1.0.0/16"]
    assert (await weft("hosts", "forbid", "10.1.0.0/16"))[0] == 0
    assert await weft.json("hosts", "list") == []
    assert (await weft("hosts", "forbid", "10.1.0.0/16"))[0] == 1
    assert "there is no org" in (await weft("hosts", "list", "--org", "nobody"))[1]
