"""What a worker remembers of runs that it has parked, so that their next wake-up reads only what is new.

A memory is a hint. It is believed only if nobody else can have had the run meanwhile and nobody begun it again: the attempt
is the very next one (whoever goes on with a run has claimed its task, which counts), and the run is in the same life
(`workflows.Loaded.life`: continue-as-new, retry and skip begin another, and so does a database that was restarted or
restored). Else it is dropped, and all is read. Only what was committed is remembered: whether the transaction that
parked the run went through need not be known. Bounded; what was not used for longest goes first.
"""

from collections import OrderedDict
from typing import NamedTuple

from weft.flows.workflows import Known
from weft.sdk.operation import Record
from weft.worker.live import Live

RUNS = 2000
SIZE = 16 << 20
"""Bytes, roughly."""
_RECORD = 600
"""What a record costs beside its texts."""


class Memory(NamedTuple):
    """A run as it was parked."""

    attempt: int
    place: Known
    history: list[Record]
    size: int


class Remembered:
    """Runs by their ids."""

    def __init__(self, *, runs: int = RUNS, size: int = SIZE) -> None:
        self._most, self._largest = runs, size
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._memories)

    def keep(self, live: Live) -> None:
        """This run is about to be parked."""
        history = live.saved()
        size = sum([_RECORD + len(one.output or "") + len(one.undo or "") for one in history])
        if not history or size > self._largest // 4:
            return
        self._drop(live.task.id)
        place = Known(live.life, max([one.number for one in history]))
        self._memories[live.task.id] = Memory(live.task.attempt, place, history, size)
        self.size += size
        while len(self._memories) > self._most or self.size > self._largest:
            self._drop(next(iter(self._memories)))

    def take(self, run: str, *, attempt: int) -> Memory | None:
        """What is known of a run, if this is the attempt after the one that parked it. It is handed over, not kept."""
        memory = self._drop(run)
        return memory if memory is not None and memory.attempt + 1 == attempt else None

    def _drop(self, run: str) -> Memory | None:
        memory = self._memories.pop(run, None)
        if memory is not None:
            self.size -= memory.size
        return memory
