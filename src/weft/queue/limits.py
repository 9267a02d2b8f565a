"""Claiming under limits: an org's max_concurrent, a queue's max_running or rate, a concurrency key, a suspect.

Lock, count, claim: the limits are locked by name first, then counted in a *new* statement, then the work is
claimed, all in one transaction. Locking and counting in one statement let 70 run under a limit of 10, because the
count saw the moment before the lock was granted. A limit another claimer holds is skipped, not waited for: a claimer
that is frozen in its transaction must not freeze the others.

What is claimed here is never prefetched: the caller asks for no more than it can start now.
"""

import dataclasses
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from weft.base import crash, ids
from weft.db import statements
from weft.db.lean import Lean
from weft.db.tx import Tx
from weft.queue import lanes as fairness
from weft.queue.lanes import START, Lane, Mark
from weft.queue.model import Claimed, claimed

SQL = statements.load("weft.queue")

_LOCK, _COUNT = Lean("lock_limits", SQL.lock_limits), Lean("count_limits", SQL.count_limits)
_LOCK_FIRST = Lean("lock_limits_first", SQL.lock_limits_first)
CLAIM, CLAIM_COUNTED = Lean("claim_limited", SQL.claim_limited), Lean("claim_counted", SQL.claim_counted)
"""What a connection for `claim` and `claim_counted` should know: they take long to plan."""

