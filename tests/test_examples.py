"""Every example runs as it is, on a PostgreSQL of their own, and says what it should."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.db import embedded

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "access": ["('auth0|5f7c', 'writer', ['finance'])", "key:dashboard is a reader of example", "/v1/keys FORBIDDEN"],
    "aiopslab": ["completed", "'submitted': 'geo'", "kubectl get pods: geo-7c9f: CrashLoopBackOff"],
    "batches": ["a call with several rows", "stored ada", "failed: no name", "stored grace"],
    "dag": ["in 'load': the warehouse is away", "again: ['load']", "{'result': 14}", "square completed [1, 4, 9]"],
    "checkout": ["o-1: ['hat shipped', 'coat shipped']", "refunded payment of 700", "o-2: compensated because not approved"],
    "flows": [
        "hello: {'message': 'Hello, Ada'}", "['Atlantis: there is no Atlantis in de']", "'pages': 2", "deployed 1.2",
        "'note': '2 results'", "etl: {'rows': [1, 1]", "'variants': 2000", "'state': 'declined'", "NY, 2000 to 2020",
        "'alert for oven'", "'winner': ", "'s3://safe/wiki.sql'",
    ],
    "from_sync_code": ["the same task: True created: False", "5"],
    "hello": ["sent to ada@example.com", "info sending {'to': 'ada@example.com'}"],
    "live": ["Oslo has 0", "Oslo has 1", "Oslo has 2"],
    "ordered": ["a0 a1 a2 a3 a4", "b0 b1 b2 b3 b4"],
    "plain_sql": ["Hello, SQL!"],
    "progress": [" %: at ", "cancelling", "cancelled: cancelled"],
    "retries": ["flaky → worked on attempt 3", "polite → waited as asked", "no retry will help", "somebody else did it"],
    "scheduled": ["tidy fires next at", "remember, Ada → COMPLETED", "older than 7 days"],
    "transaction": ["is on its way", "rolled back: unknown"],
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """As root, pytest's own folders are closed to the account the server runs under."""
    made = Path(tempfile.mkdtemp(prefix="weft-examples-"))
    made.chmod(0o755)
    # held, so that it does not end with each of them; alone they are in docs/recipes and in the tutorial
    with embedded.start(made / ".weft"):
        yield made
    shutil.rmtree(made, ignore_errors=True)


def run(path: Path, *, folder: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "WEFT_DATABASE_URL")}
    done = subprocess.run(
        [sys.executable, str(path)], env={**env, "WEFT_FOLDER": str(folder / ".weft")}, cwd=folder, timeout=60,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path: Path, folder: Path) -> None:
    said = run(path, folder=folder)
    for words in SAYS[path.stem]:
        assert words in said


def test_every_example_is_told_of() -> None:
    assert {path.stem for path in EXAMPLES} == set(SAYS)
    guide = (ROOT / "docs" / "start.md").read_text()
    for path in EXAMPLES:
        assert f"examples/{path.name}" in guide
