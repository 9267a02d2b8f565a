"""`weft …` on one database: in process, or against a real server process, with the same answers."""

import contextlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import cli_process

HERE = Path(__file__).parent
NOWHERE = "/nonexistent/weft-tests"
"""No profiles of whoever runs the tests."""


class Shell:
    """Commands with the same environment."""

    def __init__(self, **env: str | None) -> None:
        self.env: dict[str, str | None] = {"XDG_CONFIG_HOME": NOWHERE, "WEFT_SERVER": None, "WEFT_KEY": None, **env}

    async def __call__(self, *arguments: str, stdin: bytes | None = None) -> tuple[int, str]:
        return await cli_process.run(*arguments, env=self.env, cwd=HERE, stdin=stdin)

    async def json(self, *arguments: str, stdin: bytes | None = None) -> Any:
        code, said = await self(*arguments, "--json", stdin=stdin)
        assert code == 0, said
        try:
            return json.loads(said)
        except ValueError:
            raise AssertionError(f"not JSON alone:\n{said}") from None


@contextlib.asynccontextmanager
async def served(url: str, *, role: str = "admin") -> AsyncIterator[Shell]:
    """A real server process on a database, and a shell that knows only its address and a key."""
    local = Shell(DATABASE_URL=url)
    key = (await local.json("key", "create", f"tests {role}", "--role", role))["key"]
    async with cli_process.weft("server", "--port", "0", env={"DATABASE_URL": url}) as program:
        await program.says("ready at http")
        found = re.search(r"ready at (http://\S+?);", program.said)
        assert found, program.said
        yield Shell(WEFT_SERVER=found[1], WEFT_KEY=key)
