"""Which server a command talks to, and talking to it.

    --server, --profile, WEFT_SERVER, WEFT_PROFILE   over the network
    DATABASE_URL or WEFT_FOLDER                      in this process: the same application over the local database
    the profile in use (`weft profile use`)          over the network
    none of these                                    in this process

The first that is given decides. Either way it is one code path: commands only know `Client`.
"""

import contextlib
import dataclasses
import functools
import getpass
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar

import click

from weft.base import errors, importing
from weft.cli import profiles
from weft.cli.profiles import Profile
from weft.client.client import Client

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    ("--server", "URL", "Talk to this server, instead of the local database."),
    ("--key", "KEY", "The key for --server. Others see it in the list of processes; WEFT_KEY and profiles are safer."),
    ("--profile", "NAME", "Talk to the server of this profile; `local`: to none."),
    ("--org", "SLUG", "The org, when talking to the local database. Default: default."),
)

HERE = "http://weft.local"
"""What the application in this process is called. Nothing is ever sent there."""


@dataclasses.dataclass(frozen=True)
class Where:
    """What a command was told about whom to talk to."""

    server: str | None = None
    key: str | None = None
    profile: str | None = None
    org: str | None = None


def options(command: F) -> F:
    """Adds --server, --key, --profile and --org, given to the command together as `where`."""

    @functools.wraps(command)
    def told(*args: Any, server: str | None, key: str | None, profile: str | None, org: str | None, **rest: Any) -> Any:
        return command(*args, where=Where(server, key, profile, org), **rest)

    for name, metavar, meaning in reversed(_OPTIONS):
        told = click.option(name, metavar=metavar, help=meaning)(told)
    return told  # type: ignore[return-value]


def chosen(where: Where, environ: Mapping[str, str]) -> Profile | None:
    """The server to talk to; None: the local database. ConfigError for what contradicts itself."""
    found = _chosen(where, environ)
    if found is None:
        if where.key is not None:
            raise errors.ConfigError("--key needs --server: the address it opens")
    elif where.org is not None:
        raise errors.ConfigError("--org is for the local database; with a server, the org is the key's own")
    return found


def _chosen(where: Where, environ: Mapping[str, str]) -> Profile | None:
    if where.server is not None:
        if where.profile is not None:
            raise errors.ConfigError("give --server or --profile, not both")
        return Profile(where.server, where.key or environ.get("WEFT_KEY") or None)
    named = where.profile
    if named is None and environ.get("WEFT_SERVER"):
        return Profile(environ["WEFT_SERVER"], where.key or environ.get("WEFT_KEY") or None)
    named = named or environ.get("WEFT_PROFILE") or None
    if named is None and not any(environ.get(name) for name in ("DATABASE_URL", "WEFT_DATABASE_URL", "WEFT_FOLDER")):
        named = profiles.load().used
    if named is None or named == profiles.LOCAL:
        return None
    found = profiles.find(profiles.load(), named)
    return Profile(found.server, where.key or found.key)


@contextlib.asynccontextmanager
async def connected(where: Where) -> AsyncIterator[Client]:
    """A client for one command."""
    found = chosen(where, os.environ)
    if found is None:
        async with here(org=where.org) as client:
            yield client
        return
    async with Client(found.server, found.key) as client:
        yield client


@contextlib.asynccontextmanager
async def here(app: Any = None, *, org: str | None = None) -> AsyncIterator[Client]:
    """The application in this process over the database of the settings, or of an app; whoever runs this is an admin."""
    # imported only here: a command that talks to a server far away needs none of it
    local = importing.load("weft.cli.local", frozen=True)
    async with (
        local.application(app, queries=app and app.queries, org=org, actor=actor()) as application,
        Client(HERE, transport=application, tries=1) as client,
    ):
        yield client


def an_id(text: str, *, of: str) -> str:
    """An id as the API takes it; InvalidInput if it is none."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise errors.InvalidInput(f"{text!r} is not a {of} id (a UUID)") from None


def task_id(text: str) -> str:
    return an_id(text, of="task")


def actor() -> str:
    """Who runs this, as the journal names them."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # no name for this user id, as in some containers
        return f"cli:{os.getuid()}"
