"""Which measurements are made, in which order, and what came of them.

Repeats are interleaved across systems (A B C A B C …), because the same configuration drifts between minutes:
what drifts then drifts for all.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bench import database
from bench.errors import BenchError
from bench.scenarios import drain, enqueue, latency
from bench.scenarios.measurement import Measurement
from bench.system import Contender, Scenario


@dataclass(frozen=True)
class Sizes:
    """How much work each scenario does."""

    drain_tasks: int
    enqueue_one_tasks: int
    enqueue_many_tasks: int
    latency_rate: int
    latency_seconds: int


FULL = Sizes(
    drain_tasks=100_000, enqueue_one_tasks=5_000, enqueue_many_tasks=100_000, latency_rate=50, latency_seconds=10
)
QUICK = Sizes(
    drain_tasks=20_000, enqueue_one_tasks=1_000, enqueue_many_tasks=20_000, latency_rate=50, latency_seconds=5
)


@dataclass(frozen=True)
class Variant:
    """One way of running a scenario; `headline` names the value that the progress line shows."""

    name: str
    scenario: Scenario
    measure: Callable[..., Measurement]
    headline: str


@dataclass(frozen=True)
class Outcome:
    """One repeat of one variant on one system: its values, or why there are none."""

    system: str
    variant: str
    repeat: int
    values: dict[str, float]
    error: str | None = None


@dataclass(frozen=True)
class Step:
    """A measurement to be made."""

    contender: Contender
    variant: Variant
    repeat: int

    def run(self, server_url: str) -> Outcome:
        """Make the measurement in a fresh database; a contender's failure is an outcome too."""
        name = re.sub(r"\W+", "_", f"bench_{self.contender.name}_{self.variant.name}")
        values: dict[str, float] = {}
        error = None
        try:
            with database.fresh(server_url, name=name) as url:
                values = self.variant.measure(self.contender, url=url).values
        except BenchError as problem:
            error = str(problem)
        return Outcome(
            system=self.contender.name, variant=self.variant.name, repeat=self.repeat, values=values, error=error
        )


def variants(scenarios: list[Scenario], *, sizes: Sizes) -> list[Variant]:
    """Return the variants of the chosen scenarios."""
    return [variant for variant in _all(sizes) if variant.scenario in scenarios]


def steps(contenders: list[Contender], *, chosen: list[Variant], repeats: int) -> list[Step]:
    """Return every measurement in the order it is made."""
    return [
        Step(contender=contender, variant=variant, repeat=repeat)
        for repeat in range(1, repeats + 1)
        for variant in chosen
        for contender in contenders
        if variant.scenario in contender.system.scenarios
    ]


def execute(todo: list[Step], *, server_url: str) -> Iterator[tuple[Step, Outcome, float]]:
    """Make the measurements one after another, yielding each with the seconds it took."""
    for step in todo:
        start = time.monotonic()
        outcome = step.run(server_url)
        yield step, outcome, time.monotonic() - start


def _all(sizes: Sizes) -> list[Variant]:
    one = partial(enqueue.measure, phase="enqueue-one", tasks=sizes.enqueue_one_tasks)
    many = partial(enqueue.measure, phase="enqueue-many", tasks=sizes.enqueue_many_tasks)
    steady = partial(latency.measure, rate=sizes.latency_rate, seconds=sizes.latency_seconds)
    drains = [
        Variant(
            name=f"drain_{workers}",
            scenario="drain",
            measure=partial(drain.measure, tasks=sizes.drain_tasks, workers=workers),
            headline="per_second",
        )
        for workers in (1, 2)
    ]
    return [
        *drains,
        Variant(name="enqueue_one", scenario="enqueue_one", measure=one, headline="per_second"),
        Variant(name="enqueue_many", scenario="enqueue_many", measure=many, headline="per_second"),
        Variant(name="latency", scenario="latency", measure=steady, headline="p50_ms"),
    ]
