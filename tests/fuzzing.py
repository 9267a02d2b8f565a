"""schemathesis on an OpenAPI document that is being served. What it cannot know is in `api/fuzz_hooks.py`."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_HOOKS = Path(__file__).parent / "api"
_PATIENCE = 230


async def fuzz(
    document: str, *, config: Path, key: str, selection: Sequence[str], canaries: Sequence[str] = ()
) -> tuple[int, str]:
    """Answers its exit code and what it said. `canaries` are words of others, which no answer may hold."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(config), "run", document,
        "--header", f"Authorization: Bearer {key}", "--max-examples", "5", "--no-color", "--continue-on-failure",
        "--generation-database", "none", *selection,
        env={
            **os.environ, "SCHEMATHESIS_HOOKS": "fuzz_hooks", "PYTHONPATH": str(_HOOKS), "WEFT_CANARIES": " ".join(canaries)
        },
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_PATIENCE):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode()
