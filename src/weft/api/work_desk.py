"""What a server keeps for HTTP workers between their requests."""

import asyncio
import dataclasses

from weft.api.work_claims import Claims
from weft.api.work_tokens import Tokens
from weft.db.database import Database
from weft.db.notify import Hub


@dataclasses.dataclass(frozen=True)
class Desk:
    """One per server."""

    tokens: Tokens
    claims: Claims


def open(database: Database, *, hub: Hub | None, closed: asyncio.Event) -> Desk:
    """A desk nobody has come to yet. `closed` ends every wait."""
    return Desk(Tokens(database), Claims(database, hub=hub, closed=closed))
