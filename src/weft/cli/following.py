"""What is happening in a database: the newest tasks, as the change feed names them, and what waits in each queue."""

import dataclasses
import uuid
from collections import Counter

from weft.app import App
from weft.base import errors, ids
from weft.journal import feed
from weft.queue import tasks
from weft.queue.model import TaskView
from weft.queue.tasks import QueueStats

_KEPT = 30
_KEPT_OF_A_KIND = 5
_READ_AT_MOST = 40


@dataclasses.dataclass
class Following:
    """Reads on with each `refresh`; `changed` is what the last one brought, oldest first."""

    app: App
    recent: dict[uuid.UUID, TaskView] = dataclasses.field(default_factory=dict)
    """The newest tasks, the one that changed last at the end."""
    queues: list[QueueStats] = dataclasses.field(default_factory=list)
    changed: list[TaskView] = dataclasses.field(default_factory=list)
    _position: int | None = None

    async def refresh(self) -> None:
        wanted = await self._ids()
        # their progress is no change of the feed
        running = [id for id, one in self.recent.items() if one.state == "running" and id not in wanted]
        self.changed = []
        for id in [*running, *wanted]:
            try:
                seen = await self.app.get(id)
            except errors.NotFound:
                continue  # of another org
            before = self.recent.pop(id, None) if id in wanted else self.recent.get(id)
            self.recent[id] = seen
            if before is None or _stage(before) != _stage(seen):
                self.changed.append(seen)
        self._forget()
        async with self.app.tx() as tx:
            self.queues = await tasks.stats(tx, org=ids.DEFAULT_ORG)

    def _forget(self) -> None:
        """Keeps the newest, and of each kind a few: a burst must not push everything else out of sight."""
        kept: Counter[str] = Counter()
        for id, task in reversed(list(self.recent.items())):
            if kept[task.kind] >= _KEPT_OF_A_KIND or kept.total() >= _KEPT:
                del self.recent[id]
            else:
                kept[task.kind] += 1

    async def _ids(self) -> list[uuid.UUID]:
        """Tasks the feed named since the last time, newest last, and not more than anybody could read."""
        async with self.app.tx() as tx:
            page = await feed.read(tx, after=self._position or 0)
        if self._position is None:
            # only what comes from now on
            self._position = page.newest
            return []
        self._position = page.next if page.changes else self._position
        changes = [change for change in page.changes if change.table_name == "tasks"]
        # a statement that changed very many names none of them
        named = list(dict.fromkeys(id for change in changes for id in change.ids or ()))
        return named[-_READ_AT_MOST:]


def _stage(task: TaskView) -> tuple[str, int]:
    return task.state, task.attempt
