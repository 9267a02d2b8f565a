"""Finding the app a command names: `module:app`, or `module` with an `app` in it."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from weft.base import errors


def load(target: str) -> Any:
    """The object meant by `package.module:name`; ConfigError says what is missing."""
    module_name, _, attribute = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise errors.ConfigError(
                f"there is no module {module_name!r} here; name the file that holds your app, e.g. `weft worker app:app`"
            ) from None
        raise
    found = module
    for part in (attribute or "app").split("."):
        if not hasattr(found, part):
            raise errors.ConfigError(f"{module_name} has no {attribute or 'app'!r}; write module:name_of_your_App")
        found = getattr(found, part)
    return found


def caller() -> str:
    """The module whose code called the function that asks; of a program that was started itself the file's name, so that
    it is the same as when it is imported."""
    names = sys._getframe(2).f_globals
    module: str = names.get("__name__", "app")
    return Path(names.get("__file__") or "app").stem if module == "__main__" else module
