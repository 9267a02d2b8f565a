"""`weft dev`: PostgreSQL, the API, upkeep, a worker that reloads your code, and a live view. Without an app: a demo."""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from weft.app import App
from weft.base import errors
from weft.cli import birth, demo_lab, devkey, enqueue, output, reloading, running, screen, serving, working
from weft.cli.following import Following
from weft.cli.stopping import Stopping
from weft.client.client import Client
from weft.net.guard import Unreachable
from weft.sdk import loading
from weft.web import bundle

DEMO = "weft.cli.demo_app"
_REFRESH = 0.5
_GRACE = "2"


@dataclasses.dataclass
class Stage:
    """What the parts of `weft dev` share."""

    app: App
    target: str | None
    console: Console
    stopping: Stopping
    concurrency: int
    reload: bool
    url: str = ""
    key: str = ""
    worker: reloading.Reloading | None = None

    @property
    def demo(self) -> bool:
        return self.target is None

    def crash(self) -> int | None:
        """For the demo: kills the worker beside the database; it is started anew."""
        return None if self.worker is None else self.worker.crash()

    def say(self, line: str) -> None:
        """A line above the live view, if there is one."""
        self.console.print(line, markup=False)


@click.command(epilog="\b\nExamples:\n  weft dev\n  weft dev app:app")
@click.argument("target", metavar="[MODULE:APP]", required=False)
@click.option("-c", "--concurrency", type=click.IntRange(1, 10_000), default=20, show_default=True,
              help="Tasks to run at a time.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), metavar="N",
              help=f"Where the API listens, on this machine only: {serving.PORT}, or any if that is taken.")  # fmt: skip
@click.option("--no-reload", "reload", is_flag=True, flag_value=False, default=True,
              help="Do not start the worker anew when a file here changes.")  # fmt: skip
@click.option("--plain", is_flag=True, help="Lines instead of a screen, as when the output is no terminal.")
def dev(*, target: str | None, concurrency: int, port: int | None, reload: bool, plain: bool) -> None:
    """PostgreSQL, the API, a worker and a live view, with one command.

    Without MODULE:APP it runs a demo on the embedded PostgreSQL in WEFT_FOLDER (.weft here). With one it runs your app,
    on the database your app names, and starts its worker anew when you change a file below this folder. Ctrl-C stops
    everything; what was enqueued is still there the next time.
    """
    console = output.console()
    lines = plain or not console.is_terminal
    # a log line would tear the screen; what matters is on it
    working.set_up_logging("warning" if lines else "critical")
    running.run(_develop(target, concurrency=concurrency, port=port, reload=reload, console=console, lines=lines))
    working.leave_threads()


async def _develop(
    target: str | None, *, concurrency: int, port: int | None, reload: bool, console: Console, lines: bool
) -> None:
    stopping = Stopping()
    stopping.install()
    app = running.load_app(target or f"{DEMO}:app")
    stage = Stage(app, target, console, stopping, concurrency, reload)
    stage.say("starting PostgreSQL, the API and a worker …")
    async with app, _served(stage, port=port), _working(stage), Client(stage.url, stage.key) as client:
        for line in _greeting(stage):
            stage.say(line)
        async with _producing(stage, client):
            await (_print if lines else _show)(stage, Following(client))
        stage.say("stopping …")
    stage.say("stopped; what was enqueued is still there the next time")


@contextlib.asynccontextmanager
async def _served(stage: Stage, *, port: int | None) -> AsyncIterator[None]:
    """The API on loopback, with a key to it; this process also leads the upkeep."""
    chosen = port if port is not None else _free(serving.PORT)
    async with serving.served(stage.app, port=chosen, demo=stage if stage.demo else None) as stage.url:
        stage.key = await devkey.ready(stage.app)
        yield


@contextlib.asynccontextmanager
async def _working(stage: Stage) -> AsyncIterator[None]:
    """A worker for the app in a process of its own; for the demo also one that works over HTTP."""
    here: list[str] = [stage.target or f"{DEMO}:app", "-c", str(stage.concurrency), "--grace", _GRACE]
    here += ["--log-level", "warning"]
    if stage.demo:
        queues: tuple[str, ...] = loading.load(f"{DEMO}:HERE")
        here += ["-q", ",".join(queues)]
    folder = Path.cwd() if stage.reload and not stage.demo else None
    crew = [reloading.Reloading(here, folder=folder, say=stage.say)]
    if stage.demo:
        far = [f"{DEMO}:app", "-q", str(loading.load(f"{DEMO}:FAR")), "-c", "5", "--grace", _GRACE]
        far += ["--log-level", "warning", "--http", stage.url]
        key = await devkey.ready(stage.app, role="worker")
        crew.append(reloading.Reloading(far, folder=None, say=stage.say, environ={"WEFT_KEY": key}))
    stage.worker = crew[0]
    working_now = [asyncio.create_task(one.run()) for one in crew]
    try:
        yield
    finally:
        for task in working_now:
            task.cancel()
        await asyncio.gather(*working_now, return_exceptions=True)


