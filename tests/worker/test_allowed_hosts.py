"""Private hosts of one org: its tasks may call them, another org's may not, and no org says so itself."""

import http.server
import threading
from collections.abc import Iterator

import pytest
from waiting import ended

import hands
from weft import App
from weft.access import hosts
from weft.base import errors, ids


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"inside")

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def inside() -> Iterator[int]:
    """The port of a server on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


async def test_an_orgs_own_list_opens_for_its_tasks_only(app: App, inside: int) -> None:
    payload = {"url": f"http://127.0.0.1:{inside}/"}
    async with app.tx() as tx:
        other = await hands.new_org(tx, "other")
        await hosts.allow(tx, org=ids.DEFAULT_ORG, entry=f"127.0.0.1:{inside}", actor="test")
    async with app.worker():
        mine, theirs = await app.enqueue("http", payload), await app.enqueue("http", payload, org=other)
        assert (await ended(app, mine)).result["body"] == "inside"
        refused = await ended(app, theirs, org=other)
    assert refused.state == "failed" and "not a public address" in str(refused.error)


async def test_it_is_written_down_listed_and_taken_back(app: App) -> None:
    async with app.tx() as tx:
        for entry in ("10.0.0.0/8", "api.internal:8080", "10.0.0.0/8"):
            await hosts.allow(tx, org=ids.DEFAULT_ORG, entry=entry, actor="ada")
        assert await hosts.of(tx, ids.DEFAULT_ORG) == ("10.0.0.0/8", "api.internal:8080")
        await hosts.forbid(tx, org=ids.DEFAULT_ORG, entry="10.0.0.0/8", actor="ada")
        assert await hosts.of(tx, ids.DEFAULT_ORG) == ("api.internal:8080",)
        with pytest.raises(errors.NotFound):
            await hosts.forbid(tx, org=ids.DEFAULT_ORG, entry="10.0.0.0/8", actor="ada")
        with pytest.raises(errors.InvalidInput, match="allow-list entry"):
            await hosts.allow(tx, org=ids.DEFAULT_ORG, entry="http://x", actor="ada")
        found = await tx.rows("select action, object_id, actor from weft.journal order by id")
    assert found == [
        ("host.allow", "10.0.0.0/8", "ada"), ("host.allow", "api.internal:8080", "ada"),
        ("host.forbid", "10.0.0.0/8", "ada"),
    ]  # fmt: skip


async def test_an_org_cannot_write_its_own_list(app: App) -> None:
    with pytest.raises(errors.DatabaseError, match="permission denied"):
        async with app.tx(org=ids.DEFAULT_ORG) as tx:
            await hosts.allow(tx, org=ids.DEFAULT_ORG, entry="10.0.0.0/8", actor="ada")
