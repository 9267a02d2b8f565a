"""How long this process has lived, the start of Python included."""

import os
import time
from pathlib import Path

_IMPORTED = time.monotonic()


def ago() -> float:
    """Seconds since the process was started; where the system does not say, since this module was imported."""
    try:
        # after the name, which is in parentheses and may hold anything
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED


def made_ago() -> float | None:
    """Seconds since `make dev` began, if that started this."""
    text = os.environ.get("WEFT_MADE_AT", "")
    return time.time() - int(text) if text.isascii() and text.isdecimal() else None
