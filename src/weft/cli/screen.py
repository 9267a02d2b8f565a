"""How `weft dev` shows what happens: a screen for people, lines for files and pipes. Values in, text out."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from weft.cli.following import Following
from weft.queue.model import TaskView

_ALIKE = 3
_COLOURS = {
    "completed": "green", "failed": "red", "timed_out": "red", "cancelled": "yellow", "running": "cyan",
    "ready": "white", "scheduled": "blue", "blocked": "magenta",
}  # fmt: skip


def render(following: Following, *, heading: str, hints: list[tuple[str, str]], height: int) -> RenderableType:
    """The whole screen, in as many lines as there are."""
    # the frames of three panels, the heading, the names of the counts
    taken = 10 + len(hints) + max(len(following.queues), 1)
    return Group(
        Text(heading, style="bold", overflow="ellipsis", no_wrap=True),
        Panel(_queues(following), title="queues", title_align="left"),
        Panel(_tasks(following, most=max(height - taken, 3)), title="tasks, newest last", title_align="left"),
        Panel(_hints(hints), title="try, in another terminal", title_align="left"),
    )


def lines(changed: Sequence[TaskView]) -> Iterator[str]:
    """Changes of tasks, a line each; of many alike, the first few."""
    alike: Counter[tuple[str, str]] = Counter()
    for task in changed:
        alike[(task.kind, task.state)] += 1
        if alike[(task.kind, task.state)] <= _ALIKE:
            yield f"{task.kind:<12} {said(task)}  [{task.id}]"
    for (kind, state), count in alike.items():
        if count > _ALIKE:
            yield f"{kind:<12} {state}: {count - _ALIKE} or more like this"


def said(task: TaskView) -> str:
    """What a task's state means, in words."""
    match task.state:
        case "completed":
            return f"completed on attempt {task.attempt}: {_short(task.result)}"
        case "failed" | "timed_out":
            where = " and is on the dead letter list" if task.dead else ""
            return f"{task.state.replace('_', ' ')}{where}: {_problem(task)}"
        case "cancelled":
            return f"{task.reason or 'cancelled'}: {_problem(task)}" if task.error else f"cancelled ({task.reason})"
        case "running":
            return f"running, attempt {task.attempt}" + (f": {task.progress_message}" if task.progress_message else "")
        case "scheduled":
            when = f"{task.run_at:%H:%M:%S}"
            return f"retry at {when} after {_problem(task)}" if task.error else f"scheduled for {when}"
        case "ready":
            return "ready"
        case "blocked":
            return "waits for a limit"


def _queues(following: Following) -> RenderableType:
    table = Table.grid(padding=(0, 3))
    table.add_row("", *(Text(name, style="dim") for name in ("ready", "scheduled", "blocked", "running")))
    for one in following.queues:
        counts = (one.ready, one.scheduled, one.blocked, one.running)
        table.add_row(one.queue, *(Text(str(count), style="" if count else "dim") for count in counts))
    if not following.queues:
        table.add_row(Text("nothing waits", style="dim"))
    return table


def _tasks(following: Following, *, most: int) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for task in list(following.recent.values())[-most:]:
        colour = _COLOURS[task.state]
        shown: RenderableType = Text(said(task), style=colour, overflow="ellipsis", no_wrap=True)
        if task.state == "running" and task.progress is not None:
            shown = ProgressBar(total=100, completed=task.progress, width=30)
        table.add_row(Text(task.kind, style="bold"), shown, Text(str(task.id)[-12:], style="dim"))
    if not following.recent:
        table.add_row(Text("none yet", style="dim"))
    return table


def _hints(hints: list[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for what, how in hints:
        table.add_row(Text(what, style="dim"), Text(how, style="cyan", overflow="fold"))
    return table


def _problem(task: TaskView) -> str:
    error = task.error or {}
    return _short(f"{error.get('type', 'an error')}: {error.get('message', '')}")


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"
