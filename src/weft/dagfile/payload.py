"""What a payload asks for, for jobs and for tasks of DAGs alike: one of these words decides.

    task + args              a registered function              command (cwd, env)   a shell command, where allowed
    endpoint (method, …)     an HTTP call                       dag | workflow | flow (+ params)   a run is started,
    action + anything else   a registered function, as seed     and with `wait: true` its end is waited for
                             002 writes it
"""

from typing import Any, NamedTuple

from weft.base import errors, names
from weft.base.names import closest

STARTS = "weft.start"
"""The kind of task that starts a run."""

_WORDS: dict[str, tuple[str, ...]] = {
    "task": ("args",),
    "endpoint": ("method", "headers", "body", "expect", "timeout"),
    "command": ("cwd", "env"),
    "dag": ("params", "wait"),
    "workflow": ("params", "wait"),
    "flow": ("params", "wait"),
}


class Asked(NamedTuple):
    """A kind of task, and its arguments with references still in their texts."""

    kind: str
    args: dict[str, Any]
    inside: tuple[str, ...] = ()
    """Where in the payload the arguments are."""


def read(payload: Any) -> Asked:
    """What a payload asks for; InvalidInput says what it lacks."""
    if not isinstance(payload, dict):
        raise errors.InvalidInput("a payload is a map; write what to do, such as {task: name, args: {…}}")
    found = [word for word in (*_WORDS, "action") if word in payload]
    if len(found) != 1:
        raise errors.InvalidInput(
            f"a payload has one of task, endpoint, command, dag, workflow, flow, action; this one has "
            f"{' and '.join(found) or 'none: ' + (', '.join(map(str, payload)) or 'it is empty')}"
        )
    [word] = found
    named = payload[word]
    if word == "action":
        return Asked(_static(named, word), {key: value for key, value in payload.items() if key != "action"})
    for key in payload:
        if key != word and key not in _WORDS[word]:
            raise errors.InvalidInput(f"{key!r} does not go with {word!r}{closest(key, _WORDS[word])}")
    rest = {key: payload[key] for key in _WORDS[word] if key in payload}
    match word:
        case "task":
            args = rest.get("args", {})
            if not isinstance(args, dict):
                raise errors.InvalidInput("args is a map of arguments by name")
            return Asked(_static(named, word), args, ("args",))
        case "endpoint":
            return Asked("http", {"url": _text(named, word), **rest})
        case "command":
            if not isinstance(named, str | list):
                raise errors.InvalidInput("command is a text or a list of texts")
            return Asked("shell", {"command": named, **rest})
        case _:
            wait = rest.get("wait", False)
            if not isinstance(wait, bool):
                raise errors.InvalidInput("wait is true or false")
            asked = {"what": word, "name": _static(named, word), "params": rest.get("params", {})}
            return Asked(STARTS, {**asked, "wait": True} if wait else asked)


def _text(value: Any, word: str) -> str:
    if not isinstance(value, str):
        raise errors.InvalidInput(f"{word} is a text")
    return value


def _static(value: Any, word: str) -> str:
    """What runs must be known before it runs: workers are found by it."""
    if "${" in _text(value, word):
        raise errors.InvalidInput(f"{word} cannot be computed; name it")
    return names.check(value, what=word)
