"""schemathesis on the OpenAPI document, against a real server on a real port with a real database: no finding.

It derives thousands of requests from the document, valid and broken on purpose, and checks statuses, headers, bodies
and authentication against what the document says. `schemathesis.toml` says what it cannot know. There are three orgs, full
of words that must not cross; their keys share the work. What follows from the document alone is asked in `make test`; in
`make chaos` also what seeds make: a fixed one, also for what links lead to, and a new one each time (a finding prints it).
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
DOCUMENT = ["--phases", "examples,coverage"]
# links are followed with what was made before
LINKS = ["--phases", "fuzzing,stateful", "--max-examples", "2", "--seed", "4712"]
PARTS = {
    **{name: ["--include-path-regex", area] for name, area in AREAS.items()},
    "the rest": ["--exclude-path-regex", "|".join([WORK, KEYS, *AREAS.values()])],
}

# what has a key of its own: name, org, role, paths, least operations
OWN: list[tuple[str, int, KeyRole, str, int]] = [
    ("orgs", 0, "operator", "^/v1/orgs", 4), ("revoking keys", 1, "admin", KEYS, 1),
    ("the worker protocol", 2, "worker", WORK, 6),
]  # fmt: skip

# org, role, what, least operations
RUNS: dict[str, tuple[int, KeyRole, list[str], int]] = {
    **{
        f"{name}, by the document": (0, "admin", [*part, *DOCUMENT], 10) for name, part in PARTS.items()
    },
    **{
        f"{name}, by a fixed seed": (1, "admin", [*part, "--phases", "fuzzing", "--seed", "4711"], 10)
        for name, part in PARTS.items()
    },
    "everything, link by link, by a fixed seed": (2, "admin", [*EVERYTHING, *LINKS], 40),
    "everything, by a new seed": (2, "admin", [*EVERYTHING, "--phases", "fuzzing,stateful"], 40),
    **{
        f"{name}, {how}": (which, role, ["--include-path-regex", part, *phases], least)
        for name, which, role, part, least in OWN
        for how, phases in (("by the document", DOCUMENT), ("by a new seed", ["--phases", "fuzzing,stateful"]))
    },
}


# in `make chaos`: `make test` must come to the same each time, and soon
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
