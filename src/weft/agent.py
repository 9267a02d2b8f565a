"""`Agent`: does the work of AFL's event facets.

    agent = Agent()

    @agent.handles("osm.geo.Geocode")
    async def geocode(address: str, ctx: Context) -> dict[str, float]:
        ctx.log("looking it up", address=address)
        return {"lat": 52.5, "lon": 13.4}

Run it with `weft agent run module`. It is an `App`, so everything else an app has is there too.
"""

from collections.abc import Callable
from typing import Any

from weft.app import App
from weft.base import errors
from weft.sdk.agent import Handler
from weft.sdk.task import Task


class Agent(App):
    """Handlers by facet. A task is handled by the one of exactly its name, else by the one of its last part."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.registry.made = Handler

    def handles(self, facet: str, /, **options: Any) -> Callable[[Callable[..., Any]], Task[Any, Any]]:
        """Declares the handler of an event facet: `osm.geo.Geocode`, or `Geocode` for every facet of that last name.

        The function gets the facet's arguments by name, as far as it names them, converted to its annotations; a
        parameter annotated `Context` gets the step's log, heartbeat, progress, retries and ids. What it returns fills
        the facet's returns. Options: see `App.task`; the facet's `with Timeout(…)` and `Retry(…)` win. How often it is
        tried is the program's to say.
        """
        if not isinstance(facet, str):
            raise errors.InvalidInput('name the facet: @agent.handles("osm.geo.Geocode")')
        if "max_attempts" in options:
            raise errors.InvalidInput(
                f"{facet} is tried as often as its AFL program says, whoever handles it; leave max_attempts out, and "
                f"write `with Retry(maxAttempts = {options['max_attempts']})` behind the facet's signature or a call of it"
            )

        def declare(function: Callable[..., Any]) -> Task[Any, Any]:
            task = self.registry.add(function, name=facet, version=None, **options)
            if "." not in facet:
                self.shorts[facet] = task
            return task

        return declare

    def handlers(self) -> list[str]:
        """The names that were declared."""
        return sorted(self.registry.kinds())
