"""`weft dag create|list|versions|pause|resume|delete`: DAGs on a server, or on the local database."""

from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from weft.cli import connecting, dag_view, given, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered
from weft.client import client as clients
from weft.client.client import Client
from weft.dagfile import read

which = click.argument("dag", metavar="NAME|ID")


@click.command(epilog="\b\nExamples:\n  weft dag create nightly.yaml\n  weft dag create - < nightly.json")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@connecting.options
@output.as_json
def create(*, file: Path, where: Where, as_json: bool) -> None:
    """Save a DAG's file: a new DAG, or a new version of the one of its name."""
    definition = read.data(given.text(file))

    async def look(client: Client) -> Any:
        return await client.post("/v1/dags", definition)

    def shown(found: Any) -> RenderableType:
        tasks = f"{found['task_count']} task{'' if found['task_count'] == 1 else 's'}"
        return dag_view.line(f"{found['name']}: {tasks}, version {found['version_number']} ({found['version'][:12]})")

    showing.present(look, shown, where=where, every=None, as_json=as_json)


@click.command(name="list", epilog="Example: weft dag list --prefix etl")
@click.option("--prefix", metavar="TEXT", help="Only those whose name begins so.")
@listing.limit(100)
@connecting.options
@output.as_json
def list_dags(*, prefix: str | None, limit: int, where: Where, as_json: bool) -> None:
    """Show DAGs, newest first."""

    async def look(client: Client) -> Gathered:
        query = {} if prefix is None else {"name_prefix": prefix}
        return await listing.gather(client, "/v1/dags", query=query, most=limit)

    showing.present(look, dag_view.dags, where=where, every=None, as_json=as_json)


@click.command(epilog="Example: weft dag versions nightly")
@which
@connecting.options
@output.as_json
def versions(*, dag: str, where: Where, as_json: bool) -> None:
    """Show the versions of a DAG, newest first."""

    async def look(client: Client) -> Any:
        return (await client.get(clients.path("/v1/dags/{}/versions", dag)))["items"]

    def shown(found: Any) -> RenderableType:
        rows = [(one["number"], one["version"][:12], output.moment(one["created_at"])) for one in found]
        return output.rows(("number", "version", "made"), rows, empty="no versions")

    showing.present(look, shown, where=where, every=None, as_json=as_json)


@click.command(epilog="Example: weft dag pause nightly")
@which
@connecting.options
@output.as_json
def pause(*, dag: str, where: Where, as_json: bool) -> None:
    """Stop a DAG's schedule; runs that are asked for still start. (A run: weft dag pause-run.)"""
    _set(dag, "pause", where=where, as_json=as_json)


@click.command(epilog="Example: weft dag resume nightly")
@which
@connecting.options
@output.as_json
def resume(*, dag: str, where: Where, as_json: bool) -> None:
    """Resume a DAG's schedule. (A run: weft dag resume-run.)"""
    _set(dag, "resume", where=where, as_json=as_json)


@click.command(epilog="Example: weft dag delete nightly")
@which
@connecting.options
@output.as_json
def delete(*, dag: str, where: Where, as_json: bool) -> None:
    """Delete a DAG: runs that have begun go on, those that wait are cancelled."""

    async def deleted() -> None:
        async with connecting.connected(where) as client:
            await client.delete(clients.path("/v1/dags/{}", dag))

    loop.run(deleted())
    output.write_json({"deleted": dag}) if as_json else click.echo(f"deleted {dag}")


COMMANDS = (create, list_dags, versions, pause, resume, delete)


def _set(dag: str, verb: str, *, where: Where, as_json: bool) -> None:
    async def look(client: Client) -> Any:
        return await client.post(clients.path(f"/v1/dags/{{}}/{verb}", dag))

    def shown(found: Any) -> RenderableType:
        following = f", next at {output.moment(found['next_run_time'])}" if found["next_run_time"] else ""
        return dag_view.line(f"{found['name']} is {found['status']}{following}")

    showing.present(look, shown, where=where, every=None, as_json=as_json)
