"""What runs hear while they are under way here: signals, and that somebody wants them to stop. And what others hear of them:
which steps take long. One that does not is never told of before it is over, for that would be a write for each."""

import asyncio
import logging
import time
from collections.abc import Mapping

from weft.base import errors
from weft.db.database import Database
from weft.flows import workflows
from weft.flows.workflows import Message
from weft.worker.live import Live

log = logging.getLogger("weft.worker")

_LOOK = 0.5
"""Seconds between two looks."""


async def look(database: Database, lives: Mapping[str, Live], *, node_id: str) -> None:
    """While runs are under way: what was sent to them."""
    while lives:
        await asyncio.sleep(_LOOK)
        long = [id for id, live in lives.items() if time.monotonic() - live.began > _LOOK]
        if not long:
            continue
        looked = [(live, live.look()) for live in [lives[id] for id in long]]
        news = {live.task.id: (live, said) for live, said in looked if said != live.shown}
        try:
            async with database.tx() as tx:
                if news:
                    asked = [(id, live.task.token, said) for id, (live, said) in news.items()]
                    for live, said in [news[id] for id in await workflows.show(tx, asked)]:
                        live.shown = said
                told = await workflows.told(tx, node_id, long)
                found = await workflows.messages(tx, told) if told else {}
        except errors.WeftError as error:
            log.warning("cannot look for messages to runs: %s", error)
            continue
        for id, messages in found.items():
            heard = lives.get(id)
            if heard is not None and messages[-1] not in heard.messages:
                _tell(heard, messages)


def _tell(live: Live, messages: list[Message]) -> None:
    live.messages = messages
    live.told.set()
    if live.undoing:
        return  # it ends already: cut off, it would not know what of that is done
    if not live.running and live.runner is not None and (live.asked("cancel") or live.asked("pause")):
        live.stopping = True
        live.runner.cancel()
