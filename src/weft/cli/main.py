"""`weft`: finds the command, imports it only then, and turns our errors into one line and an exit code."""

import importlib
import io
import sys
from typing import Any, TextIO

import click

from weft.base import errors, importing, plain

COMMANDS = {
    "dev": ("weft.cli.dev:dev", "PostgreSQL, the API, a worker and a live view, with one command."),
    "demo": ("weft.cli.demo:demo", "Show what Weft does when things go wrong."),
    "server": ("weft.cli.server:server", "Serve the HTTP API, and lead upkeep if nobody else does."),
    "worker": ("weft.cli.worker:worker", "Run the tasks of the App named MODULE:APP."),
    "agent": ("weft.cli.agent:agent", "Run agents, which do the work of AFL's event facets."),
    "up": ("weft.cli.up:up", "Serve the HTTP API and run the tasks of MODULE:APP, in one process."),
    "enqueue": ("weft.cli.enqueue:enqueue", "Enqueue a task of KIND."),
    "tasks": ("weft.cli.tasks:tasks", "Look at tasks, their logs, cancel or redrive them."),
    "explain": ("weft.cli.tasks:explain", "Say why a task is not running, or a run does not go on."),
    "dead": ("weft.cli.dead:dead", "The dead letter list: look, redrive, discard."),
    "queues": ("weft.cli.queues:queues", "Look at queues, pause, resume and limit them."),
    "live": ("weft.cli.live:live", "Watch SUBJECT: print what it is, and again whenever that changed."),
    "nodes": ("weft.cli.nodes:nodes", "Look at the processes that are Weft's, workers and servers; drain a worker."),
    "locks": ("weft.cli.locks:locks", "Look at named locks that are held, and release them."),
    "jobs": ("weft.cli.jobs:jobs", "Make jobs that fire by the clock, look at them and steer them."),
    "cron": ("weft.cli.cron:cron", "Look at cron expressions."),
    "dag": ("weft.cli.dag:dag", "DAGs: check and draw files, save them, start runs, watch and mend them."),
    "afl": ("weft.cli.afl:afl", "AFL programs: check, compile, format and draw them, save and run them."),
    "runner": ("weft.cli.runner:runner", "Start runs of AFL's workflows, watch them, steer and mend them."),
    "workflow": ("weft.cli.workflow:workflow", "Look at workflows, start them, replay their runs."),
    "run": ("weft.cli.run:run", "Look at runs, send them signals, cancel, pause, retry and fork them."),
    "deploy": ("weft.cli.workflow:deploy", "Before you deploy: does the new code fit what is under way?"),
    "doctor": ("weft.cli.doctor:doctor", "Look for what endangers work."),
    "bench": ("weft.cli.bench:bench", "Measure Weft on your database: how fast it is, and what it asks of it."),
    "migrate": ("weft.cli.migrate:migrate", "Bring the database's schema up to date, or back."),
    "key": ("weft.cli.key:key", "Make, list and revoke the keys that open the API."),
    "secret": ("weft.cli.secret:secret", "Keep secrets that tasks are given when they run, and rotate their keys."),
    "audit": ("weft.cli.audit:audit", "Who did what, what was refused, and whether that record is whole."),
    "hosts": ("weft.cli.hosts:hosts", "Private hosts that an org's tasks may call in spite of the guard."),
    "org": ("weft.cli.org:org", "Look at orgs, make, limit and suspend them."),
    "user": ("weft.cli.user:user", "Look at an org's users, make, change and remove them."),
    "role": ("weft.cli.role:role", "Make roles of the org's own (role:finance) and assign them."),
    "worker-protocol": (
        "weft.cli.worker_protocol:worker_protocol",
        "What workers and servers say to each other over HTTP, and whether they do.",
    ),
    "aiopslab": (
        "weft.cli.aiopslab:aiopslab",
        "Problems for AIOps agents: submit them, watch them, run the workers that solve them.",
    ),
    "login": ("weft.cli.login:login", "Log in to a server, and talk to it from now on."),
    "profile": ("weft.cli.profile:profile", "Name the servers you talk to, with their keys."),
    "completion": ("weft.cli.completion:completion", "Print the script with which a shell completes weft's commands"),
}
"""Where each command lives, and its line in the help: there, so that `weft --help` imports none of them."""

FAILED = 1
WRONG = 2


class Lazy(click.Group):
    """A group that imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importing.load(module, frozen=True), attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except errors.WeftError as error:
            click.echo(f"weft: {plain.line(' '.join(error.message.split()))}", err=True)
            ctx.exit(exit_code(error))


def exit_code(error: errors.WeftError) -> int:
    """2 for what the caller must change, 1 for what went wrong."""
    return WRONG if isinstance(error, errors.ConfigError | errors.InvalidInput) else FAILED


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"weft {importlib.import_module('weft.base.version').VERSION}")
        ctx.exit()


@click.group(
    cls=Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nStart here:   weft dev\nSettings:     DATABASE_URL names your PostgreSQL; unset, Weft brings its own."
    "\nExit codes:   0 it worked, 1 it failed, 2 the command or a setting is wrong.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit."
)
def weft() -> None:
    """Weft runs work that must not be lost, on PostgreSQL."""


def main() -> None:
    """The entry point of the `weft` program."""
    sys.stdout = _whole(sys.stdout)
    weft(prog_name="weft")


def _whole(stream: TextIO) -> TextIO:
    """Unbuffered (PYTHONUNBUFFERED), Python takes no notice of a write that a signal cuts short, and the rest is lost: who
    writes more than a pipe holds is cut short when he is stopped and goes on. A line at a time is as prompt."""
    if not isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return stream
    return open(stream.fileno(), "w", buffering=1, encoding=stream.encoding, errors=stream.errors, closefd=False)
