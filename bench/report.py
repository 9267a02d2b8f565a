"""The results: tables for each variant, and everything as JSON."""

import dataclasses
import json
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import comparison
from bench.estimate import Estimate
from bench.plan import Outcome, Sizes, Variant
from bench.summary import Summary
from bench.system import Contender

RESULTS = Path(__file__).parent / "results"
TITLES = {
    "drain_1": "Drain, one worker process (tasks/s to the last committed completion)",
    "drain_2": "Drain, two worker processes (tasks/s to the last committed completion)",
    "enqueue_one": "Enqueue one by one, one connection, each committed (tasks/s)",
    "enqueue_many": "Enqueue in bulk, one connection (tasks/s)",
    "latency": "Latency, enqueue call to handler start, one idle worker (ms)",
}
CPU = {"worker_cpu_us_per_task": "worker CPU µs/task", "server_cpu_us_per_task": "server CPU µs/task"}
SAID = {"per_second": "tasks/s", "p50_ms": "p50", "p99_ms": "p99"}
RATIO_DIGITS = 2


def show(
    console: Console, summaries: dict[str, Summary], *, chosen: list[Variant], contenders: list[Contender]
) -> None:
    """Print the tables of each variant."""
    for variant in chosen:
        summary = summaries[variant.name]
        names = [contender.name for contender in contenders if contender.name in summary.systems]
        title = variant.title or TITLES[variant.name]
        if variant.lines:
            tables = [_own_table(variant, summary, name=name) for name in names]
        elif names:
            made = _latency_table if variant.name == "latency" else _rate_table
            tables = [made(summary, names), *_targets(summary)]
        else:
            tables = []
        for number, table in enumerate(tables):
            table.title = title if variant.lines or not number else f"{variant.name}: the targets"
            console.print(table)


def save(
    summaries: dict[str, Summary],
    outcomes: list[Outcome],
    *,
    contenders: list[Contender],
    server: dict[str, str],
    sizes: Sizes,
    sources: tuple[str, str],
) -> Path:
    """Write everything that is known about the run and return the file."""
    now = datetime.now(UTC)
    document = {
        "finished_at": now.isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            # what else ran is not ours to know, but a load far above one worker and its server tells
            "load_average": os.getloadavg(),
        },
        "server": server,
        "weft_source": {"before": sources[0], "after": sources[1]},
        "sizes": dataclasses.asdict(sizes),
        "systems": {
            contender.name: {"settings": contender.system.settings, "versions": contender.runtime.versions}
            for contender in contenders
        },
        "summary": {variant: dataclasses.asdict(summary) for variant, summary in summaries.items()},
        "outcomes": [_saved(outcome) for outcome in outcomes],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def confidence(estimates: Iterable[Estimate]) -> str:
    """Say how sure the intervals of a table are, for each number of repeats there is."""
    said = {found.repeats: _sureness(found) for found in estimates}
    return "; ".join(
        f"{repeats} {'repeat' if repeats == 1 else 'repeats'}: {sure}" for repeats, sure in sorted(said.items())
    )


def _rate_table(summary: Summary, names: list[str]) -> Table:
    measured = [column for column in CPU if any(column in summary.systems[name] for name in names)]
    table = _table("median", "range", "× best peer", "× floor", *(CPU[column] for column in measured))
    table.caption = _best(summary)
    for name in names:
        values = summary.systems[name]
        table.add_row(
            name,
            *_spread(values["per_second"], digits=0),
            _ratio(summary, name, value="per_second", against="peer"),
            _ratio(summary, name, value="per_second", against="floor"),
            *(f"{values[column].median:.1f}" if column in values else "" for column in measured),
        )
    return table


def _latency_table(summary: Summary, names: list[str]) -> Table:
    table = _table("p50", "range", "× best peer", "p99", "range", "× best peer", "p99, pooled")
    table.caption = _best(summary)
    for name in names:
        cells: list[str] = []
        for value in comparison.compared("latency"):
            found = summary.systems[name][value]
            cells += [*_spread(found, digits=2), _ratio(summary, name, value=value, against="peer")]
        table.add_row(name, *cells, f"{summary.pooled_p99_ms[name]:.2f}")
    return table


def _targets(summary: Summary) -> list[Table]:
    """Return the table of the ratios that have a target, if there is one: each ratio is made within a round."""
    wanted = [ratio for ratio in summary.ratios if ratio.verdict]
    if not wanted:
        return []
    table = _table("against", "median ratio", "range", "interval", "target", "")
    table.caption = confidence(ratio.estimate for ratio in wanted)
    for ratio in wanted:
        table.add_row(
            f"{ratio.system}, {SAID[ratio.value]}",
            f"{ratio.other}, the best peer" if ratio.against == "peer" else ratio.other,
            *_spread(ratio.estimate, digits=RATIO_DIGITS),
            _interval(ratio.estimate, digits=RATIO_DIGITS),
            ratio.target,
            ratio.verdict,
        )
    return [table]


def _own_table(variant: Variant, summary: Summary, *, name: str) -> Table:
    values = summary.systems[name]
    lines = [line for line in variant.lines if line.value in values]
    verdicts = {judged.value: judged.verdict for judged in summary.judged if judged.system == name}
    # of a target for every round the rounds themselves are judged: there is nothing to be sure of
    by_median = [line for line in lines if line.value in verdicts and not line.every]
    table = _table("median", "range", "interval", "target", "", first="")
    table.caption = confidence(values[line.value] for line in by_median)
    for line in lines:
        found = values[line.value]
        table.add_row(
            line.label,
            *_spread(found, digits=line.digits),
            _interval(found, digits=line.digits) if line in by_median else "",
            line.target(),
            verdicts.get(line.value, ""),
        )
    return table


def _table(*numbers: str, first: str = "system") -> Table:
    table = Table(title_justify="left", caption_justify="left")
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _best(summary: Summary) -> str:
    named = summary.best_peers
    if not named:
        return "no peer took part"
    if len(set(named.values())) == 1:
        return f"best peer: {next(iter(named.values()))}"
    return "best peer: " + ", ".join(f"{name} by {SAID[value]}" for value, name in named.items())


def _spread(found: Estimate, *, digits: int) -> tuple[str, str]:
    return f"{found.median:,.{digits}f}", _from_to(found.low, found.high, digits=digits) if found.repeats > 1 else ""


def _interval(found: Estimate, *, digits: int) -> str:
    return _from_to(found.interval.low, found.interval.high, digits=digits) if found.interval else ""


def _sureness(found: Estimate) -> str:
    if found.interval is None:
        return "no confidence stated"
    return f"the interval holds the true median with {found.interval.confidence * 100:.1f} % confidence"


def _from_to(low: float, high: float, *, digits: int) -> str:
    return f"{low:,.{digits}f} – {high:,.{digits}f}"


def _ratio(summary: Summary, system: str, *, value: str, against: comparison.Against) -> str:
    ratio = summary.ratio(system, value, against=against)
    return f"{ratio.estimate.median:.{RATIO_DIGITS}f}" if ratio else ""


def _saved(outcome: Outcome) -> dict[str, object]:
    """Return the repeat without its single delays: their percentiles are among its values."""
    return {name: value for name, value in dataclasses.asdict(outcome).items() if name != "samples"}
