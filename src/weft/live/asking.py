"""`Ask`: who asks, for what; and with it what a live query of yours is called with.

    @app.query(tables=["orders"])
    async def open_orders(ask: Ask, customer: str) -> list[dict[str, Any]]:
        return await ask.rows("select id, total from orders where org = %(org)s and customer = %(customer)s",
                              org=ask.org, customer=customer)

It runs read only, as the role `weft_tenant`, in the org of whoever watches: grant that role what it must read, and filter
by `ask.org` where your tables hold several orgs.
"""

import asyncio
import dataclasses
import datetime as dt
import logging
import uuid
from collections.abc import Sequence
from typing import Any

from weft.access.principal import Principal, Role
from weft.base import errors, json
from weft.db import statements
from weft.db.tx import Tx
from weft.sdk.query import Query

SQL = statements.load("weft.live")

log = logging.getLogger("weft.live")

MOST_ROWS = 1000
_PATIENCE = dt.timedelta(seconds=5)
"""How long one statement of a query may take."""


@dataclasses.dataclass(frozen=True)
class Scope:
    """The rights that what is shown may depend on; whoever has the same is served by the same look."""

    org: uuid.UUID
    role: Role
    scopes: frozenset[str] = frozenset()
    org_roles: frozenset[str] = frozenset()

    @classmethod
    def of(cls, who: Principal) -> "Scope":
        return cls(who.org, who.role, who.scopes, who.org_roles)


@dataclasses.dataclass(frozen=True)
class Ask:
    """One look at something on behalf of whoever watches it."""

    tx: Tx
    scope: Scope
    args: Any
    after: int = 0
    """Of a log: the last line that was told."""

    @property
    def org(self) -> uuid.UUID:
        return self.scope.org

    async def rows(self, statement: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """The rows of a statement of yours, as dicts; its arguments are written `%(name)s`."""
        found = await self.tx.dicts(statement, arguments or None, most=MOST_ROWS + 1)
        if len(found) > MOST_ROWS:
            raise errors.TooLarge(f"a live query may answer {MOST_ROWS} rows; narrow it, or add a limit")
        return found


async def unreactive(tx: Tx, tables: Sequence[str]) -> list[str]:
    """Those of users' tables whose changes nobody is told of; without a dot they are ours, and always told."""
    return [row[0] for row in await tx.rows(SQL.unreactive, {"tables": [one for one in tables if "." in one]})]


async def run(query: Query, ask: Ask) -> bytes:
    """What a user's query answers, as JSON; QueryFailed, and the reason in the log, if it breaks."""
    await ask.tx.row(SQL.read_only, {"patience": str(int(_PATIENCE.total_seconds() * 1000))})
    try:
        async with asyncio.timeout(_PATIENCE.total_seconds() * 2):
            answer = await query.function(ask, **query.arguments(ask.args))
    except (errors.Unavailable, errors.InvalidInput, errors.Forbidden, errors.NotFound):
        raise
    except Exception as error:
        log.exception("the live query %s failed", query.name)
        if "permission denied" in str(error):
            raise errors.QueryFailed(
                f"the live query {query.name!r} may not read a table; run: grant select on … to weft_tenant"
            ) from error
        raise errors.QueryFailed(f"the live query {query.name!r} failed; the server's log says why") from error
    try:
        return json.dumps(answer)
    except (TypeError, ValueError, RecursionError) as error:
        log.warning("the live query %s answers what JSON cannot say: %s", query.name, error)
        raise errors.QueryFailed(
            f"the live query {query.name!r} answers what JSON cannot say ({error}); make it text or numbers"
        ) from None
