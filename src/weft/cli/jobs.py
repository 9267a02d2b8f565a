"""`weft jobs`: make them, look at them, steer them. What became of their times: executions.py."""

import uuid
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from weft.base import durations
from weft.cli import connecting, executions, given, job_words, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

which = click.argument("job", metavar="NAME|ID")
STATUS = ("ACTIVE", "PAUSED", "COMPLETED", "DELETED")


@click.group(cls=Listing)
def jobs() -> None:
    """Make jobs that fire by the clock, look at them and steer them. `weft jobs` alone lists."""


@jobs.command(name="list", epilog="\b\nExamples:\n  weft jobs list\n  weft jobs list --status PAUSED --tag nightly")
@click.option("--status", type=click.Choice(STATUS), help="Only of this status; without it all but DELETED.")
@click.option("--type", "job_type", type=click.Choice(("CRON", "ONE_TIME", "DELAYED")), help="Only of this type.")
@click.option("--tag", metavar="NAME", help="Only with this tag.")
@click.option("--name", metavar="TEXT", help="Only those whose name begins so.")
@click.option("--sort", type=click.Choice(("-created_at", "created_at", "name", "next_run_time")), default="name",
              show_default=True, help="In which order; next_run_time shows only those that wait for one.")  # fmt: skip
@listing.limit(100)
@showing.watching
@connecting.options
@output.as_json
def list_jobs(
    *, status: str | None, job_type: str | None, tag: str | None, name: str | None, sort: str, limit: int, watch: bool,
    every: float, where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Show jobs and when they fire next."""
    query = {"status": status, "type": job_type, "tag": tag, "name": name, "sort": sort}

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/jobs", query=query, most=limit)

    showing.present(look, _listed, where=where, every=every if watch else None, as_json=as_json)


@jobs.command(
    epilog="""\b
Examples:
  weft jobs create nightly --cron "0 2 * * *" --tz Europe/Berlin --task report --args '{"kind": "sales"}'
  weft jobs create ping --cron "*/5 * * * *" --payload '{"endpoint": "https://example.com/ping"}'
  weft jobs create once --at 2030-01-01T09:00Z --task greet
  weft jobs create soon --delay 10m --task greet --tag demo"""
)
@click.argument("name")
@click.option("--cron", metavar="EXPRESSION", help="When: five fields, or @daily. See weft cron preview.")
@click.option("--tz", default="UTC", show_default=True, metavar="ZONE", help="The time zone of --cron, by its IANA name.")
@click.option("--at", metavar="TIME", help="When: once, at 2030-01-01T09:00Z.")
@click.option("--delay", metavar="DURATION", help="When: once, so long from now: 30s, 1h30m.")
@click.option("--task", metavar="KIND", help="What: run the task of this kind.")
@click.option("--args", metavar="JSON", help="With --task: its arguments.")
@click.option("--payload", metavar="JSON", help="What, in full: endpoint, task, command, dag, workflow or flow.")
@job_words.options
@connecting.options
@output.as_json
def create(
    *, name: str, cron: str | None, tz: str, at: str | None, delay: str | None, task: str | None, args: str | None,
    payload: str | None, where: Where, as_json: bool, **more: Any,
) -> None:  # fmt: skip
    """Make a job called NAME, and say when it fires."""
    body = {"name": name, "payload": _payload(task, args, payload), **_when(cron, tz, at, delay), **job_words.said(more)}
    answer = loop.run(_ask(where, "POST", "/v1/jobs", body))
    if as_json:
        output.write_json(answer)
    else:
        click.echo(f"{answer['job_id']}  {answer['name']}, next at {output.moment(answer['next_run_time'])}")


@jobs.command(epilog="Example: weft jobs show nightly")
@which
@showing.watching
@connecting.options
@output.as_json
def show(*, job: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Everything about a job, its next times, and its latest executions."""

    async def look(client: Client) -> Any:
        id = await executions.find(client, job)
        found = await client.get(clients.path("/v1/jobs/{}", id))
        times = await client.get(clients.path("/v1/jobs/{}/preview", id), query={"n": 3})
        latest = await client.get(clients.path("/v1/jobs/{}/executions", id), query={"limit": 5})
        return {**found, "next_times": times["times"], "words": times["words"], "executions": latest["items"]}

    showing.present(look, _one, where=where, every=every if watch else None, as_json=as_json)


@jobs.command(
    epilog="\b\nExamples:\n  weft jobs update nightly --cron '0 3 * * *'\n  weft jobs update nightly --args '{\"n\": 2}'\n"
    "  weft jobs update nightly --timeout 10m --max-attempts 5 --tag slow"
)
@which
@click.option("--name", metavar="NAME", help="Another name.")
@click.option("--cron", metavar="EXPRESSION", help="Another expression; one that fired once becomes a CRON job.")
@click.option("--tz", metavar="ZONE", help="Another time zone.")
@click.option("--at", metavar="TIME", help="Once, at 2030-01-01T09:00Z, instead of what it is.")
@click.option("--delay", metavar="DURATION", help="Once, so long from now, instead of what it is.")
@click.option("--payload", metavar="JSON", help="Something else to do.")
@click.option("--args", metavar="JSON", help="Other arguments for its task.")
@job_words.options
@connecting.options
@output.as_json
def update(
    *, job: str, name: str | None, cron: str | None, tz: str | None, at: str | None, delay: str | None,
    payload: str | None, args: str | None, where: Where, as_json: bool, **more: Any,
) -> None:  # fmt: skip
    """Change a job; what is not said stays. Tags replace those it has."""
    change: dict[str, Any] = job_words.said(more)
    change |= {} if (cron, at, delay) == (None, None, None) else _when(cron, None, at, delay)
    change |= {word: value for word, value in (("name", name), ("timezone", tz)) if value is not None}
    new, arguments = _object(payload, "--payload"), _object(args, "--args")
    if not change and new is None and arguments is None:
        raise click.UsageError("say what to change, such as --cron, --payload or --timeout; --help lists what there is")

    async def changed() -> Any:
        async with connecting.connected(where) as client:
            path = clients.path("/v1/jobs/{}", await executions.find(client, job))
            before = await client.get(path)
            if new is not None:
                change["payload"] = new
            elif arguments is not None:
                change["payload"] = {**before["payload"], "args": arguments}
            if "retry_config" in change:
                change["retry_config"] = {**before["retry_config"], **change["retry_config"]}
            return await client.put(path, {**change, "version": before["version"]})

    _say(loop.run(changed()), as_json=as_json)


@jobs.command(epilog="Example: weft jobs pause nightly")
@which
@connecting.options
@output.as_json
def pause(*, job: str, where: Where, as_json: bool) -> None:
    """Fire nothing of a job from now on; what was dispatched goes on."""
    _say(loop.run(_steer(where, job, "pause")), as_json=as_json)


@jobs.command(epilog="Example: weft jobs resume nightly")
@which
@connecting.options
@output.as_json
def resume(*, job: str, where: Where, as_json: bool) -> None:
    """Fire a paused job again, and one that was set aside."""
    _say(loop.run(_steer(where, job, "resume")), as_json=as_json)


@jobs.command(epilog="\b\nExamples:\n  weft jobs trigger nightly\n"
                     "  weft jobs trigger nightly --payload '{\"args\": {\"n\": 2}}'")  # fmt: skip
@which
@click.option("--payload", metavar="JSON", help="Laid over the job's own payload, for this execution.")
@click.option("--idempotency-key", metavar="KEY", help="Only once for this key.")
@connecting.options
@output.as_json
def trigger(*, job: str, payload: str | None, idempotency_key: str | None, where: Where, as_json: bool) -> None:
    """Execute a job now, paused or not, and print the execution's id."""
    body = {"payload": _object(payload, "--payload"), "idempotency_key": idempotency_key}
    answer = loop.run(_steer(where, job, "trigger", body))
    output.write_json(answer) if as_json else click.echo(answer["execution_id"])


@jobs.command(epilog="Example: weft jobs delete nightly")
@which
@connecting.options
@output.as_json
def delete(*, job: str, where: Where, as_json: bool) -> None:
    """Delete a job: it fires no more, its executions stay."""

    async def deleted() -> str:
        async with connecting.connected(where) as client:
            id = await executions.find(client, job)
            await client.delete(clients.path("/v1/jobs/{}", id))
            return id

    id = loop.run(deleted())
    output.write_json({"deleted": id}) if as_json else click.echo(f"deleted {job}")


@jobs.command(epilog="Example: weft jobs preview nightly --count 3")
@which
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="How many times.")
@connecting.options
@output.as_json
def preview(*, job: str, count: int, where: Where, as_json: bool) -> None:
    """Say when a job fires next."""

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/jobs/{}/preview", await executions.find(client, job)), query={"n": count})

    showing.present(look, _times, where=where, every=None, as_json=as_json)


