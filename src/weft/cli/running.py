"""What commands need that run tasks themselves: an event loop and the app they are told to use."""

import contextlib
import gc
from collections.abc import AsyncIterator

from weft.app import App
from weft.base import errors
from weft.cli import loop, output
from weft.sdk import loading

run = loop.run
write_json = output.write_json


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


def ready() -> None:
    """A process that stays has loaded what it needs: none of that is garbage, and looking at it again and again would be a
    good part of what collecting costs."""
    gc.collect()
    gc.freeze()
