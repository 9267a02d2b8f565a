"""Where tests keep what they make: in memory, where there is plenty of it. A database per test is mostly writing."""

import os
import shutil
import tempfile
from pathlib import Path

PLENTY = 8 << 30


def settle_in() -> None:
    """Unless somebody has said where. Processes that tests start inherit it."""
    memory = Path("/dev/shm")
    if "TMPDIR" not in os.environ and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > PLENTY:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)
