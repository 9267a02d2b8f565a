"""`connect(url)`: seed 000's DataServices over a PostgreSQL that has Weft's schema."""

import uuid
from types import TracebackType
from typing import Self

from weft.base import config, ids
from weft.services.cluster import Locks, Servers
from weft.services.definitions import Flows, Workflows
from weft.services.link import Link
from weft.services.runs import Logs, Runners, Steps
from weft.services.work import Events, Tasks


class Services:
    """All DAOs of one org. Close it, or use it as a context manager."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.flow = Flows(link)
        self.workflow = Workflows(link)
        self.runner = Runners(link)
        self.step = Steps(link)
        self.event = Events(link)
        self.task = Tasks(link)
        self.log = Logs(link)
        self.server = Servers(link)
        self.locks = Locks(link)

    def close(self) -> None:
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def connect(url: str | None = None, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Services:
    """The services on a database, or on that of the settings; connects with the first call."""
    return Services(Link(config.load(database_url=url), org=org))
