"""Which measurements are made, in which order, and what came of them.

Repeats are interleaved across systems, because the same configuration drifts between minutes: what drifts then drifts
for all. Every second round goes backwards (A B C, C B A, …), so that a drift within a round favours nobody. Scenarios that
only Weft runs come last and once: they repeat themselves.
"""

import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from bench import database
from bench.errors import BenchError
from bench.scenarios import (
    afl,
    afl_compile,
    dags,
    drain,
    enqueue,
    fairness,
    http,
    idle,
    jobs,
    latency,
    limits,
    live,
    pages,
    scale,
    start,
    workflows,
    xmin,
)  # fmt: skip
from bench.scenarios.measurement import Line, Measurement
from bench.system import OWN, Contender, Scenario


@dataclass(frozen=True)
class Sizes:
    """How much work each scenario does."""

    drain_tasks: int
    enqueue_one_tasks: int
    enqueue_many_tasks: int
    latency_rate: int
    latency_seconds: int
    scale_small: int
    scale_medium: int
    scale_queued: int
    scale_finished: int
    scale_later: int
    scale_blocked: int
    fairness_flood: int
    fairness_rate: int
    fairness_seconds: int
    idle_seconds: int
    idle_tasks: int
    limits_tasks: int
    limits_seconds: int
    start_calls: int
    pages_queued: int
    pages_finished: int
    pages_runs: int
    http_tasks: int
    http_rate: int
    http_seconds: int
    live_changes: int
    live_clients: int
    xmin_rate: int
    xmin_before: int
    xmin_held: int
    jobs_active: int
    jobs_due: int
    dags_fan: int
    dags_chain: int
    dags_many: int
    dags_large: int
    afl_lines: int
    workflows_ones: int
    workflows_tens: int
    workflows_calls: int
    workflows_sleepers: int
    workflows_due: int
    afl_facets: int
    afl_elements: int


FULL = Sizes(
    drain_tasks=100_000,
    enqueue_one_tasks=3_000,
    enqueue_many_tasks=100_000,
    latency_rate=50,
    latency_seconds=20,
    scale_small=10_000,
    scale_medium=50_000,
    scale_queued=1_000_000,
    scale_finished=5_000_000,
    scale_later=300_000,
    scale_blocked=200_000,
    fairness_flood=100_000,
    fairness_rate=50,
    fairness_seconds=8,
    idle_seconds=30,
    idle_tasks=50_000,
    limits_tasks=3_000,
    limits_seconds=6,
    start_calls=20,
    pages_queued=1_000_000,
    pages_finished=5_000_000,
    pages_runs=1_000_000,
    http_tasks=50_000,
    http_rate=50,
    http_seconds=8,
    live_changes=200,
    live_clients=500,
    xmin_rate=10_000,
    xmin_before=60,
    xmin_held=600,
    jobs_active=1_000_000,
    jobs_due=10_000,
    dags_fan=1_000,
    dags_chain=100,
    dags_many=100,
    dags_large=10_000,
    afl_lines=10_000,
    workflows_ones=20_000,
    workflows_tens=4_000,
    workflows_calls=100,
    workflows_sleepers=100_000,
    workflows_due=10_000,
    afl_facets=1000,
    afl_elements=100_000,
)
QUICK = dataclasses.replace(
    FULL,
    drain_tasks=20_000,
    enqueue_one_tasks=1_000,
    enqueue_many_tasks=20_000,
    latency_seconds=5,
    scale_medium=20_000,
    scale_queued=100_000,
    scale_finished=300_000,
    scale_later=30_000,
    scale_blocked=20_000,
    fairness_flood=20_000,
    fairness_seconds=5,
    idle_seconds=20,
    idle_tasks=20_000,
    limits_tasks=1_000,
    limits_seconds=4,
    start_calls=10,
    pages_queued=100_000,
    pages_finished=300_000,
    pages_runs=100_000,
    http_tasks=20_000,
    http_seconds=5,
    live_changes=40,
    live_clients=100,
    xmin_before=10,
    xmin_held=60,
    jobs_active=100_000,
    dags_fan=200,
    dags_chain=50,
    dags_many=20,
    dags_large=1_000,
    afl_lines=3_000,
    workflows_ones=4_000,
    workflows_tens=800,
    workflows_calls=30,
    workflows_sleepers=5_000,
    workflows_due=1_000,
    afl_facets=1000,
    afl_elements=5_000,
)


