"""schemathesis on AIOpsLab's OpenAPI document, against a real port: no finding; once alone, once beside Weft's own."""

import os
import re
from pathlib import Path

import lab as labs
import pytest
from lab import Lab

from fuzzing import fuzz
from weft.api import server, serving
from weft.contrib.aiopslab.application import APPLICATION, OPERATIONS
from weft.contrib.aiopslab.speech import AIOPSLAB
from weft.db.database import Database

CONFIG = Path(__file__).parent / "schemathesis.toml"
WORK = r"/workers/(register|heartbeat|\{worker\}/)"
# role, below the prefix, what, least operations
RUNS = {
    "by the document": ("admin", False, ["--exclude-path-regex", WORK, "--phases", "examples,coverage"], 12),
    "by a fixed seed": ("admin", True, ["--exclude-path-regex", WORK, "--phases", "fuzzing", "--seed", "4711"], 12),
    "workers, by the document": ("worker", False, ["--include-path-regex", WORK, "--phases", "examples,coverage"], 6),
    "workers, by a fixed seed": (
        "worker", False, ["--include-path-regex", WORK, "--phases", "fuzzing", "--seed", "4711"], 6,
    ),
}


ALWAYS = ("by the document", "workers, by a fixed seed")
"""The others with WEFT_AIOPSLAB_FULL=1."""


@pytest.mark.parametrize("what", RUNS if os.environ.get("WEFT_AIOPSLAB_FULL") else ALWAYS)
async def test_the_api_keeps_what_its_document_promises(database: Database, what: str) -> None:
    role, mounted, selection, least = RUNS[what]
    if mounted:
        app = server.build(database, applications=[APPLICATION])
    else:
        app = server.build(database, operations=OPERATIONS, dialect=AIOPSLAB)
    async with labs.client(database) as client:
        lab = Lab(database, client)
        await lab.submit()
        await lab.claim(await lab.register())
        await labs.with_keys(lab)
    listener = serving.listen("127.0.0.1", 0)
    async with serving.serving(app, listener=listener):
        url = serving.address(listener) + (APPLICATION.prefix if mounted else "")
        code, said = await fuzz(f"{url}/openapi.json", config=CONFIG, key=lab.keys[role], selection=selection)
    assert code == 0, said[-6000:]
    tested = re.search(r"Tested: (\d+)", said)
    assert tested and int(tested[1]) >= least, said