@contextlib.asynccontextmanager
async def _producing(stage: Stage, client: Client) -> AsyncIterator[None]:
    """The demo's content, and the time to its first finished task."""
    if not stage.demo:
        yield
        return
    worker_key = await devkey.ready(stage.app, role="worker")
    tasks = [
        asyncio.create_task(_time_first(stage, client)),
        asyncio.create_task(loading.load(f"{DEMO}:produce")()),
        asyncio.create_task(demo_lab.run(stage.url, key=stage.key, worker_key=worker_key)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _time_first(stage: Stage, client: Client) -> None:
    made = await client.post("/v1/tasks", {"kind": "hello", "payload": {"name": "you"}, "priority": 100}, repeat=True)
    await enqueue.result(client, made["id"], within=None)
    took, made = birth.ago(), birth.made_ago()
    installed = made is not None and made > took + 2
    stage.say(
        f"the first task was finished {took:.1f} s after the start"
        + (f" ({made:.0f} s after `make`, which installed everything first)" if installed else "")
    )


async def _show(stage: Stage, following: Following) -> None:
    with Live(console=stage.console, auto_refresh=False, screen=False) as live:

        def draw() -> None:
            shown = screen.render(
                following, heading="Weft. Ctrl-C stops it.", hints=_hints(stage, following), height=stage.console.height
            )
            live.update(shown, refresh=True)

        await _follow(stage, following, draw)


async def _print(stage: Stage, following: Following) -> None:
    for what, how in _hints(stage, following):
        stage.say(f"  {what}: {how}")

    def draw() -> None:
        for line in screen.lines(following.changed):
            stage.say(f"{dt.datetime.now():%H:%M:%S}  {line}")

    await _follow(stage, following, draw)


async def _follow(stage: Stage, following: Following, draw: Callable[[], None]) -> None:
    while not stage.stopping.asked.is_set():
        # the view may miss a turn; the worker says itself what is wrong with the database
        with contextlib.suppress(errors.DatabaseError, Unreachable):
            await following.refresh()
            draw()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stage.stopping.asked.wait(), _REFRESH)


def _greeting(stage: Stage) -> list[str]:
    app = stage.app
    what = "a demo app" if stage.demo else f"{len(app.registry.kinds())} kinds of task"
    where = (
        f"the embedded PostgreSQL in {app.settings.folder.absolute()}" if app.settings.database_url is None
        else "the PostgreSQL of DATABASE_URL"
    )  # fmt: skip
    return [
        f"Weft is running {what} on {where}.",
        f"  its pages: {stage.url}/#key={stage.key}" if bundle.built() else "  its pages: not built; see `make ui`",
        f"  the API: {stage.url}  (what it can: /v1/openapi.json)",
        f"  its key: {stage.key}  (an admin's, of the org default)",
    ]


def _hints(stage: Stage, following: Following) -> list[tuple[str, str]]:
    newest = next(reversed(following.recent), "ID")
    hints = [
        ("see tasks come and go", "weft tasks list --watch"),
        ("look at a task", f"weft tasks show {newest}"),
        ("why does it wait", f"weft explain {newest}"),
        ("what has died", "weft dead list"),
        ("is all well", "weft doctor"),
    ]
    if stage.demo:
        hints.insert(0, ("enqueue one", """weft enqueue hello '{"name": "you"}' --wait"""))
        hints.append(("what the clock starts", "weft jobs list"))
        hints.append(("a DAG of every minute", "weft dag runs greetings"))
        hints.append(("a workflow, a flow of agents", "weft run list"))
        hints.append(("kill a worker, lose nothing", "weft demo crash"))
        hints.append(("agents at work (simulated)", "weft aiopslab list --watch"))
        hints.append(("your own app", "weft dev app:app"))
    return hints


def _free(port: int) -> int:
    """The port if nobody has it, else 0 for any that is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((serving.HOST, port))
        except OSError:
            return 0
    return port
