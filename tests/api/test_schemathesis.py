"""schemathesis on the OpenAPI document, against a real server on a real port with a real database: no finding.

It derives thousands of requests from the document, valid and broken on purpose, and checks statuses, headers, bodies
and authentication against what the document says. `schemathesis.toml` says what it cannot know.
"""

import asyncio
import dataclasses
import os
import re
import sys
from pathlib import Path

import pytest

from weft.access import keyring, keys
from weft.access.keys import KeyRole
from weft.api import server, serving
from weft.base import ids
from weft.db.database import Database

HERE = Path(__file__).parent
WORK = r"^/(v1/task/|internal/)"
KEYS = r"^/v1/keys/"

RUNS = {
    # revoking keys comes by itself: the fuzzer would find its own
    "everything": ("admin", ["--exclude-path-regex", f"{WORK}|{KEYS}"], 25),
    "revoking keys": ("admin", ["--include-path-regex", KEYS], 1),
    "the worker protocol": ("worker", ["--include-path-regex", WORK], 6),
}


@pytest.mark.parametrize("what", RUNS)
async def test_the_api_keeps_what_its_document_promises(database: Database, what: str) -> None:
    role, selection, least = RUNS[what]
    database.settings = dataclasses.replace(database.settings, secret_key=keyring.generate())
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="fuzzer", role=_role(role), actor="test")
    listener = serving.listen("127.0.0.1", 0)
    async with serving.serving(server.build(database), listener=listener):
        code, said = await fuzz(serving.address(listener), key=key, selection=selection)
    assert code == 0, said[-6000:]
    tested = re.search(r"Tested: (\d+)", said)
    assert tested and int(tested[1]) >= least, said


async def fuzz(url: str, *, key: str, selection: list[str]) -> tuple[int, str]:
    """Runs schemathesis; answers its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml"), "run",
        f"{url}/v1/openapi.json", "--header", f"Authorization: Bearer {key}", "--max-examples", "5", "--no-color",
        "--continue-on-failure", "--generation-database", "none", *selection,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "fuzz_hooks", "PYTHONPATH": str(HERE)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(240):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode()


def _role(name: str) -> KeyRole:
    return "worker" if name == "worker" else "admin"