_EVERY = str(ids.EVERY_ORG)
_CANDIDATES = 50


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A ready task under a key, or one whose worker was lost."""

    id: str
    org: str
    lane: str
    key: str | None
    concurrency: int | None
    losses: int
    urgency: int = 50
    run_at: dt.datetime = START.run_at

    @property
    def queue(self) -> str:
        return self.lane.partition("+")[0]


Marks = dict[Lane, Mark]
"""How far into each lane the claims of somebody are: hints, that skip what is dead in the index."""


@dataclasses.dataclass(frozen=True)
class Taken:
    """What a limited claim got, and whether some of it was in other hands (so that another try soon is worth it)."""

    tasks: list[Claimed]
    contended: bool = False
    marks: Marks = dataclasses.field(default_factory=dict)
    """Where to go on."""
    short: bool = False
    """A lane that was asked from a mark on gave less than it was asked for: there may be more before it."""


@dataclasses.dataclass
class Room:
    """Free places per limit while a claim is divided. A name that is not there is not limited."""

    places: dict[str, int]

    def take(self, names: Sequence[str], *, want: int) -> int:
        """Takes up to `want` places under all of these limits at once."""
        free = min([want, *(self.places[name] for name in names if name in self.places)])
        if free > 0:
            for name in names:
                if name in self.places:
                    self.places[name] -= free
        return max(free, 0)

    def give_back(self, takes: "Mapping[Lane, int]") -> None:
        for lane, take in takes.items():
            for name in _names(lane.org, lane.queue):
                if name in self.places:
                    self.places[name] += take

    def least(self, names: Iterable[str]) -> int | None:
        """The fewest free places under any of these limits that has some."""
        return min((self.places[name] for name in names if self.places.get(name, 0) > 0), default=None)


async def claim(
    tx: Tx, *, node_id: str, token: str, kinds: Sequence[str], lanes: Sequence[Lane], want: int, turn: int = 0,
    lease: dt.timedelta | None = None, suspects: int = 1, marks: Marks | None = None, crowded: bool = True,
) -> Taken:  # fmt: skip
    """Takes up to `want` tasks from limited lanes and special tasks, never above any limit; of those that have lost a
    worker at most `suspects`. Not `crowded`: nobody else is expected to count at the same time, so it is counted with the
    locks, in one round trip; in vain, if one is not got."""
    sent = time.monotonic()
    marks = marks or {}
    special = [lane for lane in lanes if not lane.plain]
    found = candidates = await _candidates(tx, kinds=kinds, lanes=special, want=want, marks=marks)
    short = any(lane in marks for lane in special) and not found
    names = {name for lane in lanes for name in _names(lane.org, lane.queue)}
    names |= {_key(one) for one in candidates if one.key is not None}
    lock = (_LOCK, {"names": sorted(names)})
    answers, *counts = await tx.together([lock] if crowded else [lock, _counting(lanes)])
    locked = {name for name, got in answers if got}
    contended = len(locked) < len(names)
    usable = [lane for lane in lanes if locked.issuperset(_names(lane.org, lane.queue))]
    candidates = [
        one
        for one in candidates
        if locked.issuperset(_names(one.org, one.queue)) and (one.key is None or _key(one) in locked)
    ]
    if not usable and not candidates:
        return Taken([], contended, short=short)
    [counted] = counts or await tx.together([_counting(usable)])
    room, rates = _counted(counted)
    keys = await _count_keys(tx, candidates=candidates)
    plain = [lane for lane in usable if lane.plain]
    offering = {(one.lane, one.org) for one in candidates}
    shares = divide([lane for lane in usable if lane.plain or lane.place in offering], room=room, want=want, turn=turn)
    takes = {lane: take for lane, take in shares.items() if lane.plain}
    reserved = {lane: take for lane, take in shares.items() if not lane.plain}
    room.give_back(reserved)
    offered = in_turn(candidates, reserved)
    chosen, full = choose(offered, room=room, keys=keys, want=want - sum(takes.values()), suspects=suspects)
    # what special work could not use
    for lane, more in divide(plain, room=room, want=want - sum(takes.values()) - len(chosen), turn=turn).items():
        takes[lane] = takes.get(lane, 0) + more
    if full:
        await tx.run(SQL.block, {"ids": full})
    tasks: list[Claimed] = []
    moved = _passed(special, found, done={*chosen, *full})
    hold = {"node_id": node_id, "token": token, "lease": lease, "limited": True}
    if chosen:
        rows = await tx.rows(SQL.claim_chosen, {"ids": chosen, **hold})
        tasks += claimed(rows, token=token, sent=sent)
    if takes:
        arguments = {
            "lanes": [lane.lane for lane in takes],
            "orgs": [lane.org for lane in takes],
            "takes": list(takes.values()),
            "kinds": kinds,
            **_from(takes, marks),
            **hold,
        }
        if not rates:
            crash.point("limited claim: before commit")
        [rows] = await tx.together([(CLAIM, arguments)], ends=not rates)
        got = claimed(rows, token=token, sent=sent)
        tasks += got
        by_place = {lane.place: lane for lane in takes}
        moved |= {by_place[one.lane, one.org]: Mark(one.urgency, one.run_at, one.id) for one in got}
        short = short or (len(got) < sum(takes.values()) and any(lane in marks for lane in takes))
    await _spend(tx, rates=rates, tasks=tasks)
    if rates or not takes:
        crash.point("limited claim: before commit")
    return Taken(tasks, contended, moved, short)


async def claim_counted(
    tx: Tx, *, node_id: str, token: str, kinds: Sequence[str], lane: Lane, want: int, marks: Marks
) -> Taken:
    """As `claim`, but from one lane that is `countable`, in one round trip: for what somebody waits for."""
    sent = time.monotonic()
    mark = marks.get(lane, START)
    arguments = {
        "lane": lane.lane, "org": lane.org, "take": want, "kinds": kinds, "mark_urgency": mark.urgency,
        "mark_run_at": mark.run_at, "mark_id": mark.id, "node_id": node_id, "token": token, "lease": None, "limited": True,
    }  # fmt: skip
    lock = (_LOCK_FIRST, {"names": sorted(_names(lane.org, lane.queue))})
    crash.point("limited claim: before commit")
    [[(_, locked)], rows] = await tx.together([lock, (CLAIM_COUNTED, arguments)], ends=True)
    tasks = claimed(rows, token=token, sent=sent)
    moved = {lane: Mark(tasks[-1].urgency, tasks[-1].run_at, tasks[-1].id)} if tasks else {}
    return Taken(tasks, not locked, moved, short=locked and not tasks and lane in marks)


async def claim_picked(
    tx: Tx, *, node_id: str, token: str, lane: Lane, pick: Callable[[int], Awaitable[Sequence[str]]], want: int,
    lease: dt.timedelta | None = None,
) -> Taken:  # fmt: skip
    """As `claim`, but from one lane, and the caller chooses: `pick(n)` answers the ids of at most n that are ready."""
    sent = time.monotonic()
    room, rates = _counted((await tx.together([_counting([lane])]))[0])
    if limited := bool(room.places):
        names = _names(lane.org, lane.queue)
        if not all(got for _, got in await tx.rows(SQL.lock_limits, {"names": sorted(names)})):
            return Taken([], contended=True)
        room, rates = _counted((await tx.together([_counting([lane])]))[0])
        want = room.take(names, want=want)
    chosen = await pick(want) if want > 0 else []
    if not chosen:
        return Taken([])
    hold = {"node_id": node_id, "token": token, "lease": lease, "limited": limited}
    tasks = claimed(await tx.rows(SQL.claim_chosen, {"ids": list(chosen), **hold}), token=token, sent=sent)
    await _spend(tx, rates=rates, tasks=tasks)
    crash.point("limited claim: before commit")
    return Taken(tasks)


def in_turn(candidates: Sequence[Candidate], shares: Mapping[Lane, int]) -> list[Candidate]:
    """Every lane's share first, then the rest; each in claim order."""
    left = {lane.place: share for lane, share in shares.items()}
    first: list[Candidate] = []
    rest: list[Candidate] = []
    for one in candidates:
        place = (one.lane, one.org)
        (first if left.get(place, 0) > 0 else rest).append(one)
        left[place] = left.get(place, 0) - 1
    return first + rest


