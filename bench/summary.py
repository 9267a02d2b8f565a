"""The outcomes of a run, put together: estimates, ratios and verdicts of each variant."""

from dataclasses import dataclass, field

from bench import comparison
from bench.comparison import Ratio, Rounds
from bench.estimate import Estimate, estimate
from bench.plan import Outcome, Variant
from bench.scenarios.measurement import percentile
from bench.verdict import Verdict


@dataclass(frozen=True)
class Judged:
    """A line with a target of a scenario that only Weft runs."""

    system: str
    value: str
    target: str
    verdict: Verdict


@dataclass
class Summary:
    """What is known of a variant: each system's values, and how they compare."""

    systems: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    best_peers: dict[str, str] = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)
    pooled_p99_ms: dict[str, float] = field(default_factory=dict)
    """Of all repeats of a system together; where one delay is one sample."""
    judged: list[Judged] = field(default_factory=list)

    def ratio(self, system: str, value: str, *, against: comparison.Against) -> Ratio | None:
        """Return this one, if there is such a ratio."""
        wanted = (system, value, against)
        return next((one for one in self.ratios if (one.system, one.value, one.against) == wanted), None)


def summarise(outcomes: list[Outcome], *, chosen: list[Variant]) -> dict[str, Summary]:
    """Return each variant's summary, by name."""
    return {
        variant.name: _summary(variant, [outcome for outcome in outcomes if outcome.variant == variant.name])
        for variant in chosen
    }


def _summary(variant: Variant, outcomes: list[Outcome]) -> Summary:
    measured: dict[str, dict[str, Rounds]] = {}
    samples: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.values.items():
            measured.setdefault(outcome.system, {}).setdefault(name, {})[outcome.repeat] = value
        samples.setdefault(outcome.system, []).extend(outcome.samples)
    summary = Summary(
        systems={
            system: {name: estimate(rounds.values()) for name, rounds in values.items()}
            for system, values in measured.items()
        },
        pooled_p99_ms={system: percentile(delays, 0.99) for system, delays in samples.items() if delays},
    )
    if variant.lines:
        _judge(summary, variant)
    else:
        _compare(summary, variant, measured=measured)
    return summary


def _judge(summary: Summary, variant: Variant) -> None:
    for system, values in summary.systems.items():
        summary.judged += [
            Judged(system=system, value=line.value, target=line.target(), verdict=line.judge(values[line.value]))
            for line in variant.lines
            if line.target() and line.value in values
        ]


def _compare(summary: Summary, variant: Variant, *, measured: dict[str, dict[str, Rounds]]) -> None:
    for value in comparison.compared(variant.name):
        known = {system: values[value] for system, values in measured.items() if value in values}
        if best := comparison.best_peer(known, value=value):
            summary.best_peers[value] = best
        summary.ratios += comparison.ratios(known, variant=variant.name, value=value)
