"""For a process whose wall clock cannot be trusted: it jumps by hours, back and forth, many times a second.

Python reads this file at its start, because its folder is on PYTHONPATH. The clock of intervals (`time.monotonic`) is left
alone: so does everybody who sets the time of a machine.
"""

import datetime
import random
import time

_real = time.time
_Real = datetime.datetime


def _shift() -> float:
    return random.Random(int(time.monotonic() * 20)).choice((-86400.0, -3600.0, -61.0, 0.0, 61.0, 3600.0, 86400.0))


class _Jumping(_Real):
    @classmethod
    def now(cls, tz=None):  # type: ignore[no-untyped-def]
        return _Real.now(tz) + datetime.timedelta(seconds=_shift())


time.time = lambda: _real() + _shift()
datetime.datetime = _Jumping  # type: ignore[misc]
