"""Who watches what on this server, and looking again when it changed: once for all who watch the same with the same rights.

    Feed ──changes──▶ Live: by table, by row ──▶ Watched: debounce ─▶ look, as the org ─▶ compare ─▶ every watcher's `show`
"""

import asyncio
import contextlib
import dataclasses
import hashlib
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol

from weft.access.principal import Principal
from weft.api import live_subjects
from weft.api.live_feed import Feed
from weft.api.live_subject import Reading, Subject
from weft.base import errors, json
from weft.base.background import Background
from weft.db.database import Database
from weft.db.notify import Hub
from weft.db.tx import Tx
from weft.journal import feed
from weft.journal.feed import Change
from weft.live import asking, protocol
from weft.live.asking import Ask, Scope
from weft.live.debounce import Debounce
from weft.live.turns import Turns
from weft.sdk.query import Queries

log = logging.getLogger("weft.live")

LOOKS = 4
"""Looks at a time; the others wait, so that the requests of this server have connections too."""
_AGAIN = 1.0
_PAGES = 10

Since = Literal["unchanged", "changed", "gap"]


class Watcher(Protocol):
    """Somebody who watches. Neither method may wait."""

    def show(self, data: bytes, *, cursor: int, gap: bool, replaces: bool) -> None: ...

    def fail(self, error: errors.WeftError) -> None:
        """Nothing more comes."""


@dataclasses.dataclass(eq=False)
class Place:
    """A watcher at what it watches."""

    watcher: Watcher
    after: int = 0
    wants: bool = True
    """It has been shown nothing yet. What others were shown before it came, it may not have seen."""
    gap: bool = False


class Watched:
    """One subject with its arguments, in one scope."""

    def __init__(self, subject: Subject, args: Any, *, scope: Scope) -> None:
        self.subject = subject
        self.args = args
        self.scope = scope
        self.places: set[Place] = set()
        self.joined = 0
        self.touched = asyncio.Event()
        self.debounce = Debounce()
        self.seen: bytes | None = None
        self.over = False
        self.row = subject.row(args) if subject.row is not None else None
        self.tasks: frozenset[uuid.UUID] = frozenset()
        """Rows of the queue on which it hangs too, as the last look found them."""

    def touch(self) -> None:
        self.debounce.touch(time.monotonic())
        self.touched.set()

    def hangs_on(self, change: Change) -> bool:
        if change.table_name not in self.subject.tables:
            return False
        return self.row is None or change.ids is None or self.row in change.ids


