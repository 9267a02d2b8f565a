"""`weft dev`: PostgreSQL, a worker that leads, and a live view, in one process. Without an app it shows a demo."""

import asyncio
import contextlib
import datetime as dt
from collections.abc import AsyncIterator

import click
from rich.console import Console
from rich.live import Live

from weft.app import App
from weft.base import errors
from weft.cli import running, screen, working
from weft.cli.following import Following
from weft.cli.stopping import Stopping
from weft.sdk import loading

DEMO = "weft.cli.demo"
_REFRESH = 0.5
_GRACE = 5.0


@click.command(epilog="\b\nExamples:\n  weft dev\n  weft dev app:app")
@click.argument("target", metavar="[MODULE:APP]", required=False)
@click.option("-c", "--concurrency", type=click.IntRange(1, 10_000), default=20, show_default=True,
              help="Tasks to run at a time.")  # fmt: skip
@click.option("--plain", is_flag=True, help="Lines instead of a screen, as when the output is no terminal.")
def dev(*, target: str | None, concurrency: int, plain: bool) -> None:
    """PostgreSQL, a worker and a live view in one process.

    Without MODULE:APP it runs a demo on the embedded PostgreSQL in WEFT_FOLDER (.weft here). With one it runs your app,
    on the database your app names. Ctrl-C stops everything; what was enqueued is still there the next time.
    """
    console = Console(highlight=False, soft_wrap=True)
    lines = plain or not console.is_terminal
    # a log line would tear the screen; what matters is on it
    working.set_up_logging("warning" if lines else "critical")
    running.run(_develop(target, concurrency=concurrency, console=console, lines=lines))
    working.leave_threads()


async def _develop(target: str | None, *, concurrency: int, console: Console, lines: bool) -> None:
    stopping = Stopping()
    stopping.install()
    named = target or f"{DEMO}:app"
    app = running.load_app(named)
    console.print("starting PostgreSQL and a worker …")
    async with app, app.worker(concurrency=concurrency, target=named, grace=_GRACE) as worker:
        stopping.hurry = worker.stop
        heading = await _heading(app, demo=target is None)
        async with _producing(demo=target is None):
            if lines:
                await _print(app, stopping, console=console, heading=heading, demo=target is None)
            else:
                await _show(app, stopping, console=console, heading=heading, demo=target is None)
        console.print("stopping …")
    console.print(f"stopped; {worker.settled} attempts ended here")


async def _show(app: App, stopping: Stopping, *, console: Console, heading: str, demo: bool) -> None:
    following = Following(app)
    with Live(console=console, auto_refresh=False, screen=False) as live:
        while not stopping.asked.is_set():
            await _refresh(following)
            hints = _hints(following, demo=demo)
            shown = screen.render(following, heading=heading, hints=hints, height=console.height)
            live.update(shown, refresh=True)
            await _pause(stopping)


async def _print(app: App, stopping: Stopping, *, console: Console, heading: str, demo: bool) -> None:
    following = Following(app)
    console.print(heading, markup=False)
    for what, how in _hints(following, demo=demo):
        console.print(f"  {what}: {how}", markup=False)
    while not stopping.asked.is_set():
        await _refresh(following)
        for line in screen.lines(following.changed):
            console.print(f"{dt.datetime.now():%H:%M:%S}  {line}", markup=False)
        await _pause(stopping)


async def _refresh(following: Following) -> None:
    # the view may miss a turn; the worker says itself what is wrong with the database
    with contextlib.suppress(errors.DatabaseError):
        await following.refresh()


async def _pause(stopping: Stopping) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stopping.asked.wait(), _REFRESH)


@contextlib.asynccontextmanager
async def _producing(*, demo: bool) -> AsyncIterator[None]:
    if not demo:
        yield
        return
    producer = asyncio.create_task(loading.load(f"{DEMO}:produce")())
    try:
        yield
    finally:
        producer.cancel()
        await asyncio.gather(producer, return_exceptions=True)


async def _heading(app: App, *, demo: bool) -> str:
    what = "a demo app" if demo else f"{len(app.registry.kinds())} kinds of task"
    if app.settings.database_url is None:
        where = f"the embedded PostgreSQL in {app.settings.folder.absolute()}"
    else:
        where = "the PostgreSQL of DATABASE_URL"
    return f"Weft is running {what} on {where}. Ctrl-C stops it."


def _hints(following: Following, *, demo: bool) -> list[tuple[str, str]]:
    newest = str(next(reversed(following.recent), "ID"))
    hints = [
        ("look at a task", f"weft tasks show {newest}"),
        ("why does it wait", f"weft explain {newest}"),
        ("what has died", "weft dead list"),
    ]
    if demo:
        hints.insert(0, ("enqueue one", """weft enqueue hello '{"name": "you"}'"""))
        hints.append(("your own app", "weft dev app:app"))
    return hints
