"""Who is lost: nodes whose lease ran out, and, much sooner, nodes whose liveness lock is gone.

A term begins knowing nothing. A node not yet seen well in it may only be slow to come back: whatever made the leader
change (PostgreSQL restarted, the network broke) may have cut off everybody at once. It gets more time than one that
was well a moment ago, and an outage longer than a lease does not give up everybody. Not so in a *steady* term: the
leader's own connection stood while its forerunner vanished, so that one was cut off alone, or died.
"""

import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence

from weft.cluster import nodes
from weft.cluster.model import Sign
from weft.db.tx import Tx
from weft.settle import rescue

PATIENCE = dt.timedelta(seconds=1)
"""How long a liveness lock must be gone."""

UNSEEN_PATIENCE = dt.timedelta(seconds=2)
"""The same for a node this term has not seen well yet: time to reconnect and beat."""

_OFTEN = dt.timedelta(seconds=0.2)
_RARELY = dt.timedelta(seconds=1)
_SOON = dt.timedelta(seconds=0.02)


@dataclasses.dataclass(frozen=True)
class Memory:
    """What the looks of this term said of a node."""

    seen_well: bool
    missing_since: float | None


def remember(before: Mapping[str, Memory], signs: Sequence[Sign], *, at: float) -> dict[str, Memory]:
    """What is known after another look. Nodes that are not there any more are forgotten."""
    return {sign.id: _memory(before.get(sign.id), sign, at=at) for sign in signs}


def lost(memories: Mapping[str, Memory], signs: Sequence[Sign], *, at: float, steady: bool = False) -> list[Sign]:
    """Those to give up now."""
    return [sign for sign in signs if _is_lost(memories[sign.id], sign, at=at, steady=steady)]


class Liveness:
    """The looks of one term, as a chore: `peek` looks and decides, `once` gives up and rescues."""

    def __init__(
        self,
        *,
        own_id: str,
        steady: bool = False,
        quiet: dt.timedelta = nodes.QUIET,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own_id = own_id
        self._steady = steady
        self._quiet = quiet
        self._clock = clock
        self._memories: dict[str, Memory] = {}
        self._lost: dict[str, Sign] = {}
        self._watching = False

    def every(self) -> dt.timedelta:
        """Looking often pays only while somebody else holds a liveness lock; who is missing is looked for when it counts."""
        usual = _OFTEN if self._watching else _RARELY
        dues = [_due(memory, steady=self._steady) for memory in self._memories.values()]
        due = min(dues, default=float("inf")) - self._clock()
        return usual if due > usual.total_seconds() else max(dt.timedelta(seconds=due), _SOON)

    async def peek(self, tx: Tx) -> bool:
        signs = await nodes.look(tx, quiet=self._quiet)
        at = self._clock()
        self._memories = remember(self._memories, signs, at=at)
        self._lost |= {sign.id: sign for sign in lost(self._memories, signs, at=at, steady=self._steady)}
        self._watching = any(sign.watched and sign.id != self._own_id for sign in signs)
        return bool(self._lost)

    async def once(self, tx: Tx) -> int:
        """A batch of the tasks of the lost. One who came back meanwhile keeps its own."""
        dead = await nodes.mark_dead(tx, lost=list(self._lost.values()))
        rescued = await rescue.nodes(tx, dead)
        # more than a batch, or held by a transaction that one of them left open; looks do not find the dead. Whoever is not
        # dead, because this does not commit or somebody held its row, is found by the next look.
        left = await rescue.left(tx, dead)
        self._lost = {id: self._lost[id] for id in left}
        return rescued


def _memory(before: Memory | None, sign: Sign, *, at: float) -> Memory:
    seen_well = before is not None and before.seen_well
    if not sign.overdue and sign.absent is None:
        return Memory(seen_well=True, missing_since=None)
    since = None if before is None else before.missing_since
    return Memory(seen_well=seen_well, missing_since=at if since is None else since)


def _is_lost(memory: Memory, sign: Sign, *, at: float, steady: bool) -> bool:
    if memory.missing_since is None:
        return False
    # the lease is patience enough
    return (memory.seen_well and sign.overdue) or at - memory.missing_since >= _patience(memory, steady=steady)


def _due(memory: Memory, *, steady: bool) -> float:
    """When one who is missing is given up."""
    return float("inf") if memory.missing_since is None else memory.missing_since + _patience(memory, steady=steady)


def _patience(memory: Memory, *, steady: bool) -> float:
    return (PATIENCE if memory.seen_well or steady else UNSEEN_PATIENCE).total_seconds()
