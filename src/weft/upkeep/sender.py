"""The outbox's sender: takes what is due in the chore's transaction, sends it after the commit, then says how it went.

Nothing is open while somebody else's server thinks. If the sender dies in between, the letter's lease ends and it is sent
again, under the same id.
"""

import asyncio

from weft.access import hosts, keyring, webhook_keys
from weft.base import errors
from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal import outbox
from weft.journal.outbox import Letter
from weft.net import http, webhooks
from weft.net.guard import Unreachable

_TIMEOUT = 15.0
_READ = 4096
"""Of the answer: nobody needs more than its status."""
_AT_ONCE = 10
_GONE = 410
"""The receiver says that nobody will ever want it."""


class Sender:
    """One per term. `once` takes, `send` sends what was taken."""

    def __init__(self) -> None:
        self._taken: list[Letter] = []

    async def once(self, tx: Tx) -> int:
        self._taken = await outbox.take(tx)
        return len(self._taken)

    async def send(self, database: Database) -> None:
        taken, self._taken = self._taken, []
        gate = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for letter in taken:
                group.create_task(_send(database, letter, gate=gate))


async def _send(database: Database, letter: Letter, *, gate: asyncio.Semaphore) -> None:
    async with gate:
        status, problem = await _signed(database, letter)
        async with database.tx() as tx:
            if problem is None:
                assert status is not None
                await outbox.delivered(tx, letter, status=status)
            else:
                await outbox.failed(tx, letter, problem=problem, status=status, final=status == _GONE)


async def _signed(database: Database, letter: Letter) -> tuple[int | None, str | None]:
    try:
        ring = keyring.find(database.settings)
        async with database.tx() as tx:
            key = await webhook_keys.get(tx, ring, org=letter.org)
            allowed = await hosts.of(tx, letter.org)
    except errors.ConfigError as error:
        return None, f"it cannot be signed: {error.message}"
    return await _post(letter, key=key, allow=(*database.settings.allow_hosts, *allowed))


async def _post(letter: Letter, *, key: bytes, allow: tuple[str, ...]) -> tuple[int | None, str | None]:
    """The answer's status, and what is wrong."""
    body = letter.body.encode()
    told = webhooks.headers(key, id=str(letter.id), timestamp=int(letter.at.timestamp()), body=body)
    request = http.Request(
        url=letter.url, method="POST", headers={"content-type": "application/json", **told}, body=body
    )  # fmt: skip
    try:
        # a redirect would turn it into a GET, or take the signature elsewhere
        answer = await http.call(request, timeout=_TIMEOUT, max_bytes=_READ, allow=allow, redirects=0)
    except (Unreachable, errors.Refused, errors.InvalidInput) as error:
        return None, error.message
    if 200 <= answer.status < 300:
        return answer.status, None
    return answer.status, f"the receiver answered {answer.status}"
