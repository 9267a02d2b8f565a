"""The fixtures as somebody uses them who has installed Weft: in a folder of theirs, with a pytest of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SHOP = """
from weft import App

app = App()
shipped: list[str] = []


@app.step
async def ship(order: str) -> str:
    shipped.append(order)
    return f"shipped {order}"


@app.workflow
async def checkout(order: str) -> str:
    await app.sleep("2d")
    return await ship(order)
"""
TESTS = """
from datetime import timedelta

from shop import checkout, shipped
from weft.testing.crashes import crash_everywhere


async def test_two_days_pass_at_once(weft_app, weft_clock, weft_run):
    run = await weft_app.start(checkout, "o-1", key="o-1")
    await weft_run()
    assert (await weft_app.runs.get(run.id)).state == "waiting" and shipped == []
    await weft_clock.advance(timedelta(days=2, seconds=1))
    await weft_run()
    assert await weft_app.runs.result(run.id) == "shipped o-1"


async def test_each_test_has_a_database_of_its_own(weft_app):
    assert (await weft_app.start(checkout, "o-1", key="o-1")).created


async def test_it_survives_every_crash(weft_app):
    assert (await crash_everywhere(weft_app, checkout, "o-2")).came.output == "shipped o-2"
"""
SETTINGS = """
[tool.pytest.ini_options]
asyncio_mode = "auto"
pythonpath = ["."]
weft_app = "shop:app"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """As root, pytest's own folders are closed to the account the server runs under."""
    made = Path(tempfile.mkdtemp(prefix="weft-plugin-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_the_fixtures_are_there_with_nothing_imported(folder: Path, server_url: str) -> None:
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text(SETTINGS)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "DATABASE_URL", "WEFT_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "weft.testing.plugin", "-p", "no:weft"], cwd=folder, capture_output=True,
        text=True, timeout=220, env={**env, "WEFT_TEST_SERVER": server_url},
    )  # fmt: skip
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]
