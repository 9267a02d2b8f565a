"""Crashing a workflow everywhere: once for each place around its checkpoints, on a real database.

    await crash_everywhere(app, checkout, "o-17", signals=[("approval", True)], effects=payments)

A run without a crash says what should come out. Then there is a run for each place in turn: it forgets everything there,
as if its worker had died, and goes on from what was committed; and another that goes on in spite of having lost its
lease, while the run is delivered again. Each must come to the same result, state and effects. Sleeps pass in no time.
"""

import dataclasses
import datetime as dt
import random
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from weft.base import errors
from weft.flows import look, steering, workflows
from weft.flows.model import OVER
from weft.flows.start import Started
from weft.queue.model import Claimed
from weft.sdk.workflow import Workflow
from weft.settle import settle
from weft.settle.outcome import Outcome
from weft.testing.clock import Clock
from weft.testing.inline import Runs, run_pending
from weft.worker.workflows import Crashed

_TURNS = 1000
"""Wake-ups after which a run counts as endless."""
_ORG = uuid.UUID("00000000-0000-7000-8000-000000000001")


class Starts(Runs, Protocol):
    """An App."""

    async def start(self, workflow: Any, /, *args: Any, arguments: dict[str, Any] | None = None) -> Started: ...
    async def signal(self, run: uuid.UUID | str, name: str, value: Any = None) -> None: ...


@dataclasses.dataclass(frozen=True)
class Came:
    """What came out of a run."""

    state: str
    output: Any
    error: str | None
    undone: list[str]
    """Steps that were compensated, in that order."""
    effects: Any = None


@dataclasses.dataclass(frozen=True)
class Crashes:
    """How many places there were, and what came out every time."""

    places: int
    runs: int
    came: Came


async def crash_everywhere(
    app: Starts, workflow: Workflow[Any, Any], *args: Any, signals: Sequence[tuple[str, Any]] = (),
    effects: Callable[[uuid.UUID], Awaitable[Any]] | None = None, seed: int = 0,
) -> Crashes:  # fmt: skip
    """Runs the workflow once for each place it can crash at; AssertionError names the place where it came out otherwise.

    `signals` are sent in an order and at moments that the `seed` decides; those of one name keep their order. `effects`
    is asked after each run, with its id, what the run has done to the world.
    """
    clock = await Clock.install(app)
    try:
        drive = _Drive(app, workflow, args, signals=signals, effects=effects, clock=clock)
        calm = await drive.run(None, random.Random(seed))
        places = drive.visits
        for place in range(1, places + 1):
            for twice in (False, True):
                came = await drive.run((place, twice), random.Random(f"{seed} {place} {twice}"))
                where = f"{'delivered twice' if twice else 'crashed'} {drive.struck or 'nowhere'} (place {place})"
                assert came == calm, f"{where}: came to {came}, without it to {calm}"
        return Crashes(places, 2 * places + 1, calm)
    finally:
        await clock.remove()


class _Drive:
    def __init__(
        self, app: Starts, workflow: Workflow[Any, Any], args: tuple[Any, ...], *, signals: Sequence[tuple[str, Any]],
        effects: Callable[[uuid.UUID], Awaitable[Any]] | None, clock: Clock,
    ) -> None:  # fmt: skip
        self._app, self._workflow, self._args = app, workflow, args
        self._signals, self._effects, self._clock = signals, effects, clock
        self._strike: tuple[int, bool] | None = None
        self._run: str | None = None
        self.visits = 0
        self.struck: str | None = None

    async def run(self, strike: tuple[int, bool] | None, dice: random.Random) -> Came:
        self._strike, self.visits, self.struck = strike, 0, None
        started = await self._app.start(self._workflow, *self._args)
        self._run = str(started.id)
        waiting = _shuffled(self._signals, dice)
        for _ in range(_TURNS):
            while waiting and dice.random() < 0.5:
                await self._app.signal(started.id, *waiting.pop(0))
            await run_pending(self._app, fault=self._fault)
            if await self._over(started.id):
                return await self._came(started.id)
            if waiting:
                await self._app.signal(started.id, *waiting.pop(0))
            else:
                await self._pass(started.id)
        raise AssertionError(f"the run has not ended after {_TURNS} wake-ups; is there a loop without end in it?")

    async def _fault(self, place: str, task: Claimed) -> None:
        if task.id != self._run:
            return
        self.visits += 1
        if self._strike is None or self.visits != self._strike[0]:
            return
        self.struck = place
        if not self._strike[1] or place == "before a transaction's commit":
            raise Crashed  # there the row is locked: nobody could take the run away
        async with (await self._app.open()).tx() as tx:
            await settle.settle(tx, [Outcome(task, "released")])

    async def _over(self, run: uuid.UUID) -> bool:
        async with (await self._app.open()).once() as tx:
            found = await look.run(tx, run, org=_ORG)
        if found.state == "blocked":
            raise AssertionError(f"the run is blocked: {(found.error or {}).get('message')}")
        return found.state in OVER

    async def _pass(self, run: uuid.UUID) -> None:
        """Moves the clock to when the run, or whatever it waits for, goes on."""
        async with (await self._app.open()).once() as tx:
            due: dt.datetime | None = await workflows.next_due(tx)
        if due is None or due.year > 5000:
            raise errors.InvalidInput(f"run {run} waits for a signal that is not among signals=")
        await self._clock.set(due + dt.timedelta(milliseconds=1))

    async def _came(self, run: uuid.UUID) -> Came:
        async with (await self._app.open()).tx() as tx:
            found = await look.run(tx, run, org=_ORG)
            steps = await steering.steps(tx, run, org=_ORG)
        undone = [one.node.rpartition("~")[2] for one in steps if one.operation == "compensation"]
        effects = None if self._effects is None else await self._effects(run)
        return Came(found.state, found.output, (found.error or {}).get("message"), undone, effects)


def _shuffled(signals: Sequence[tuple[str, Any]], dice: random.Random) -> list[tuple[str, Any]]:
    """In another order, but for those of the same name."""
    names = [name for name, _ in signals]
    dice.shuffle(names)
    left = {name: [value for other, value in signals if other == name] for name in names}
    return [(name, left[name].pop(0)) for name in names]
