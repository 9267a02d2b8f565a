"""schemathesis on the OpenAPI document, against a real server on a real port with a real database: no finding.

It derives thousands of requests from the document, valid and broken on purpose, and checks statuses, headers, bodies
and authentication against what the document says. `schemathesis.toml` says what it cannot know. There are three orgs, full
of words that must not cross; their keys share the work: one has what follows from the document alone, two what seeds make:
a fixed one for two requests of each operation and what links lead to, more of it in `make chaos`, and a new one each time
(a finding prints it).
"""

import dataclasses
import re
from pathlib import Path

import pytest
import walls

from fuzzing import fuzz
from weft.access import keyring, keys
from weft.access.keys import KeyRole
from weft.api import server, serving
from weft.db.database import Database

CONFIG = Path(__file__).parent / "schemathesis.toml"
WORK = r"^/(v1/task/|internal/)"
KEYS = r"^/v1/keys/"

# the document in parts: all of it at once takes minutes, and on a busy machine too many
AREAS = {
    "tasks and jobs": r"^/v1/(tasks|dead|queues|nodes|jobs|cron|dags|dag-runs)\b",
}
# revoking keys comes by itself: the fuzzer would find its own
EVERYTHING = ["--exclude-path-regex", f"{WORK}|{KEYS}"]
# links are followed with what was made before
LINKS = ["--phases", "fuzzing,stateful", "--max-examples", "2", "--seed", "4712"]
PARTS = {
    **{name: ["--include-path-regex", area] for name, area in AREAS.items()},
    "the rest": ["--exclude-path-regex", "|".join([WORK, KEYS, *AREAS.values()])],
}

# org, role, what, least operations
RUNS: dict[str, tuple[int, KeyRole, list[str], int]] = {
    **{
        f"{name}, by the document": (0, "admin", [*part, "--phases", "examples,coverage"], 10)
        for name, part in PARTS.items()
    },
    **{
        f"{name}, by a fixed seed": (1, "admin", [*part, "--phases", "fuzzing", "--seed", "4711"], 10)
        for name, part in PARTS.items()
    },
    "everything, link by link": (2, "admin", [*EVERYTHING, *LINKS], 40),
    "everything, by a new seed": (2, "admin", [*EVERYTHING, "--phases", "fuzzing,stateful"], 40),
    "orgs": (0, "operator", ["--include-path-regex", "^/v1/orgs"], 4),
    "revoking keys": (1, "admin", ["--include-path-regex", KEYS], 1),
    "the worker protocol": (2, "worker", ["--include-path-regex", WORK], 6),
}


# in `make chaos`: `make test` must be able to pass twice, and soon
MORE = ("by a new seed", "by a fixed seed")


@pytest.mark.parametrize(
    "what", [pytest.param(one, marks=pytest.mark.long) if one.endswith(MORE) else one for one in RUNS]
)
async def test_the_api_keeps_what_its_document_promises(database: Database, what: str) -> None:
    which, role, selection, least = RUNS[what]
    database.settings = dataclasses.replace(database.settings, secret_key=keyring.generate())
    app = server.build(database)
    planted = [await walls.plant(database, slug, app=app) for slug in ("one", "two", "three")]
    mine = planted.pop(which)
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=mine.org, name="fuzzer", role=role, actor="test")
    # an operator sees what orgs are called
    others = [canary for one in planted for canary in (one.canaries[2:] if role == "operator" else one.canaries)]
    before = [await walls.everything_of(database, one.org) for one in planted]
    listener = serving.listen("127.0.0.1", 0)
    async with serving.serving(app, listener=listener):
        code, said = await fuzz(
            f"{serving.address(listener)}/v1/openapi.json", config=CONFIG, key=key, selection=selection, canaries=others
        )
    assert code == 0, said[-6000:]
    tested = re.search(r"Tested: (\d+)", said)
    assert tested and int(tested[1]) >= least, said
    if role != "operator":
        assert [await walls.everything_of(database, one.org) for one in planted] == before


async def test_a_word_of_another_org_would_be_found(database: Database) -> None:
    """So that the runs above are known to look."""
    database.settings = dataclasses.replace(database.settings, secret_key=keyring.generate())
    planted = await walls.plant(database, "one", app=server.build(database))
    listener = serving.listen("127.0.0.1", 0)
    selection = ["--include-path", "/v1/keys", "--include-method", "GET", "--phases", "examples", "--max-failures", "1"]
    async with serving.serving(server.build(database), listener=listener):
        code, said = await fuzz(
            f"{serving.address(listener)}/v1/openapi.json", config=CONFIG, key=planted.keys["admin"], selection=selection,
            canaries=planted.canaries,
        )
    assert code == 1 and "which is another org's" in said, said[-3000:]
