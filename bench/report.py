"""The results: a table per variant, and everything as JSON."""

import dataclasses
import json
import os
import platform
import statistics
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.plan import Outcome, Sizes, Variant
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
# What a system should reach: times the best peer, times the floor. For latency: at most the best peer's.
TARGETS: dict[tuple[str, str], dict[str, float]] = {
    ("drain_1", "weft"): {"peer": 1.1, "floor": 0.6},
    ("drain_1", "weft-lean"): {"peer": 1.5},
    ("drain_2", "weft-lean"): {"peer": 1.1},
    ("enqueue_one", "weft"): {"peer": 1.0},
    ("enqueue_one", "weft-lean"): {"peer": 1.0},
    ("enqueue_many", "weft"): {"peer": 1.5},
    ("enqueue_many", "weft-lean"): {"peer": 1.5},
    ("latency", "weft"): {"peer": 1.0},
    ("latency", "weft-lean"): {"peer": 1.0},
}
# Neither is a rival: the floor has no features, and Weft is what the others are compared with.
NOT_PEERS = ("floor", "weft", "weft-lean")

Summary = dict[str, dict[str, dict[str, dict[str, float]]]]


def summarise(outcomes: list[Outcome]) -> Summary:
    """Return variant → system → value → median, low and high over the repeats that worked."""
    summary: Summary = {}
    gathered: dict[tuple[str, str, str], list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.values.items():
            gathered.setdefault((outcome.variant, outcome.system, name), []).append(value)
    for (variant, system, name), values in gathered.items():
        spread = {"median": statistics.median(values), "low": min(values), "high": max(values), "repeats": len(values)}
        summary.setdefault(variant, {}).setdefault(system, {})[name] = spread
    return summary


def show(console: Console, summary: Summary, *, chosen: list[Variant], contenders: list[Contender]) -> None:
    """Print a table per variant."""
    for variant in chosen:
        systems = summary.get(variant.name, {})
        rows = [contender for contender in contenders if contender.name in systems]
        if variant.lines:
            tables = [_own_table(variant, systems[row.name]) for row in rows]
        elif rows:
            tables = [(_latency_table if variant.name == "latency" else _rate_table)(variant.name, rows, systems)]
        else:
            tables = []
        for table in tables:
            table.title = variant.title or TITLES[variant.name]
            console.print(table)


def save(
    summary: Summary,
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
        "summary": summary,
        "outcomes": [dataclasses.asdict(outcome) for outcome in outcomes],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def _rate_table(variant: str, rows: list[Contender], systems: dict[str, dict[str, dict[str, float]]]) -> Table:
    measured = [column for column in CPU if any(column in systems[row.name] for row in rows)]
    table = _table("median", "range", "× best peer", "× floor", "target", "", *(CPU[column] for column in measured))
    rates = {row.name: systems[row.name]["per_second"]["median"] for row in rows}
    peers = [rate for name, rate in rates.items() if name not in NOT_PEERS]
    marks = {"peer": max(peers, default=None), "floor": rates.get("floor")}
    for row in rows:
        values = systems[row.name]
        rate = values["per_second"]
        reached = {name: rate["median"] / mark for name, mark in marks.items() if mark}
        table.add_row(
            row.name,
            f"{rate['median']:,.0f}",
            f"{rate['low']:,.0f} – {rate['high']:,.0f}",
            *(f"{reached[name]:.2f}" if name in reached else "" for name in marks),
            *judged(TARGETS.get((variant, row.name), {}), reached),
            *(_median(values, column) for column in measured),
        )
    return table


def judged(targets: dict[str, float], reached: dict[str, float]) -> tuple[str, str]:
    """Return what was to be reached and whether it was, as far as it was measured."""
    known = {name: target for name, target in targets.items() if name in reached}
    if not known:
        return "", ""
    said = ", ".join(f"≥ {target:g} × {'the best peer' if name == 'peer' else name}" for name, target in known.items())
    return said, "met" if all(reached[name] >= target for name, target in known.items()) else "missed"


def _latency_table(variant: str, rows: list[Contender], systems: dict[str, dict[str, dict[str, float]]]) -> Table:
    table = _table("p50", "range", "p99", "range", "target", "")
    best = {
        name: min((systems[row.name][name]["median"] for row in rows if row.name not in NOT_PEERS), default=None)
        for name in ("p50_ms", "p99_ms")
    }
    for row in rows:
        median, tail = systems[row.name]["p50_ms"], systems[row.name]["p99_ms"]
        # the larger number is the better one there
        ratios = [mark / systems[row.name][name]["median"] for name, mark in best.items() if mark]
        reached = {"peer": min(ratios)} if ratios else {}
        target, met = judged(TARGETS.get((variant, row.name), {}), reached)
        table.add_row(
            row.name,
            f"{median['median']:.2f}",
            f"{median['low']:.2f} – {median['high']:.2f}",
            f"{tail['median']:.2f}",
            f"{tail['low']:.2f} – {tail['high']:.2f}",
            "both ≤ the best peer's" if target else "",
            met,
        )
    return table


def _own_table(variant: Variant, values: dict[str, dict[str, float]]) -> Table:
    table = _table("median", "range", "target", "", first="")
    for line in variant.lines:
        if line.value not in values:
            continue
        spread, digits = values[line.value], line.digits
        low, high = (f"{spread[end]:,.{digits}f}" for end in ("low", "high"))
        target = line.target()
        judged = ("low", "high") if line.every else ("median",)
        table.add_row(
            line.label,
            f"{spread['median']:,.{digits}f}",
            f"{low} – {high}" if spread["repeats"] > 1 else "",
            target,
            ("met" if all(line.met(spread[one]) for one in judged) else "missed") if target else "",
        )
    return table


def _table(*numbers: str, first: str = "system") -> Table:
    table = Table(title_justify="left")
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _median(values: dict[str, dict[str, float]], name: str) -> str:
    return f"{values[name]['median']:.1f}" if name in values else ""
