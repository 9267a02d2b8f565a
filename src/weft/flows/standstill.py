"""Runs that nothing will move again: the net under everything that should have moved them.

    a page of runs that should go on ──▶ one that has nothing open, and has had nothing for a while
          ▲   once a minute, in turn         ──▶ set going, from what its rows say (`revive`, `steering.revive`)
          └──────────────────────────────    ──▶ it stands still all the same: marked (`stalled_at`), journaled, logged; once

Whatever may move a run is a row, and the statement `stands_still` knows them all (this folder's `__init__` lists them). The
mark is taken away by whatever moves the run, or else by the next look.
"""

import datetime as dt
import logging
import time
import uuid
from collections.abc import Callable

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import look, revive, steering
from weft.journal import record

SQL = statements.load("weft.flows")

log = logging.getLogger("weft.flows")

PATIENCE = dt.timedelta(minutes=5)
"""How long nothing must have happened in a run. No advance is ever seen half done, so this is caution."""
EVERY = dt.timedelta(minutes=1)
BATCH = 20
"""Runs that are seen to at a time."""
ACTOR = "upkeep"

_FIRST = str(uuid.UUID(int=0))
_MOST = 5000
"""Runs that are looked at at a time, as long as that takes less than this many seconds."""
_QUICK = 0.2


class Standstill:
    """The looks of one term, as a chore: `peek` finds, `once` sees to what was found."""

    def __init__(self, *, patience: dt.timedelta = PATIENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self._take = _MOST
        self._after = _FIRST
        self._standing: list[tuple[str, str]] = []
        self._going: list[str] = []

    async def peek(self, tx: Tx) -> bool:
        """The next page."""
        take, began = self._take, self._clock()
        # what takes too long may be ended by the server: then the next page is smaller too
        self._take = max(take // 2, 1)
        rows = await tx.rows(SQL.find_standing, {"after": self._after, "take": take, "patience": self._patience})
        if self._clock() - began < _QUICK:
            self._take = min(take * 2, _MOST)
        self._after = next((id for id, _, _, last in rows if last), _FIRST)
        self._standing = [(id, org) for id, org, verdict, _ in rows if verdict == "stands"]
        self._going = [id for id, _, verdict, _ in rows if verdict == "goes"]
        return bool(self._standing or self._going)

    async def once(self, tx: Tx) -> int:
        """What the page found, as far as nobody else has it now."""
        if self._going:
            await tx.run(SQL.unmark_stalled, {"ids": self._going})
        now, rest = self._standing[:BATCH], self._standing[BATCH:]
        if rest:
            # the page is looked at once more, from the first that is left
            self._after = str(uuid.UUID(int=uuid.UUID(rest[0][0]).int - 1))
        return sum([await see_to(tx, uuid.UUID(run), org=uuid.UUID(org)) for run, org in now])


async def see_to(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> bool:
    """Sets a run going again, or tells that it stands still. False: it does not, or somebody has it."""
    kind = await tx.value(SQL.hold_standing, {"id": run, "org_id": org})
    if kind is None or not await look.stands_still(tx, run, org=org):
        return False
    problem = None
    try:
        async with tx.savepoint():
            await (steering.revive if kind == "workflow" else revive.plan)(tx, run, org=org)
    except (errors.Unavailable, errors.MigrationError):
        raise
    except errors.InvalidPlan as error:
        log.warning("run %s is left to a version of Weft that knows its plan: %s", run, error)
        return False
    except errors.WeftError as error:
        problem = error.message
    if problem is None and not await look.stands_still(tx, run, org=org):
        await _tell(tx, run, org=org, action="run.revived", type="warning", text="it stood still and was set going again")
        return True
    await tx.run(SQL.mark_stalled, {"id": run})
    text = "it stands still: nothing is running and nothing is awaited" + (f" ({problem})" if problem else "")
    await _tell(tx, run, org=org, action="run.stalled", type="error", text=text)
    return True


async def _tell(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, action: str, type: str, text: str) -> None:
    log.warning("run %s: %s; see: weft run explain %s", run, text, run)
    await tx.run(SQL.note_run, {"id": run, "type": type, "message": text})
    await record.record(
        tx, org_id=org, actor=ACTOR, action=action, object_type="run", object_id=str(run), after={"message": text}
    )
