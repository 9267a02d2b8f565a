"""Importing much, without looking for garbage meanwhile.

All that is imported stays. Python looks through it again and again while it grows, and once more when the process ends: of a
short command that is a fifth of the time.
"""

import gc
import importlib
import types


def load(name: str, *, frozen: bool = False) -> types.ModuleType:
    """The module. `frozen`: whatever there is by then is never looked through again, which is for whoever runs the process
    to say."""
    looks = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        if frozen:
            gc.freeze()
        if looks:
            gc.enable()
