"""A folder that the embedded PostgreSQL can use even as root, where pytest's own are closed to it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="weft-cli-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)
