"""The application: its operations, the prefix they are served under, and its words."""

from weft.api.dialect import Application
from weft.contrib.aiopslab import server_routes, task_routes, worker_routes
from weft.contrib.aiopslab.speech import AIOPSLAB

PREFIX = "/aiopslab"

OPERATIONS = (*task_routes.OPERATIONS, *worker_routes.OPERATIONS, *server_routes.OPERATIONS)

APPLICATION = Application(prefix=PREFIX, operations=OPERATIONS, dialect=AIOPSLAB)
