"""Every recipe does what it says, as far as what it needs is installed; and parses where it is not."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import blocks

RECIPES = sorted((Path(__file__).parent.parent / "docs" / "recipes").glob("*.md"))
FASTAPI = """
import asyncio
from weft.client.client import Client
from weft.testing import inline
from web import lifespan, web, work

async def main():
    async with lifespan(web), Client("http://web.test", transport=web) as client:
        made = await client.post("/greetings", query={"name": "Ada"})
        again = await client.post("/greetings", query={"name": "Ada"})
        assert made == again
        assert (await client.get("/greetings/" + made["id"]))["state"] == "queued"
        await inline.run_pending(work)
        print(await client.get("/greetings/" + made["id"]))

asyncio.run(main())
"""
DJANGO = """
import asyncio
import os
import django
from django.conf import settings
from psycopg import conninfo

found = conninfo.conninfo_to_dict(os.environ["DATABASE_URL"])
names = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
database = {"ENGINE": "django.db.backends.postgresql", **{name: found.get(key, "") for name, key in names.items()}}
settings.configure(DATABASES={"default": database})
django.setup()
from django.db import connection, transaction
import work
from weft.testing import inline

with connection.cursor() as cursor:
    cursor.execute("create table orders (customer text)")
id = work.place_order("ada")
try:
    with transaction.atomic():
        lost = work.enqueue("send_email", {"to": "nobody"})
        raise KeyError
except KeyError:
    pass
import tasks

async def main():
    async with tasks.app:
        await inline.run_pending(tasks.app)
        print(await tasks.app.result(id, timeout=10), await tasks.app.cancel(lost))

asyncio.run(main())
"""
NEEDS = {"django": (DJANGO, "sent to ada unknown"), "fastapi": (FASTAPI, "'state': 'completed', 'result': 'Hello, Ada!'")}
"""What a recipe is driven with whose package is no part of Weft's own tests, and what that says."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """As root, pytest's own folders are closed to the account the server runs under."""
    made = Path(tempfile.mkdtemp(prefix="weft-recipe-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_the_recipes_are_these() -> None:
    known = ["django", "exactly-once", "fan-out", "fastapi", "periodic", "sqlalchemy", "workflows"]
    assert [page.stem for page in RECIPES] == known


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_the_recipe_works(page: Path, folder: Path, database_url: str) -> None:
    programs = [block for block in blocks.read(page) if block.kind == "python"]
    assert programs
    for one in programs:
        ast.parse(one.text)
    if page.stem not in NEEDS:
        assert blocks.Reader(folder).follow(page) >= 3
        return
    if importlib.util.find_spec(page.stem) is None:
        pytest.skip(f"{page.stem} is not installed: its recipe is parsed, not run")
    program, says = NEEDS[page.stem]
    for one in programs:
        (folder / one.name).write_text(one.text)
    (folder / "drive.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "drive.py"], cwd=folder, env={**os.environ, "DATABASE_URL": database_url}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert says in done.stdout, done.stderr
