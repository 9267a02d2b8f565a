"""What is happening on a server: its newest tasks, and what waits in each queue. Everything is asked over the API."""

import dataclasses
from collections import Counter
from typing import Any

from weft.base import errors
from weft.client import client as clients
from weft.client.client import Client

Task = dict[str, Any]
Stage = tuple[str, int, int | None]
"""State, attempt, progress."""

_KEPT = 30
_KEPT_OF_A_KIND = 5
_NEWEST = 100
_READ_AT_MOST = 40
_ENDED = frozenset({"completed", "failed", "timed_out", "cancelled"})


@dataclasses.dataclass
class Following:
    """Reads on with each `refresh`; `changed` is what the last one brought, oldest first."""

    client: Client
    recent: dict[str, Task] = dataclasses.field(default_factory=dict)
    """The newest tasks by id, the one that changed last at the end."""
    queues: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    changed: list[Task] = dataclasses.field(default_factory=list)
    finished: int = 0
    """Tasks seen to end."""
    _known: dict[str, Stage] | None = None
    """How each of the newest was the last time."""

    async def refresh(self) -> None:
        page = await self.client.get("/v1/tasks", query={"limit": _NEWEST})
        listed: dict[str, Stage] = {one["id"]: _stage(one) for one in reversed(page["items"])}
        before = listed if self._known is None else self._known
        news = [id for id, stage in listed.items() if before.get(id) != stage]
        # those that newer ones pushed off the page before they ended
        news += [id for id, one in self.recent.items() if one["state"] not in _ENDED and id not in listed]
        self._known = listed | {id: _stage(one) for id, one in self.recent.items() if id not in listed}
        self.changed = []
        for id in news[-_READ_AT_MOST:]:
            await self._read(id, before=before.get(id))
        self._forget()
        self.queues = (await self.client.get("/v1/queues"))["items"]

    async def _read(self, id: str, *, before: Stage | None) -> None:
        """The whole task: lists leave out what may be large, such as results."""
        try:
            task = await self.client.get(clients.path("/v1/tasks/{}", id))
        except errors.NotFound:
            self.recent.pop(id, None)
            return
        stage = _stage(task)
        if before is None or before[:2] != stage[:2]:
            self.changed.append(task)
            self.finished += task["state"] in _ENDED
            # to the end: it changed last
            self.recent.pop(id, None)
        self.recent[id] = task

    def _forget(self) -> None:
        """Keeps the newest, and of each kind a few: a burst must not push everything else out of sight."""
        kept: Counter[str] = Counter()
        for id, task in reversed(list(self.recent.items())):
            if kept[task["kind"]] >= _KEPT_OF_A_KIND or kept.total() >= _KEPT:
                del self.recent[id]
            else:
                kept[task["kind"]] += 1


def _stage(task: Task) -> Stage:
    return task["state"], task["attempt"], task["progress"]
