"""`weft enqueue`: a task from a shell, or many from a file."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from weft.base import durations, errors, json
from weft.cli import bulk, connecting, loop, output
from weft.cli.connecting import Where
from weft.client import client as clients
from weft.client.client import Client
from weft.sdk import loading

_POLL = 30.0
_PATIENCE = 15.0
"""Seconds a server may take longer to answer than it was asked to wait."""


@click.command(
    epilog="""\b
Examples:
  weft enqueue send_email '{"to": "ada@example.com"}'
  weft enqueue report --queue slow --delay 1h
  weft enqueue report --wait --within 2h && echo done
  weft enqueue send_email --file payloads.jsonl"""
)
@click.argument("kind")
@click.argument("payload", metavar="[JSON]", required=False)
@click.option("-f", "--file", "source", type=click.File("rb"), metavar="PATH",
              help="One task for each line, a JSON object; - is standard input. Checked as a whole first.")  # fmt: skip
@click.option("--skip", type=click.IntRange(min=0), default=0, metavar="N",
              help="With --file: leave out so many lines, which an earlier call enqueued.")  # fmt: skip
@click.option("-q", "--queue", metavar="NAME", help="The queue; what the task declares, if --app says, else default.")
@click.option("--priority", type=click.IntRange(0, 100), help="0 (last) to 100 (first); 50 unless declared.")
@click.option("--delay", metavar="DURATION", help="Not before this long from now: 30s, 1h30m, 2d.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag to find it by. Repeatable.")
@click.option("--max-attempts", type=click.IntRange(1, 1000), metavar="N", help="How often it may be tried.")
@click.option("--dedupe-key", metavar="KEY", help="Answer the unfinished task with this key, if there is one.")
@click.option("--concurrency-key", metavar="KEY", help="Run one at a time of those with this key.")
@click.option("--app", "target", metavar="MODULE:APP", help="Take the task's declaration (queue, priority…) from here.")
@click.option("--no-check", "check", is_flag=True, flag_value=False, default=True,
              help="Enqueue it even if no running worker knows this kind.")  # fmt: skip
@click.option("--wait", is_flag=True, help="Wait for its end and print the result; exit with 1 unless it completed.")
@click.option("--within", metavar="DURATION", help="With --wait: give up after this long (exit 1); the task goes on.")
@connecting.options
@output.as_json
@click.pass_context
def enqueue(
    ctx: click.Context, /, *, kind: str, payload: str | None, source: Any, skip: int, target: str | None, check: bool,
    wait: bool, within: str | None, where: Where, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Enqueue a task of KIND with the arguments in JSON, and print its id."""
    if within is not None and not wait:
        raise click.UsageError("--within says how long to --wait; give both")
    if source is not None and (payload is not None or wait or options["dedupe_key"]):
        raise click.UsageError("--file gives the payloads: leave out JSON, --wait and --dedupe-key")
    # what is known to be wrong is said before anything is sent
    limit = None if within is None else durations.parse(within, name="--within").total_seconds()
    task = {"kind": kind, "check": check, **_declared(target, kind), **_options(options)}
    if source is not None:
        lines = bulk.read(source, skip=skip)
        with _told():
            made = loop.run(bulk.send(lines, task, where=where, skip=skip))
        output.write_json({"enqueued": made}) if as_json else click.echo(f"{made} enqueued")
        return
    task["payload"] = _arguments("{}" if payload is None else payload)
    with _told():
        ctx.exit(loop.run(_enqueue(task, where=where, wait=wait, within=limit, as_json=as_json)))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What a field of the API does, an option does here."""
    try:
        yield
    except errors.UnknownKind as error:
        raise errors.UnknownKind(error.message.replace("leave `check` out", "add --no-check")) from error


async def _enqueue(task: dict[str, Any], *, where: Where, wait: bool, within: float | None, as_json: bool) -> int:
    async with connecting.connected(where) as client:
        made = await client.post("/v1/tasks", task, repeat=True)
        if not wait:
            _say(made, as_json=as_json)
            return 0
        ended = await result(client, made["id"], within=within)
    if as_json:
        output.write_json({**made, **ended})
    elif ended["state"] == "completed":
        output.write_json(ended["result"])
    else:
        told = ended["error"] or {}
        why = told.get("message") or ended["reason"] or "no reason was given"
        click.echo(f"weft: task {made['id']} {ended['state'].replace('_', ' ')}: {output.short(why, most=500)}", err=True)
    return 0 if ended["state"] == "completed" else 1


async def result(client: Client, id: str, *, within: float | None) -> Any:
    """How a task ended; ResultTimeout if it has not by then."""
    deadline = None if within is None else time.monotonic() + within
    while True:
        left = _POLL if deadline is None else min(max(deadline - time.monotonic(), 0.0), _POLL)
        answer = await client.get(
            clients.path("/v1/tasks/{}/result", id), query={"wait": left}, timeout=left + _PATIENCE
        )  # fmt: skip
        if answer["ended"]:
            return answer
        if deadline is not None and time.monotonic() >= deadline:
            raise errors.ResultTimeout(f"task {id} has not ended within {within:g} s; it goes on")


def _say(made: Any, *, as_json: bool) -> None:
    if as_json:
        output.write_json(made)
    else:
        click.echo(made["id"] if made["created"] else f"{made['id']} (it was there already)")


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as the API takes them."""
    found = {name: value for name, value in given.items() if value not in (None, ())}
    if "delay" in found:
        found["delay"] = durations.parse(found["delay"], name="--delay").total_seconds()
    return found


def _declared(target: str | None, kind: str) -> dict[str, Any]:
    """What the app's declaration says of the kind."""
    if target is None:
        return {}
    registry = getattr(loading.load(target), "registry", None)
    task = None if registry is None else registry.get(kind)
    if task is None:
        raise errors.UnknownKind(f"{target} declares no task {kind!r}")
    said = task.options
    return {"queue": said.queue, "priority": said.priority, "capabilities": list(said.capabilities), "check": False}


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = msgspec.convert(json.parsed(text, what="the payload"), dict[str, Any])
    except ValueError as error:
        raise errors.InvalidPayload(f"""the payload is no JSON object: {error}; write '{{"to": "ada"}}'""") from None
    json.text(found)
    return found
