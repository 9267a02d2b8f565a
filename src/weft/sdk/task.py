"""Task declarations: what `@app.task` makes of a function, and the registry that holds them."""

import dataclasses
import datetime as dt
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Generic, Literal, ParamSpec, TypeVar

import msgspec

from weft.base import durations, errors, json, names
from weft.sdk import dag
from weft.sdk import retry as retries
from weft.sdk.context import Context

P = ParamSpec("P")
R = TypeVar("R")

Isolation = Literal["loop", "thread", "process"]
"""Where a handler runs: async on the loop, sync in a thread, or in a child process that can be killed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How tasks of a kind are run unless the task itself says otherwise."""

    queue: str = "default"
    priority: int = 50
    max_attempts: int = 3
    retry: retries.Retry = retries.DEFAULT
    retry_on: tuple[type[BaseException], ...] = ()
    """If given, only these errors are retried."""
    fail_on: tuple[type[BaseException], ...] = ()
    """These errors are never retried."""
    timeout: dt.timedelta | None = None
    capabilities: tuple[str, ...] = ()
    isolate: Isolation = "loop"
    batch: int | None = None
    """One call gets up to this many tasks, as a list of payloads."""


class Task(Generic[P, R]):
    """A registered function. Calling it calls the function, or makes a node where a DAG is declared; enqueueing it is the
    app's business."""

    def __init__(self, function: Callable[P, R], *, kind: str, options: Options) -> None:
        self.function = function
        self.kind = kind
        self.options = options
        self.context_name = _context_parameter(function)
        # nothing stands between the worker and the function: no thread, no deadline, no context to pass
        self.immediate = options.isolate == "loop" and options.timeout is None and self.context_name is None
        functools.update_wrapper(self, function)
        self._decode = _decoder(function, context_name=self.context_name, batch=options.batch is not None)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        made: Any = dag.called(self, args, kwargs)
        if made is not None:
            return made  # type: ignore[no-any-return]
        return self.function(*args, **kwargs)

    @property
    def batch_name(self) -> str:
        """The parameter that takes a batch handler's list of payloads."""
        return next(name for name in inspect.signature(self.function).parameters if name != self.context_name)

    def arguments(self, payload: str) -> dict[str, Any]:
        """The payload as keyword arguments, converted to the annotated types; InvalidPayload if it does not fit."""
        try:
            return self._decode(payload)
        except msgspec.ValidationError as error:
            raise errors.InvalidPayload(f"the payload does not fit {self.kind}: {error}") from None

    def __repr__(self) -> str:
        return f"<task {self.kind}>"


class Registry:
    """Kinds by name."""

    def __init__(self, made: Callable[..., Task[Any, Any]] = Task) -> None:
        self._tasks: dict[str, Task[Any, Any]] = {}
        self.made = made

    def add(self, function: Callable[P, R], *, name: str | None, version: str | int | None, **options: Any) -> Task[P, R]:
        kind = names.check(name or getattr(function, "__name__", ""), what="task name")
        if version is not None:
            kind = names.check(f"{kind}:{version}", what="task name with version")
        if kind in self._tasks:
            raise errors.InvalidInput(f"a task named {kind!r} is already registered; give one of them another name=")
        task = self.made(function, kind=kind, options=_options(function, options))
        self._tasks[kind] = task
        return task

    def get(self, kind: str) -> Task[Any, Any] | None:
        return self._tasks.get(kind)

    def __iter__(self) -> Iterator[Task[Any, Any]]:
        return iter(self._tasks.values())

    def kinds(self) -> list[str]:
        return list(self._tasks)


def _options(function: Callable[..., Any], given: dict[str, Any]) -> Options:
    known = {field.name for field in dataclasses.fields(Options)}
    if unknown := set(given) - known:
        raise errors.InvalidInput(f"unknown task option {sorted(unknown)[0]!r}; known: {', '.join(sorted(known))}")
    given = {name: value for name, value in given.items() if value is not None}
    if "retry" in given:
        given["retry"] = retries.of(given["retry"])
    if "timeout" in given:
        given["timeout"] = durations.parse(given["timeout"], name="timeout")
    for name in ("retry_on", "fail_on"):
        if name in given and isinstance(given[name], type):
            given[name] = (given[name],)
    if "capabilities" in given:
        given["capabilities"] = tuple(names.check(one, what="capability") for one in given["capabilities"])
    options = Options(**given)
    names.check(options.queue, what="queue")
    check_priority(options.priority)
    if not 1 <= options.max_attempts <= 1000:
        raise errors.InvalidInput(f"max_attempts {options.max_attempts} must be between 1 and 1000")
    if options.batch is not None and options.batch < 1:
        raise errors.InvalidInput("batch must be at least 1")
    if options.batch is not None and options.isolate == "process":
        raise errors.InvalidInput("batch and isolate='process' do not go together; leave one of them out")
    if options.isolate not in ("loop", "thread", "process"):
        raise errors.InvalidInput(f"isolate {options.isolate!r} must be 'loop', 'thread' or 'process'")
    if options.isolate == "loop" and not inspect.iscoroutinefunction(function):
        options = dataclasses.replace(options, isolate="thread")
    return options


def declared_options(function: Callable[..., Any], given: dict[str, Any]) -> Options:
    """What a declaration says, checked."""
    return _options(function, given)


def check_priority(priority: object) -> int:
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= 100:
        raise errors.InvalidInput(f"priority {priority!r} must be a whole number from 0 (last) to 100 (first)")
    return priority


def _context_parameter(function: Callable[..., Any]) -> str | None:
    """The name of the parameter annotated `Context`, which the worker fills."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.annotation is Context or parameter.annotation in ("Context", "weft.Context"):
            return name
    return None


def _decoder(function: Callable[..., Any], *, context_name: str | None, batch: bool) -> Callable[[str], dict[str, Any]]:
    parameters = [one for name, one in inspect.signature(function).parameters.items() if name != context_name]
    if not parameters and not batch:
        return _no_arguments
    if batch or any(one.kind is one.VAR_KEYWORD or one.annotation is one.empty for one in parameters):
        return msgspec.json.Decoder(dict[str, Any]).decode
    try:
        hints = inspect.get_annotations(function, eval_str=True)
    except NameError:
        return msgspec.json.Decoder(dict[str, Any]).decode
    fields = [
        (one.name, hints[one.name]) if one.default is one.empty else (one.name, hints[one.name], one.default)
        for one in parameters
    ]
    shape = msgspec.defstruct(f"{function.__name__}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    decode = msgspec.json.Decoder(shape, dec_hook=json.read).decode
    return lambda payload: msgspec.structs.asdict(decode(payload))


def _no_arguments(payload: str) -> dict[str, Any]:
    return {} if payload == "{}" else msgspec.json.decode(payload, type=dict[str, Any])