jobs.add_command(executions.executions)
jobs.add_command(executions.execution)
jobs.add_command(executions.logs)
jobs.add_command(executions.cancel)
jobs.add_command(executions.backfill)
jobs.add_command(executions.backfills)
jobs.add_command(executions.cancel_backfill)


async def _steer(where: Where, job: str, verb: str, body: Any = None) -> Any:
    async with connecting.connected(where) as client:
        return await client.post(clients.path(f"/v1/jobs/{{}}/{verb}", await executions.find(client, job)), body)


async def _ask(where: Where, method: str, path: str, body: Any) -> Any:
    async with connecting.connected(where) as client:
        return await client.call(method, path, body, key=uuid.uuid4().hex)


def _when(cron: str | None, tz: str | None, at: str | None, delay: str | None) -> dict[str, Any]:
    if sum(one is not None for one in (cron, at, delay)) != 1:
        raise click.UsageError('say when: --cron "0 9 * * *", --at 2030-01-01T09:00Z, or --delay 10m')
    if cron is not None:
        return {"job_type": "CRON", "cron_expression": cron, **({} if tz is None else {"timezone": tz})}
    if at is not None:
        return {"job_type": "ONE_TIME", "run_at": job_words.moment(at, "--at")}
    return {"job_type": "DELAYED", "delay_seconds": durations.parse(delay or "", name="--delay").total_seconds()}