class Live:
    """One per server."""

    def __init__(self, database: Database, *, hub: Hub | None = None, queries: Queries | None = None) -> None:
        live_subjects.check()
        self.feed = Feed(database, hub=hub, tell=self._told)
        self.looks = 0
        """How often something was looked at, since the start."""
        self._database = database
        self._queries = queries
        self._turns = Turns(LOOKS)
        self._asked: set[str] = set()
        """Live queries whose tables were looked at."""
        self._watched: dict[bytes, Watched] = {}
        self._looking: dict[Watched, Background] = {}
        """Those that are watched, and those that are being left."""
        self._by_table: dict[str, set[Watched]] = defaultdict(set)
        self._by_row: dict[tuple[str, uuid.UUID], set[Watched]] = defaultdict(set)

    def subject(self, name: str) -> Subject:
        return live_subjects.find(name, self._queries)

    @contextlib.asynccontextmanager
    async def watching(
        self, watcher: Watcher, *, who: Principal, subject: Subject, args: dict[str, Any], cursor: int | None = None
    ) -> AsyncIterator[Since]:
        """Shows the watcher what there is, and what it becomes, while the block lasts. Within `feed.held()`.

        With a cursor: whether anything happened since; if not, it is shown with the next look, and none is made for it.
        """
        checked = subject.check(args)
        one = self._join(subject, checked, scope=Scope.of(who))
        place = Place(watcher, after=checked.after if subject.tail else 0)
        # from here on: what is looked at while we ask what happened is shown to it too
        one.places.add(place)
        try:
            since: Since = "changed"
            if cursor is not None and not subject.tail:
                since = await self._since(one, cursor)
                if since == "gap":
                    place.wants = place.gap = True
                elif not place.wants or not subject.can_be_unchanged:
                    since = "changed"
            if place.wants and since != "unchanged":
                # at once if nobody else is looking; together with others who come now
                one.touched.set()
            yield since
        finally:
            one.places.discard(place)
            await self._leave(one)

    def _join(self, subject: Subject, args: Any, *, scope: Scope) -> Watched:
        which = digest(subject, args, scope)
        one = self._watched.get(which)
        if one is None:
            one = self._watched[which] = Watched(subject, args, scope=scope)
            for table in subject.tables:
                self._by_table[table].add(one)
                if one.row is not None:
                    self._by_row[table, one.row].add(one)
            self._looking[one] = Background(self._watch(one), name=f"weft live {subject.name}")
        one.joined += 1
        return one

    async def _leave(self, one: Watched) -> None:
        one.joined -= 1
        if one.joined:
            return
        del self._watched[digest(one.subject, one.args, one.scope)]
        self._follow(one, frozenset())
        for table in one.subject.tables:
            _discard(self._by_table, table, one)
            if one.row is not None:
                _discard(self._by_row, (table, one.row), one)
        try:
            await self._looking[one].end()
        finally:
            del self._looking[one]

    async def close(self) -> None:
        """Ends all looking; when it returns, the database may be closed. Whoever still watches is told."""
        for one, looking in list(self._looking.items()):
            await looking.end()
            for place in one.places:
                place.watcher.fail(errors.Unavailable("the app that watched this was closed"))
        await self.feed.close()

    def _follow(self, one: Watched, tasks: frozenset[uuid.UUID]) -> None:
        for id in one.tasks - tasks:
            _discard(self._by_row, ("tasks", id), one)
        for id in tasks - one.tasks:
            self._by_row["tasks", id].add(one)
        one.tasks = tasks

    def _told(self, changes: Sequence[Change] | None) -> None:
        if changes is None:
            for one in self._watched.values():
                one.touch()
            return
        for change in changes:
            if change.ids is None:
                for one in self._by_table.get(change.table_name, ()):
                    one.touch()
                continue
            for one in self._by_table.get(change.table_name, ()):
                if one.row is None:
                    one.touch()
            for id in change.ids:
                for one in self._by_row.get((change.table_name, id), ()):
                    one.touch()

    async def _watch(self, one: Watched) -> None:
        """Looks whenever something was touched, as often as the debounce allows."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if one.over else one.subject.poll):
                    await one.touched.wait()
            while (pause := one.debounce.pause(time.monotonic())) > 0:
                await asyncio.sleep(pause)
            one.touched.clear()
            one.debounce.looking()
            try:
                await self._look(one)
            except (errors.Unavailable, errors.OutcomeUnknown) as error:
                log.warning("cannot look at %s now: %s", one.subject.name, error)
                await asyncio.sleep(_AGAIN)
                one.touched.set()
            except errors.WeftError as error:
                for place in list(one.places):
                    one.places.discard(place)
                    place.watcher.fail(error)

    async def _look(self, one: Watched) -> None:
        if not one.places:
            return
        position, began = self.feed.position, time.monotonic()
        after = min(place.after for place in one.places)
        async with self._turns.one(one.scope.org):
            self.looks += 1
            async with self._database.tx(org=one.scope.org) as tx:
                if one.subject.name not in self._asked:
                    self._asked.add(one.subject.name)
                    await _warn(tx, one.subject)
                reading = await one.subject.read(Ask(tx, one.scope, one.args, after))
        one.over = reading.over
        if one.joined:
            self._follow(one, reading.tasks)
        if one.subject.tail:
            _tell_lines(one, reading, after=after, cursor=position)
        else:
            _tell(one, reading, cursor=position)
        now = time.monotonic()
        one.debounce.looked(now, took=now - began)

    async def _since(self, one: Watched, cursor: int) -> Since:
        """Whether anything that this hangs on happened after a cursor."""
        after = cursor
        for _ in range(_PAGES):
            # the engine, because the feed is of all orgs; only whether it concerns us is told
            async with self._database.once() as tx:
                page = await feed.read(tx, after=after)
            if page.gap:
                return "gap"
            if any(one.hangs_on(change) for change in page.changes):
                return "changed"
            if len(page.changes) < 1000:
                return "unchanged"
            after = page.next
        return "changed"


def digest(subject: Subject, args: Any, scope: Scope) -> bytes:
    """The same for whoever is to be shown the same. Where a log begins is each reader's own."""
    plain = json.loads(json.dumps(args))
    if subject.tail:
        plain.pop("after", None)
    rights = [str(scope.org), scope.role, sorted(scope.scopes), sorted(scope.org_roles)]
    return hashlib.sha256(json.dumps([subject.name, sorted(plain.items()), rights])).digest()


def _tell(one: Watched, reading: Reading, *, cursor: int) -> None:
    data = json.dumps(reading.data)
    _must_fit(one, data)
    seen = hashlib.sha256(data).digest()
    changed, one.seen = seen != one.seen, seen
    for place in list(one.places):
        if changed or place.wants:
            place.watcher.show(data, cursor=cursor, gap=place.gap, replaces=True)
            place.wants = place.gap = False


def _tell_lines(one: Watched, reading: Reading, *, after: int, cursor: int) -> None:
    for place in list(one.places):
        lines = reading.data if place.after <= after else [line for line in reading.data if line.id > place.after]
        if lines or place.wants:
            place.watcher.show(json.dumps(lines), cursor=cursor, gap=False, replaces=False)
            place.after, place.wants = max(place.after, reading.last), False
    if reading.data and not reading.over:
        # there may be more than fit into one look
        one.touch()


async def _warn(tx: Tx, subject: Subject) -> None:
    """Whoever wrote a live query wants to know why it is shown once and never again."""
    for table in await asking.unreactive(tx, subject.tables) if subject.name.startswith(live_subjects.QUERY) else ():
        how = f"select weft.enable_reactivity('{table}')"
        log.warning("%s reads %s, of whose changes nobody is told; run: %s", subject.name, table, how)


def _must_fit(one: Watched, data: bytes) -> None:
    if len(data) > protocol.LARGEST_DATA:
        raise errors.TooLarge(
            f"{one.subject.name} is {len(data):,} bytes, more than the {protocol.LARGEST_DATA:,} that are shown; narrow it"
        )


def _discard(index: dict[Any, set[Watched]], key: Any, one: Watched) -> None:
    index[key].discard(one)
    if not index[key]:
        del index[key]
