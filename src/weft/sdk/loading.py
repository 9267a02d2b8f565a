"""Finding the app a command names: `module:app`, or `module` with an `app` in it."""

import importlib
import os
import sys
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