@dataclass(frozen=True)
class Variant:
    """One way of running a scenario; `headline` names the value that the progress line shows.

    `title` and `lines` describe the table of a scenario that only Weft runs.
    """

    name: str
    scenario: Scenario
    measure: Callable[..., list[Measurement]]
    headline: str
    title: str = ""
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """One repeat of one variant on one system: its values, or why there are none."""

    system: str
    variant: str
    repeat: int
    values: dict[str, float]
    error: str | None = None
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Step:
    """A measurement to be made."""

    contender: Contender
    variant: Variant
    repeat: int

    def run(self, server_url: str) -> list[Outcome]:
        """Make the measurement in a fresh database; a contender's failure is an outcome too."""
        name = re.sub(r"\W+", "_", f"bench_{self.contender.name}_{self.variant.name}")
        try:
            with database.fresh(server_url, name=name) as url:
                measured = self.variant.measure(self.contender, url=url)
        except BenchError as problem:
            return [self._outcome(self.repeat, Measurement({}), error=str(problem))]
        return [self._outcome(number, one) for number, one in enumerate(measured, start=self.repeat)]

    def _outcome(self, repeat: int, found: Measurement, error: str | None = None) -> Outcome:
        return Outcome(
            system=self.contender.name, variant=self.variant.name, repeat=repeat, values=found.values, error=error,
            samples=found.samples,
        )  # fmt: skip


def variants(scenarios: list[Scenario], *, sizes: Sizes, repeats: int) -> list[Variant]:
    """Return the variants of the chosen scenarios."""
    return [
        variant for variant in (*_compared(sizes), *_own(sizes, rounds=repeats)) if variant.scenario in scenarios
    ]


def steps(contenders: list[Contender], *, chosen: list[Variant], repeats: int) -> list[Step]:
    """Return every measurement in the order it is made."""
    compared = [variant for variant in chosen if variant.scenario not in OWN]
    own = [variant for variant in chosen if variant.scenario in OWN]
    return [
        Step(contender=contender, variant=variant, repeat=repeat)
        for repeat, asked in [*((number, compared) for number in range(1, repeats + 1)), (1, own)]
        for variant in asked
        for contender in (contenders if repeat % 2 else reversed(contenders))
        if variant.scenario in contender.system.scenarios
    ]


def execute(todo: list[Step], *, server_url: str) -> Iterator[tuple[Step, list[Outcome], float]]:
    """Make the measurements one after another, yielding each with the seconds it took."""
    for step in todo:
        began = time.monotonic()
        outcomes = step.run(server_url)
        yield step, outcomes, time.monotonic() - began


def _compared(sizes: Sizes) -> list[Variant]:
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


def _own(sizes: Sizes, *, rounds: int) -> list[Variant]:
    asked = {
        scale: ("scale", "large_ratio", dict(
            small=sizes.scale_small, medium=sizes.scale_medium, queued=sizes.scale_queued,
            finished=sizes.scale_finished, later=sizes.scale_later, blocked=sizes.scale_blocked)),
        fairness: ("fairness", "pause_ratio", dict(
            flood=sizes.fairness_flood, rate=sizes.fairness_rate, seconds=sizes.fairness_seconds)),
        idle: ("idle", "standby_per_second", dict(seconds=sizes.idle_seconds, tasks=sizes.idle_tasks)),
        limits: ("limits", "queue_highest", dict(tasks=sizes.limits_tasks, seconds=sizes.limits_seconds)),
        http: ("http", "per_second", dict(
            tasks=sizes.http_tasks, rate=sizes.http_rate, seconds=sizes.http_seconds)),
        live: ("live", "p50_ms", dict(changes=sizes.live_changes, clients=sizes.live_clients)),
        start: ("start", "help_ms", dict(calls=sizes.start_calls)),
        pages: ("pages", "slowest_ms", dict(
            queued=sizes.pages_queued, finished=sizes.pages_finished, runs=sizes.pages_runs)),
        jobs: ("jobs", "per_second", dict(active=sizes.jobs_active, due=sizes.jobs_due)),
        dags: ("dags", "chain_ms", dict(
            fan=sizes.dags_fan, chain=sizes.dags_chain, many=sizes.dags_many, large=sizes.dags_large)),
        workflows: ("workflows", "ten_per_second", dict(
            ones=sizes.workflows_ones, tens=sizes.workflows_tens, calls=sizes.workflows_calls,
            sleepers=sizes.workflows_sleepers, due=sizes.workflows_due)),
        afl: ("afl", "ratio", dict(facets=sizes.afl_facets, elements=sizes.afl_elements)),
        afl_compile: ("afl_compile", "lines_per_second", dict(lines=sizes.afl_lines)),
        xmin: ("xmin", "last_ratio", dict(rate=sizes.xmin_rate, before=sizes.xmin_before, held=sizes.xmin_held)),
    }  # fmt: skip
    return [
        Variant(
            name=name,
            scenario=name,
            measure=partial(module.measure, rounds=rounds, **size),
            headline=headline,
            title=module.TITLE.format(**size) if module is xmin else module.TITLE,
            lines=tuple(dataclasses.replace(line, label=line.text(size)) for line in module.LINES),
        )
        for module, (name, headline, size) in asked.items()
    ]