def choose(
    candidates: Sequence[Candidate], *, room: Room, keys: Mapping[tuple[str, str], tuple[int, str]], want: int,
    suspects: int = 1,
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Which special tasks to claim, and which to block because their key is full. Candidates come in claim order.

    One that has lost two workers comes with no other suspect: it will be run alone, and they would only be given back."""
    chosen: list[str] = []
    full: list[str] = []
    running = {key: count for key, (count, _) in keys.items()}
    most = suspects
    for one in candidates:
        if one.key is not None:
            place = (one.org, one.key)
            strict = one.concurrency == 0
            # strictly in order: not before anybody enqueued earlier, even if that one waits for its retry
            if running[place] >= max(one.concurrency or 0, 1) or (strict and keys[place][1] != one.id):
                full.append(one.id)
                continue
        if one.losses and (suspects <= 0 or (one.losses > 1 and suspects < most)):
            continue
        if len(chosen) < want and room.take(_names(one.org, one.queue), want=1):
            chosen.append(one.id)
            if one.losses:
                suspects = 0 if one.losses > 1 else suspects - 1
            if one.key is not None:
                running[(one.org, one.key)] += 1
    return chosen, full


def divide(lanes: Sequence[Lane], *, room: Room, want: int, turn: int) -> dict[Lane, int]:
    """Shares `want` between limited lanes, each no more than its limits leave.

    In rounds no larger than the tightest limit: lanes that share one then get their shares of it, where otherwise
    the first would take it all. A lane that got less than its share is full and leaves the round.
    """
    takes: dict[Lane, int] = {}
    lanes = list(lanes)
    while lanes and (left := want - sum(takes.values())) > 0:
        tightest = room.least(name for lane in lanes for name in _names(lane.org, lane.queue))
        wanted = fairness.shares([lane.weight for lane in lanes], want=min(left, tightest or left), turn=turn)
        full = set()
        for lane, share in zip(lanes, wanted, strict=True):
            got = room.take(_names(lane.org, lane.queue), want=share)
            if got:
                takes[lane] = takes.get(lane, 0) + got
            if got < share:
                full.add(lane)
        lanes = [lane for lane in lanes if lane not in full]
        turn += 1
    return takes


def _names(org: str, queue: str) -> list[str]:
    return [f"org {org}", f"queue {_EVERY} {queue}", f"queue {org} {queue}"]


def _key(candidate: Candidate) -> str:
    return f"key {candidate.org} {candidate.key}"


def _from(lanes: Iterable[Lane], marks: Marks) -> dict[str, list[object]]:
    """The marks of these lanes, as statements take them."""
    at = [marks.get(lane, START) for lane in lanes]
    return {
        "mark_urgency": [mark.urgency for mark in at],
        "mark_run_at": [mark.run_at for mark in at],
        "mark_id": [mark.id for mark in at],
    }


def _passed(lanes: Iterable[Lane], candidates: Sequence[Candidate], *, done: set[str]) -> Marks:
    """Each lane's last candidate before the first that stays where it is."""
    by_place = {lane.place: lane for lane in lanes}
    marks: Marks = {}
    for one in candidates:
        lane = by_place.get((one.lane, one.org))
        if lane is not None and one.id in done:
            marks[lane] = Mark(one.urgency, one.run_at, one.id)
        else:
            by_place.pop((one.lane, one.org), None)
    return marks


async def _candidates(
    tx: Tx, *, kinds: Sequence[str], lanes: Sequence[Lane], want: int, marks: Marks
) -> list[Candidate]:  # fmt: skip
    if not lanes:
        return []
    arguments = {
        "lanes": [lane.lane for lane in lanes],
        "orgs": [lane.org for lane in lanes],
        "kinds": kinds,
        **_from(lanes, marks),
        # more than wanted: some will turn out to be full
        "take": min(want * 2, _CANDIDATES),
    }
    return [Candidate(*row) for row in await tx.rows(SQL.special_candidates, arguments)]


def _counting(lanes: Sequence[Lane]) -> "tuple[Lean, dict[str, object]]":
    """What to ask to know how full the limits of these lanes are."""
    orgs, queues = {lane.org for lane in lanes}, {lane.queue for lane in lanes}
    return _COUNT, {"orgs": sorted(orgs), "names": sorted(queues)}


def _counted(limits: Sequence[Sequence[Any]]) -> tuple[Room, dict[tuple[str, str], float]]:
    """Free places under the limits, and the token buckets among them."""
    places: dict[str, int] = {}
    rates: dict[tuple[str, str], float] = {}
    for org, name, paused, maximum, tokens, running in limits:
        free = [0] if paused else []
        if maximum is not None:
            free.append(maximum - running)
        if tokens is not None:
            free.append(int(tokens))
            rates[(org, name)] = tokens
        if free:
            places[f"queue {org} {name}" if name is not None else f"org {org}"] = min(free)
    return Room(places), rates


async def _count_keys(tx: Tx, *, candidates: Sequence[Candidate]) -> dict[tuple[str, str], tuple[int, str]]:
    wanted = sorted({(one.org, one.key) for one in candidates if one.key is not None})
    if not wanted:
        return {}
    arguments = {"orgs": [org for org, _ in wanted], "keys": [key for _, key in wanted]}
    return {(org, key): (count, first) for org, key, count, first in await tx.rows(SQL.count_keys, arguments)}


async def _spend(tx: Tx, *, rates: Mapping[tuple[str, str], float], tasks: Sequence[Claimed]) -> None:
    if not rates or not tasks:
        return
    spent = dict.fromkeys(rates, 0)
    for task in tasks:
        for org in (task.org, _EVERY):
            if (org, task.queue) in spent:
                spent[(org, task.queue)] += 1
    if used := {bucket: count for bucket, count in spent.items() if count}:
        await tx.run(
            SQL.spend_tokens,
            {
                "orgs": [org for org, _ in used],
                "names": [name for _, name in used],
                "left_over": [rates[bucket] - count for bucket, count in used.items()],
            },
        )
