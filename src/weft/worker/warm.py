"""The lanes a worker has had work from lately, and what to ask each of them for. Pure."""

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from weft.queue import lanes
from weft.queue.lanes import Lane, Mark, Take
from weft.queue.model import Claimed

BATCH = 1000
"""Most tasks per claim. Rows are updated by ctid, so the plan does not depend on it. Larger than 500
looked better in a few trials on a loaded machine; nothing finer is known."""

_QUICK = 1500
"""Room that only handlers make which do next to nothing; then the largest batch is the quickest."""
_LEAST = 100
_FIRST = 400
"""The most that is claimed at once after there was nothing: runners begin with these while more is claimed."""
_WARM_FOR = 60.0
_WARM_AT_MOST = 200
_MUCH = 50
"""Whoever gave so many at once, and may have more, does not come with a little the moment there are few left."""
_LATELY = 1.0
_NEWCOMER = 5
"""What a lane of which nothing is buffered is asked for while the buffer is full."""

Place = tuple[str, str]
"""Lane and org."""


def portion(room: int) -> int:
    """How much of the room one claim fills. Where handlers take their time a quarter: a claim holds up the others."""
    return min(room, BATCH) if room >= _QUICK else min(room, max(room // 4, _LEAST))


def spare(room: int) -> int:
    """What a second claim beside another one may ask for: a whole batch, or nothing."""
    return BATCH if room >= _QUICK else 0


def bite(room: int, *, hungry: bool) -> int:
    """The same where the claim before found nothing."""
    return min(room, _FIRST) if hungry else room


@dataclasses.dataclass
class Warm:
    """A lane that had work lately, and how far into it we are."""

    lane: Lane
    seen: float
    mark: Mark = lanes.START
    best: Mark = lanes.START
    """How far we have ever been: where to go on once it is known that nothing is left before."""
    full: bool = True
    """It gave all it was asked for last time, so there may be more; or it was just found."""
    deep: bool = False
    """It did give all it was asked for last time."""
    flooded: float = float("-inf")
    """When that was last very many."""


class WarmLanes:
    """Each claim asks all of them at once, each for its share, from its mark on.

    The mark skips dead index entries. It is a hint: `found` forgets it, so that whatever committed late or with a
    higher priority is seen. One claim that leaves nothing behind brings it back: while an old transaction is open, the dead
    entries of a lane may be a million, too many to walk over with every claim.
    """

    def __init__(self) -> None:
        self._warm: dict[Place, Warm] = {}
        self.special: frozenset[Place] = frozenset()
        """Lanes with work under a limit or a key."""
        self.limited: frozenset[Place] = frozenset()
        """Lanes with no other work than that, now or lately."""
        self._limits: dict[tuple[Place, bool], tuple[Lane, float]] = {}
        self._turn = 0
        self._forgotten = 0

    def __bool__(self) -> bool:
        return bool(self._warm)

    @property
    def more(self) -> bool:
        """Whether a lane gave all it was asked for."""
        return any(warm.full for warm in self._warm.values())

    def found(self, plain: Collection[Lane], *, special: Sequence[Lane], now: float, forget: bool = True) -> None:
        """These have ready work; of all others nothing more is known. `forget`: and all marks are forgotten."""
        unlimited = {lane.place for lane in plain}
        self._limits |= {(lane.place, lane.plain): (lane, now) for lane in special if lane.limited}
        self._limits = {which: (lane, seen) for which, (lane, seen) in self._limits.items()
                        if lane.place not in unlimited and now - seen <= _WARM_FOR}  # fmt: skip
        self.limited = frozenset(place for place, _plain in self._limits)
        self.special = self.limited | {lane.place for lane in special}
        for lane in plain:
            known = self._warm.get(lane.place, Warm(lane, seen=now))
            self._warm[lane.place] = dataclasses.replace(known, lane=lane, seen=now, full=True)
        for place, warm in list(self._warm.items()):
            warm.mark = lanes.START if forget else warm.mark
            if place in self.limited or now - warm.seen > _WARM_FOR:
                del self._warm[place]
        while len(self._warm) > _WARM_AT_MOST:
            del self._warm[min(self._warm, key=lambda place: self._warm[place].seen)]

    def forget(self, share: float) -> None:
        """Forgets the marks of this share of the lanes, at least one, in turn: where many entries are dead, a claim that
        walks over those of all lanes takes long, and what it walks over waits for it."""
        known = list(self._warm.values())
        for _ in range(min(len(known), max(1, int(len(known) * share)))):
            self._forgotten = (self._forgotten + 1) % len(known)
            known[self._forgotten].mark = lanes.START

    def shares(self, room: int, *, only_deep: bool = False) -> list[Take]:
        """Full lanes share the room, the others are asked for a little. `only_deep`: somebody else asks those with little to
        do, and they that gave all they were asked for share it, as long as there are any."""
        full = [warm for warm in self._warm.values() if warm.full]
        deep = [warm for warm in full if warm.deep] if only_deep else []
        sharing = deep or full
        self._turn += 1
        shares = lanes.shares([warm.lane.weight for warm in sharing], want=room, turn=self._turn)
        takes = [Take(warm.lane, share, warm.mark) for warm, share in zip(sharing, shares, strict=True) if share]
        if deep:
            return takes
        little = max(1, room // max(len(self._warm), 1))
        return takes + [Take(warm.lane, little, warm.mark) for warm in self._warm.values() if not warm.full]

    def newcomers(self, buffered: Iterable[str], *, room: int) -> list[Take]:
        """A few from every lane whose org has nothing in the buffer, so that a flood does not keep the others out. Those
        that gave all they were asked for are in every bulk claim as it is, and the buffer is often empty of them."""
        there = set(buffered)
        few = min(room, _NEWCOMER)
        if few <= 0:
            return []
        return [Take(warm.lane, few, warm.mark) for place, warm in self._warm.items()
                if not warm.deep and place[1] not in there]  # fmt: skip

    def deep(self, lane: Lane) -> bool:
        """Whether it gave all it was asked for last time."""
        warm = self._warm.get(lane.place)
        return warm is not None and warm.deep

    def limits(self, places: Collection[Place], *, beside: Iterable[Lane]) -> list[Lane]:
        """`beside`, and those of the places that were under a limit lately: no look sees them while nothing is in them."""
        known = {(lane.place, lane.plain): lane for lane in beside}
        late = {which: lane for which, (lane, _seen) in self._limits.items() if which[0] in places}
        return list((late | known).values())

    def named(self, places: Iterable[Place], *, room: int, now: float) -> list[Take]:
        """What a wake-up told of, whether we knew the lane or not."""
        takes = []
        for place in places:
            warm = self._warm.get(place)
            if warm is None:
                warm = self._warm[place] = Warm(Lane(*place, plain=True), seen=now)
            takes.append(Take(warm.lane, room, warm.mark))
        return takes

    def took(self, takes: Sequence[Take], tasks: Sequence[Claimed], *, now: float) -> bool:
        """Moves the marks. Answers whether somebody came with a little who had nothing before."""
        little = False
        counts: dict[Place, int] = {}
        last: dict[Place, Claimed] = {}
        if len(takes) == 1 and tasks:
            counts[takes[0].lane.place] = len(tasks)
            last[takes[0].lane.place] = tasks[-1]
        else:
            for task in tasks:
                place = (task.lane, task.org)
                counts[place] = counts.get(place, 0) + 1
                last[place] = task
        for take in takes:
            warm = self._warm.get(take.lane.place)
            if warm is None:
                continue
            was_deep, gave = warm.deep, counts.get(take.lane.place, 0)
            warm.full = warm.deep = gave >= take.take
            if warm.deep and gave >= _MUCH:
                warm.flooded = now
            little = little or (gave > 0 and not was_deep and not warm.deep and now - warm.flooded > _LATELY)
            if (end := last.get(take.lane.place)) is not None:
                warm.seen = now
                warm.mark = Mark(end.urgency, end.run_at, end.id)
                warm.best = max(warm.best, warm.mark)
            if not warm.full:
                # it gave all it had, from the mark to its end
                warm.mark = warm.best
        return little
