"""AFL: every program of examples/afl is saved and run, with the agents of examples/afl/agents.py."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from weft.access import keyring, secrets
from weft.base import ids

FOLDER = Path(__file__).parent / "afl"
sys.path.append(str(FOLDER))
from agents import app  # noqa: E402

RUNS: list[tuple[str, str, dict[str, Any]]] = [
    ("hello", "SayHello", {"name": "Ada"}),
    ("geocoding", "LocateAll", {"addresses": ["Ulm", "Atlantis"]}),
    ("documents", "Digest", {"url": "https://example.com/report.pdf"}),
    ("pipeline", "Ship", {"repo": "shop"}),
    ("tools", "Ask", {"question": "What is it? "}),
    ("etl", "Copy", {"sources": ["a", "b"], "target": "warehouse"}),
    ("genomics", "Study", {"samples": ["s1", "s2"]}),
    ("approvals", "Order", {"id": "o-1", "amount": 12.5, "card": "stolen", "mail": "ada@example.com"}),
    ("census", "History", {"state": "NY"}),
    ("monitoring", "Watch", {"sensors": ["oven", "fridge"]}),
    ("debate", "Debate", {"topic": "tabs or spaces"}),
    ("backups", "Backup", {"databases": ["shop", "wiki"], "bucket": "safe", "who": "ops"}),
]


async def main() -> None:
    async with app:
        async with app.tx() as tx:  # from the shell: weft secret set GIT_TOKEN
            ring = keyring.load(app.settings, create=True)
            await secrets.put(tx, ring, org=ids.DEFAULT_ORG, name="GIT_TOKEN", value="a token of git", actor="example")
        async with app.worker():
            runs = {}
            for file, workflow, params in RUNS:
                await app.flows.save(FOLDER / f"{file}.afl")
                runs[file] = await app.flows.start(file, workflow, params)
            for file, run in runs.items():
                print(f"{file}: {await app.runs.result(run.id, timeout=60)}")


asyncio.run(main())
