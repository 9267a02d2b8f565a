"""`weft login`: tries a key or token on a server, and keeps it as a profile that is used from then on."""

import sys
from typing import Any

import click

from weft.base import errors
from weft.cli import loop, output, profiles
from weft.cli.profiles import Profile
from weft.client.client import Client


@click.command(epilog="\b\nExamples:\n  weft login https://weft.example.com\n"
                      "  echo $KEY | weft login https://weft.example.com --key - --profile work")  # fmt: skip
@click.argument("server", metavar="URL")
@click.option("--key", metavar="KEY", help="A key, or a token of the server's issuer; - reads it from standard input. "
                                           "Asked for if not given.")  # fmt: skip
@click.option("--profile", "name", metavar="NAME", default="default", show_default=True, help="What to call the profile.")
@output.as_json
def login(*, server: str, key: str | None, name: str, as_json: bool) -> None:
    """Log in to a server, and talk to it from now on.

    The credential is tried at URL and kept as a profile; nothing is kept if the server does not take it. `weft profile use
    local` goes back to the local database.
    """
    profiles.check_name(name)
    if key == "-":
        key = sys.stdin.readline()
    elif key is None and sys.stdin.isatty():
        key = click.prompt("Key", hide_input=True, err=True)
    key = (key or "").strip()
    if not key:
        raise errors.InvalidInput("no key was given; pipe it in with --key -, or run this in a terminal to be asked")
    me = loop.run(_me(server, key))
    stored = profiles.load()
    stored.profiles[name] = Profile(server, key)
    stored.used = name
    profiles.save(stored)
    if as_json:
        output.write_json({"profile": name, "server": server, **me})
    else:
        click.echo(f"{me['actor']}, {me['role']} of {me['org_slug']}, at {server}; kept as the profile {name}")


async def _me(server: str, key: str) -> Any:
    async with Client(server, key) as client:
        return await client.get("/v1/me")
