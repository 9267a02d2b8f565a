"""`weft profile`: the servers you talk to, by name."""

import sys

import click

from weft.base import errors
from weft.cli import output, profiles
from weft.cli.profiles import Profile
from weft.client.client import Client


@click.group()
def profile() -> None:
    """Name the servers you talk to, with their keys.

    They are kept in ~/.config/weft/profiles.json, which only you can read.
    """


@profile.command(epilog="\b\nExamples:\n  weft profile add work --server https://weft.example.com\n"
                        "  echo $KEY | weft profile add work --server https://weft.example.com --key -")  # fmt: skip
@click.argument("name")
@click.option("--server", required=True, metavar="URL", help="The server's address.")
@click.option("--key", metavar="KEY", help="Its key; - reads it from standard input. Asked for if not given.")
@click.option("--use", is_flag=True, help="Use it from now on.")
@output.as_json
def add(*, name: str, server: str, key: str | None, use: bool, as_json: bool) -> None:
    """Add a profile, or change one."""
    profiles.check_name(name)
    if key == "-":
        key = sys.stdin.readline()
    elif key is None and sys.stdin.isatty():
        key = click.prompt("Key", hide_input=True, default="", show_default=False, err=True)
    key = (key or "").strip() or None
    Client(server, key)  # says what is wrong with either
    stored = profiles.load()
    stored.profiles[name] = Profile(server, key)
    if use:
        stored.used = name
    profiles.save(stored)
    if as_json:
        output.write_json({"name": name, "server": server, "has_key": key is not None, "used": stored.used == name})
    else:
        click.echo(f"{name} is {server}" + ("" if stored.used == name else f"; use it: weft profile use {name}"))


@profile.command(name="list", epilog="Example: weft profile list")
@output.as_json
def list_profiles(*, as_json: bool) -> None:
    """Show the profiles; keys stay hidden."""
    stored = profiles.load()
    found = [
        {"name": name, "server": one.server, "has_key": one.key is not None, "used": name == stored.used}
        for name, one in sorted(stored.profiles.items())
    ]
    if as_json:
        output.write_json(found)
        return
    rows = [("*" if one["used"] else "", one["name"], one["server"], "" if one["has_key"] else "no key") for one in found]
    output.console().print(output.rows(("", "name", "server", ""), rows, empty="no profiles; the local database is used"))


@profile.command(epilog="\b\nExamples:\n  weft profile use work\n  weft profile use local")
@click.argument("name")
@output.as_json
def use(*, name: str, as_json: bool) -> None:
    """Talk to this server from now on; `local` is the local database again."""
    stored = profiles.load()
    stored.used = None if name == profiles.LOCAL else name
    if stored.used is not None:
        profiles.find(stored, name)
    profiles.save(stored)
    output.write_json({"used": stored.used}) if as_json else click.echo(f"using {name}")


@profile.command(epilog="Example: weft profile remove work")
@click.argument("name")
@output.as_json
def remove(*, name: str, as_json: bool) -> None:
    """Forget a profile and its key."""
    stored = profiles.load()
    try:
        profiles.find(stored, name)
    except errors.ConfigError as error:
        raise errors.NotFound(error.message) from None
    del stored.profiles[name]
    if stored.used == name:
        stored.used = None
    profiles.save(stored)
    output.write_json({"removed": name}) if as_json else click.echo(f"removed {name}")
