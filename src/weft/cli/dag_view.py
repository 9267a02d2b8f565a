"""DAGs and runs as a terminal shows them."""

import datetime as dt
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.cli import output, showing
from weft.cli.listing import Gathered

_MARKS = {
    "pending": ("○", "dim"), "running": ("◐", "cyan"), "completed": ("●", "green"), "failed": ("✗", "red"),
    "timed_out": ("✗", "red"), "cancelled": ("–", "yellow"), "upstream_failed": ("·", "red"), "skipped": ("·", "dim"),
}  # fmt: skip
_MOST = 200
"""Tasks that are drawn; of more, those that run and those that failed come first."""


def line(text: str) -> Text:
    return Text(showing.plain(text))


def dags(found: Gathered) -> RenderableType:
    rows = [
        (one["name"], one["dag_id"], one["task_count"], one["cron_expression"] or "", f"v{one['version_number']}",
         one["status"].lower())
        for one in found.items
    ]  # fmt: skip
    return output.rows(("name", "id", "tasks", "schedule", "version", ""), rows, empty="no DAGs; weft dag create FILE")


def runs(found: Gathered) -> RenderableType:
    rows = [
        (one["dag_run_id"], output.moment(one["scheduled_time"]), showing.run_state(one, "status"),
         f"{one['tasks_ended']}/{one['tasks_total']}", _span(one), one["error_message"] or "")
        for one in found.items
    ]  # fmt: skip
    table = output.rows(("run", "for", "", "tasks", "took", "error"), rows, empty="no runs")
    return showing.noted(table, found)


def run(found: Any) -> RenderableType:
    """A run: its tasks level by level, each with how it stands."""
    head = Text.assemble(
        (showing.plain(found["dag_name"]), "bold"), "  ", showing.run_state(found, "status"),
        ("" if found["state"] != "paused" else " (paused)", "yellow"),
        f"  {found['tasks_ended']}/{found['tasks_total']} tasks  {_span(found)}",
    )  # fmt: skip
    table = Table.grid(padding=(0, 2))
    shown = _ordered(found)
    for level, one in shown[:_MOST]:
        mark, style = _MARKS.get(one["state"], ("?", ""))
        waits = found["dependencies"].get(one["name"], [])
        name = Text(f"{'  ' * min(level, 20)}{mark} {showing.plain(one['name'])}", style=style)
        parts = f"{one['elements_ended']}/{one['elements']}" if one["elements"] else ""
        tries = f"try {one['attempt_number']}" if one["attempt_number"] > 1 else ""
        after = f"← {', '.join(waits)}" if waits else ""
        table.add_row(
            name, Text(_state(one), style=style), Text(parts), Text(_span(one)), Text(tries),
            Text(showing.plain(output.short(one["error_message"] or after)), style="red" if one["error_message"] else "dim"),
        )  # fmt: skip
    rest = [Text(f"… and {len(shown) - _MOST:,} more", style="dim")] if len(shown) > _MOST else []
    reasons = [Text(showing.plain(reason), style="yellow") for reason in found["reasons"]]
    if found["error_message"] and found["status"] in ("FAILED", "CANCELLED"):
        where = f"{found['failed_task']}: " if found["failed_task"] else ""
        reasons.append(Text(showing.plain(f"{where}{found['error_message']}"), style="red"))
    if found["output"]:
        reasons.append(Text(showing.plain(output.short(showing.compact(found["output"]), most=400))))
    return Group(head, table, *rest, *reasons)


def _ordered(found: Any) -> list[tuple[int, Any]]:
    """Tasks by level, as they are written within one; of very many first those one wants to see."""
    waits: dict[str, list[str]] = found["dependencies"]
    levels: dict[str, int] = {}
    remaining = dict(waits)
    while remaining:
        ready = [name for name, before in remaining.items() if all(one in levels for one in before)]
        if not ready:
            break
        depth = {name: 1 + max((levels[one] for one in remaining[name]), default=-1) for name in ready}
        levels |= depth
        for name in ready:
            del remaining[name]
    tasks = [(levels.get(one["name"], 0), one) for one in found["task_instances"]]
    if len(tasks) <= _MOST:
        return sorted(tasks, key=lambda one: one[0])
    order = {"failed": 0, "timed_out": 0, "running": 1}
    return sorted(tasks, key=lambda one: (order.get(one[1]["state"], 2), one[0]))


def _state(one: Any) -> str:
    return "queued" if one["status"] == "QUEUED" else str(one["state"]).replace("_", " ")


def _span(one: Any) -> str:
    """How long it took, or has been at it."""
    if one["started_at"] is None:
        return ""
    end = msgspec.convert(one["completed_at"], dt.datetime) if one["completed_at"] else dt.datetime.now(dt.UTC)
    return output.span(max((end - msgspec.convert(one["started_at"], dt.datetime)).total_seconds(), 0.0))
