"""How `weft dev` shows what happens: a screen for people, lines for files and pipes. Values in, text out."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from weft.cli import listing, showing
from weft.cli.following import Following, Task
from weft.cli.output import moment, short

_ALIKE = 3


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


def lines(changed: Sequence[Task]) -> Iterator[str]:
    """Changes of tasks, a line each; of many alike, the first few."""
    alike: Counter[tuple[str, str]] = Counter()
    for task in changed:
        alike[(task["kind"], task["state"])] += 1
        if alike[(task["kind"], task["state"])] <= _ALIKE:
            yield f"{task['kind']:<12} {said(task)}  [{task['id']}]"
    for (kind, state), count in alike.items():
        if count > _ALIKE:
            yield f"{kind:<12} {state}: {count - _ALIKE} or more like this"


def said(task: Task) -> str:
    """What a task's state means, in words."""
    state, error = task["state"], problem(task)
    match state:
        case "completed":
            # a row of a list does not have it
            result = f": {short(showing.compact(task['result']))}" if "result" in task else ""
            return f"completed on attempt {task['attempt']}{result}"
        case "failed" | "timed_out":
            where = " and is on the dead letter list" if task["reason"] in ("dead", "lost") else ""
            return f"{state.replace('_', ' ')}{where}: {error}"
        case "cancelled":
            return f"{task['reason'] or 'cancelled'}: {error}" if error else f"cancelled ({task['reason']})"
        case "running":
            told = task["progress_message"]
            return f"running, attempt {task['attempt']}" + (f": {showing.plain(told)}" if told else "")
        case "scheduled":
            when = moment(task["run_at"])
            return f"retry at {when} after {error}" if error else f"scheduled for {when}"
        case "blocked":
            return "waits for a limit"
        case _:
            return str(state)


def problem(task: Task) -> str:
    """What went wrong, in a line; nothing if nothing did. Knows a task and a row of a list."""
    error = task.get("error") or {"type": task.get("error_type"), "message": task.get("error_message")}
    if not error.get("type") and not error.get("message"):
        return ""
    return showing.plain(short(f"{error.get('type') or 'an error'}: {error.get('message') or ''}"))


def _queues(following: Following) -> RenderableType:
    table = Table.grid(padding=(0, 3))
    table.add_row("", *(Text(name, style="dim") for name in ("ready", "scheduled", "blocked", "running")))
    for one in following.queues:
        counts = [one[state] for state in ("ready", "scheduled", "blocked", "running")]
        table.add_row(one["name"], *(Text(listing.count(two), style="" if two["count"] else "dim") for two in counts))
    if not following.queues:
        table.add_row(Text("nothing waits", style="dim"))
    return table


def _tasks(following: Following, *, most: int) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for task in list(following.recent.values())[-most:]:
        colour = showing.COLOURS[task["state"]]
        shown: RenderableType = Text(said(task), style=colour, overflow="ellipsis", no_wrap=True)
        if task["state"] == "running" and task["progress"] is not None:
            shown = ProgressBar(total=100, completed=task["progress"], width=30)
        table.add_row(Text(task["kind"], style="bold"), shown, Text(task["id"][-12:], style="dim"))
    if not following.recent:
        table.add_row(Text("none yet", style="dim"))
    return table


def _hints(hints: list[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for what, how in hints:
        table.add_row(Text(what, style="dim"), Text(how, style="cyan", overflow="fold"))
    return table
