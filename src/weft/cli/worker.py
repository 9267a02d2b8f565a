"""`weft worker`: runs the tasks of an app, in one process or several."""

import os

import click

from weft.base import errors
from weft.cli import running, supervise, working
from weft.cli.working import Work

LEVELS = ("debug", "info", "warning", "error")


def _listed(_ctx: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """`-q a,b -q c` as ('a', 'b', 'c')."""
    return tuple(name.strip() for one in value for name in one.split(",") if name.strip())


@click.command(
    epilog="""\b
Examples:
  weft worker app:app
  weft worker shop.tasks:app -q email,default -c 50 --processes 2
  weft worker app:app --capability gpu --max-memory 2048
  weft worker app:app --http https://weft.example.com --key weftw_…"""
)
@click.argument("target", metavar="MODULE:APP")
@click.option("-q", "--queues", multiple=True, callback=_listed, metavar="NAMES",
              help="Queues to serve, separated by commas. All, if not given.")  # fmt: skip
@click.option("-c", "--concurrency", type=click.IntRange(1, 10_000), default=50, show_default=True,
              help="Tasks to run at a time, in each process.")  # fmt: skip
@click.option("--processes", type=click.IntRange(1, 256), default=1, show_default=True,
              help="Worker processes; one that dies is replaced.")  # fmt: skip
@click.option("--capability", "capabilities", multiple=True, metavar="NAME",
              help="Something this worker has and some tasks need, such as gpu. Repeatable.")  # fmt: skip
@click.option("--grace", type=click.FloatRange(min=0), default=30.0, show_default=True, metavar="SECONDS",
              help="How long running tasks may finish after a stop signal; the rest is given back.")  # fmt: skip
@click.option("--max-tasks", type=click.IntRange(min=1), metavar="N",
              help="Replace a process after about this many attempts.")  # fmt: skip
@click.option("--max-memory", type=click.IntRange(min=1), metavar="MIB",
              help="Replace a process that uses more memory than this.")  # fmt: skip
@click.option("--no-lead", "lead", is_flag=True, flag_value=False, default=True,
              help="Never do the cluster's upkeep here. Some other process must.")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True,
              help="What to log. What your handlers log from here on is kept with their tasks.")  # fmt: skip
@click.option("--http", metavar="URL",
              help="Work over HTTP only, for the server at this address: no database is needed.")  # fmt: skip
@click.option("--key", envvar="WEFT_KEY", metavar="KEY",
              help="The worker key for --http; better in WEFT_KEY, where others on this machine cannot see it.")  # fmt: skip
@click.option("--supervised", is_flag=True, hidden=True)
@click.pass_context
def worker(ctx: click.Context, /, *, processes: int, **told: object) -> None:
    """Run the tasks of the App named MODULE:APP until stopped.

    SIGTERM or Ctrl-C drains: no more is claimed, what runs may finish, the rest is given back and its attempt does not
    count. A second signal gives everything back at once.
    """
    wanted = Work(**told)  # type: ignore[arg-type]  # the options above are its fields
    if wanted.http is not None:
        if not wanted.key:
            raise errors.ConfigError("--http needs a worker key: pass --key or set WEFT_KEY (make one: weft key create)")
        os.environ["WEFT_KEY"] = wanted.key
    used_up = wanted.max_tasks is not None or wanted.max_memory is not None
    if wanted.supervised or (processes == 1 and not used_up):
        working.work(wanted)
        return
    working.set_up_logging(wanted.log_level)
    supervisor = supervise.Supervisor(supervise.command(wanted), processes=processes)
    ctx.exit(running.run(supervisor.run()))
