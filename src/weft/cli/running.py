"""What every command needs: a fast event loop, the app it is told to use, and one way to write JSON."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import click
import msgspec

from weft.app import App
from weft.base import errors
from weft.sdk import loading

T = TypeVar("T")

try:
    import uvloop

    _new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
except ImportError:  # not on every platform
    _new_loop = asyncio.new_event_loop


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on the fastest loop there is here."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(main)


def load_app(target: str) -> App:
    """The app of `module:app`; ConfigError if there is none."""
    found = loading.load(target)
    if not isinstance(found, App):
        kind = type(found).__name__
        raise errors.ConfigError(f"{target} is not a weft.App but {kind}; write module:name_of_your_App")
    return found


@contextlib.asynccontextmanager
async def opened(target: str | None = None) -> AsyncIterator[App]:
    """An app for one command: the one named, or one that knows no tasks, on the database of the settings."""
    async with App() if target is None else load_app(target) as app:
        yield app


def write_json(value: object) -> None:
    """A value on stdout as indented JSON; ids, times and dataclasses become text and objects."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
