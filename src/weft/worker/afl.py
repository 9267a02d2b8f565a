"""The kinds that AFL programs need besides their agents': `afl.script` and `afl.prompt`."""

from collections.abc import Callable
from typing import Any

from weft.base import errors
from weft.base.config import Settings
from weft.sdk import prompting
from weft.worker import builtin, prompts
from weft.worker.script import Scripts

SCRIPT = "afl.script"


def afl_tasks(settings: Settings) -> list[tuple[Callable[..., Any], str, dict[str, Any]]]:
    """Their handlers as (function, name, options), ready for `Registry.add`."""
    return [
        (Scripts().run, SCRIPT, {"fail_on": (errors.InvalidInput,)}),
        (prompting.handler(prompts.endpoint(settings)), prompting.KIND,
         {"fail_on": (builtin.HttpFailed, errors.Refused), "retry": prompting.SOON}),
    ]  # fmt: skip