def _payload(task: str | None, args: str | None, payload: str | None) -> Any:
    if (task is None) == (payload is None):
        raise click.UsageError("say what to do: --task KIND (with --args), or --payload JSON")
    if args is not None and task is None:
        raise click.UsageError("--args goes with --task")
    return _object(payload, "--payload") if task is None else {"task": task, "args": _object(args, "--args") or {}}


def _object(text: str | None, option: str) -> dict[str, Any] | None:
    return None if text is None else given.mapping(text, option)


def _say(job: Any, *, as_json: bool) -> None:
    if as_json:
        output.write_json(job)
        return
    following = f", next at {output.moment(job['next_run_time'])}" if job["next_run_time"] else ""
    click.echo(f"{job['name']} is {job['status']}{following}")


def _status(job: Any) -> Text:
    colour = {"ACTIVE": "green", "PAUSED": "yellow", "COMPLETED": "blue", "DELETED": "dim"}[job["status"]]
    return Text("set aside" if job["error"] else job["status"].lower(), style="red" if job["error"] else colour)


def _listed(found: Gathered) -> RenderableType:
    rows: Sequence[Sequence[object]] = [
        (one["name"], _status(one), one["cron_expression"] or one["job_type"].lower(), one["timezone"],
         output.moment(one["next_run_time"]), output.moment(one["last_run_time"]), (one["error"] or {}).get("message"))
        for one in found.items
    ]  # fmt: skip
    table = output.rows(("job", "", "when", "zone", "next", "last", ""), rows, empty="no jobs")
    return showing.noted(table, found)


def _one(job: Any) -> RenderableType:
    table = showing.fields(job, without=("executions", "next_times"))
    times = [Text("then", style="dim"), Text("  ".join(output.moment(at) for at in job["next_times"]))]
    table.add_row(*times)
    return Group(table, Text(), executions.listed(Gathered(job["executions"])))


def _times(found: Any) -> RenderableType:
    said = [Text(f"{found['words']} ({found['timezone']})")] if found["words"] else []
    rows = [(at, output.moment(at)) for at in found["times"]]
    return Group(*said, output.rows(("UTC", "here"), rows, empty="never"))
