"""`weft secret`: values that tasks are given when they run. They come from a prompt or stdin, never as an argument."""

import sys
from typing import Any

import click

from weft.access import keyring, secrets, webhook_keys
from weft.app import App
from weft.base import errors
from weft.cli import connecting, loop, output
from weft.cli.connecting import Where
from weft.client import client


@click.group(epilog="\b\nExample:\n  weft secret set SMTP_PASSWORD < password.txt")
def secret() -> None:
    """Keep secrets that tasks are given when they run, and rotate their keys."""


@secret.command("set", epilog="\b\nExamples:\n  weft secret set SMTP_PASSWORD\n  weft secret set TOKEN --remote < token.txt")
@click.argument("name")
@click.option("--remote/--no-remote", default=None, help="Whether workers over HTTP may have it. Default: as before, or no.")
@output.as_json
@connecting.options
def set_secret(*, name: str, remote: bool | None, as_json: bool, where: Where) -> None:
    """Keep a value under NAME. It is asked for, or read from stdin; a newline at its end is left out.

    A task's payload names it as ${secrets.NAME}.
    """
    kept = loop.run(_put(where, name, {"value": _value(name), "remote": remote}))
    if as_json:
        output.write_json(kept)
    else:
        click.echo(f"{kept['name']} is kept, version {kept['version']}")


@secret.command("list", epilog="\b\nExample:\n  weft secret list")
@output.as_json
@connecting.options
def list_secrets(*, as_json: bool, where: Where) -> None:
    """List the org's secrets, without their values."""
    found = loop.run(_list(where))
    if as_json:
        output.write_json(found)
        return
    rows = [
        (one["name"], one["version"], "yes" if one["remote"] else "no", output.moment(one["updated_at"]), one["updated_by"])
        for one in found
    ]
    output.console().print(output.rows(("name", "version", "over HTTP", "updated", "by"), rows, empty="no secrets yet"))


@secret.command(epilog="\b\nExample:\n  weft secret delete SMTP_PASSWORD")
@click.argument("name")
@output.as_json
@connecting.options
def delete(*, name: str, as_json: bool, where: Where) -> None:
    """Forget the secret NAME. Tasks that name it fail from now on."""
    loop.run(_delete(where, name))
    if as_json:
        output.write_json({"name": name, "deleted": True})
    else:
        click.echo(f"{name} is gone")


@secret.command(epilog="\b\nExample:\n  weft secret keygen > /etc/weft/secret.key && chmod 600 /etc/weft/secret.key")
@output.as_json
def keygen(*, as_json: bool) -> None:
    """Print a new key, for the file that WEFT_SECRET_KEY_FILE names."""
    key = keyring.generate()
    output.write_json({"key": key}) if as_json else click.echo(key)


@secret.command(epilog="\b\nExample:\n  weft secret rotate")
@output.as_json
def rotate(*, as_json: bool) -> None:
    """Seal every secret of every org anew with the first key of the ring.

    Needs the database and the key file. May be broken off and said again at any time.
    """
    done, by_key, ring = loop.run(_rotate())
    left = {key: count for key, count in by_key.items() if key != ring.current}
    if as_json:
        output.write_json({"rotated": done, "current": ring.current, "left": left})
        return
    click.echo(f"{done} sealed anew; {by_key.get(ring.current, 0)} are now under the key {ring.current}")
    for key, count in left.items():
        # either its key is missing here, or somebody still seals with it
        click.echo(f"{count} are still under the key {key}: keep that key, add it to the ring, and rotate again", err=True)
    if not left:
        click.echo("the other keys of the ring are needed no more")


def _value(name: str) -> str:
    if sys.stdin.isatty():
        value: str = click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt="Again", err=True)
        return value
    try:
        return sys.stdin.buffer.read(secrets.LONGEST + 2).decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise errors.InvalidInput("the value on stdin is not UTF-8 text; encode it, for example as base64") from None


async def _put(where: Where, name: str, body: dict[str, Any]) -> Any:
    async with connecting.connected(where) as server:
        return await server.put(client.path("/v1/secrets/{}", name), body)


async def _list(where: Where) -> list[Any]:
    async with connecting.connected(where) as server:
        return [one async for one in server.pages("/v1/secrets")]


async def _delete(where: Where, name: str) -> None:
    async with connecting.connected(where) as server:
        await server.delete(client.path("/v1/secrets/{}", name))


async def _rotate() -> tuple[int, dict[str, int], keyring.Keyring]:
    async with App() as app:
        ring = keyring.load(app.settings)
        done = 0
        while True:
            async with app.tx() as tx:
                batch = await secrets.rotate(tx, ring, actor=connecting.actor())
                hooks = await webhook_keys.rotate(tx, ring)
            done += batch + hooks
            if batch < secrets.BATCH and hooks < webhook_keys.BATCH:
                break
        async with app.tx() as tx:
            return done, await secrets.by_key(tx), ring
