"""Flows in tests: compile a source, start one of its workflows."""

import uuid
from pathlib import Path
from typing import Any

from weft import App
from weft.afl import compiling
from weft.afl.source import Source
from weft.base import ids
from weft.flows import look, start
from weft.flows.look import StepView
from weft.flows.start import Wish

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "afl"


async def started(app: App, source: str, workflow: str, params: dict[str, Any] | None = None) -> uuid.UUID:
    """A run of a workflow that nobody stored."""
    compiled = compiling.compile_sources([Source("test.afl", source)])
    assert compiled.ok, compiled.diagnostics
    async with (await app.open()).tx() as tx:
        wish = Wish(params=params or {})
        return (await start.start_plan(tx, compiled.plans[workflow], org=ids.DEFAULT_ORG, wish=wish)).id


async def steps(app: App, run: uuid.UUID) -> list[StepView]:
    """All of them, those of nested blocks too."""
    async with (await app.open()).once() as tx:
        return await look.steps(tx, run, org=ids.DEFAULT_ORG, take=10_000)
