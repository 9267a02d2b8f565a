"""The outbox: what must be sent, stored with what makes it true, sent afterwards at least once, always under the same id.

    post (in the transaction of the fact) ──▶ waiting ──take──▶ being sent ──▶ delivered
                                                 ▲                  │
                                                 └── a later try ◀──┴──▶ dead, after the last one

A try that nobody hears of again (its sender died) is made again when its lease ends.
"""

import dataclasses
import datetime as dt
import uuid
from typing import Literal

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.journal")

State = Literal["waiting", "delivered", "dead"]

BATCH = 50
LEASE = dt.timedelta(seconds=60)
"""How long a try may take until another is made."""
KEPT = dt.timedelta(days=30)
"""How long one sees that something was delivered."""

_PAUSES = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 10800.0, 21600.0)
TRIES = len(_PAUSES) + 1
_LONGEST = 500


@dataclasses.dataclass(frozen=True)
class Letter:
    """Something to send now, in the order `take_letters` answers it."""

    id: uuid.UUID
    org: uuid.UUID
    topic: str
    url: str
    body: str
    attempt: int
    at: dt.datetime
    """The database's time when it was taken: what its signature names."""


@dataclasses.dataclass(frozen=True)
class Sent:
    """What became of a letter so far, in the order `letters_about` answers it."""

    id: uuid.UUID
    topic: str
    url: str
    state: State
    attempts: int
    created_at: dt.datetime
    next_at: dt.datetime
    status: int | None
    problem: str | None
    delivered_at: dt.datetime | None


def pause(attempt: int) -> dt.timedelta | None:
    """How long to wait after the n-th try failed; None: it was the last."""
    return dt.timedelta(seconds=_PAUSES[attempt - 1]) if attempt <= len(_PAUSES) else None


async def post(tx: Tx, *, org: uuid.UUID, topic: str, subject: uuid.UUID, url: str, body: str) -> uuid.UUID:
    """Something to be sent if and when this transaction commits; answers its id."""
    arguments = {"org_id": org, "topic": topic, "subject": subject, "url": url, "body": body}
    id: uuid.UUID = await tx.value(SQL.post, arguments)
    return id


async def take(tx: Tx, *, take: int = BATCH) -> list[Letter]:
    """What is due, held for a while by whoever sends it."""
    return [Letter(*row) for row in await tx.rows(SQL.take_letters, {"take": take, "lease": LEASE})]


async def delivered(tx: Tx, letter: Letter, *, status: int) -> None:
    await tx.run(SQL.letter_delivered, {"id": letter.id, "attempt": letter.attempt, "status": status})


async def failed(tx: Tx, letter: Letter, *, problem: str, status: int | None, final: bool = False) -> None:
    """This try failed; another follows, unless it was the last or none can help."""
    delay = None if final else pause(letter.attempt)
    arguments = {
        "id": letter.id, "attempt": letter.attempt, "delay": delay, "status": status, "problem": problem[:_LONGEST],
    }  # fmt: skip
    await tx.run(SQL.letter_failed, arguments)


async def about(tx: Tx, *, org: uuid.UUID, subject: uuid.UUID) -> list[Sent]:
    """What was sent, or is to be, about something."""
    return [Sent(*row) for row in await tx.rows(SQL.letters_about, {"org_id": org, "subject": subject})]


async def prune(tx: Tx) -> int:
    """Forgets what was delivered long ago."""
    return await tx.run(SQL.prune_letters, {"older": KEPT, "take": BATCH})
