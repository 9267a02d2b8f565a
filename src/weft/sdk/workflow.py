"""Declarations of durable workflows: what `@app.workflow`, `@app.step` and `@app.transaction` make of functions."""

import dataclasses
import datetime as dt
import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from weft.base import durations, errors, json, names
from weft.sdk import operation as operations
from weft.sdk import retry as policies
from weft.sdk import task as tasks
from weft.sdk.operation import Kind, Operation

P = ParamSpec("P")
R = TypeVar("R")

PREFIX = "workflow:"
"""The kind of a run's task is this, the workflow's name and its version."""

RETRY = policies.Retry(base=1, cap=600)
"""Between the attempts of a step, unless it says otherwise."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepOptions:
    retries: int = 0
    """How often it is tried again after it failed."""
    retry: policies.Retry = RETRY
    retry_on: tuple[type[BaseException], ...] = ()
    fail_on: tuple[type[BaseException], ...] = ()
    timeout: dt.timedelta | None = None


class Step(Generic[P, R]):
    """A function whose result is kept. Inside a workflow a call asks for it; elsewhere it is just called."""

    def __init__(
        self, function: Callable[P, R], *, name: str, kind: Kind, options: StepOptions,
        compensate: "Step[Any, Any] | None" = None,
    ) -> None:  # fmt: skip
        self.function = function
        self.name = name
        self.kind = kind
        self.options = options
        self.compensate = compensate
        self.is_async = inspect.iscoroutinefunction(function)
        self.reads = reader(function)
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(function)
        if kind == "transaction" and (not self.is_async or not self._signature.parameters):
            raise errors.InvalidInput(f"transaction {name!r} must be async and take a connection first")
        if compensate is not None:
            self._must_fit(compensate)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        branch = operations.current()
        if branch is None:
            return self.function(*args, **kwargs)
        return self.asked(branch, args, kwargs)  # type: ignore[return-value]

    def keyed(self, key: str) -> Callable[P, R]:
        """The same, known by this key instead of its place in the code: `await charge.keyed("first")(order)`."""

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return self.asked(operations.inside("keyed"), args, kwargs, key=key)  # type: ignore[return-value]

        return call

    def asked(
        self, branch: operations.Branch, args: Any, kwargs: dict[str, Any], *, key: str | None = None
    ) -> Operation:
        return Operation(branch, self.kind, self.name, about=(self, args, kwargs), key=key, reads=self.reads)

    def undo(self, args: Any, kwargs: dict[str, Any]) -> str | None:
        """What its compensation must know of a call, as JSON text."""
        if self.compensate is None:
            return None
        first = (None, *args) if self.kind == "transaction" else args
        bound = self._signature.bind(*first, **kwargs)
        bound.apply_defaults()
        # a transaction's connection is nobody's argument
        given = list(bound.arguments.items())[1 if self.kind == "transaction" else 0 :]
        wanted = list(inspect.signature(self.compensate.function).parameters)
        wanted = wanted[1 if self.compensate.kind == "transaction" else 0 :]
        arguments = {name: value for name, value in given if name in wanted}
        return json.text({"compensate": self.compensate.name, "arguments": arguments}, what=f"arguments of step {self.name}")

    def undoing(self, arguments: dict[str, Any], output: str | None, *, of: str) -> dict[str, Any]:
        """The arguments of this compensation, for a step that had these and answered that. HistoryMismatch, if they do not
        fit what it takes now."""
        parameters = self._signature.parameters
        given = {**arguments, "result": _loads(output)} if "result" in parameters else arguments
        hints = _hints(self.function)
        try:
            self._signature.bind(*([None] if self.kind == "transaction" else []), **given)
            return {
                name: msgspec.convert(value, hints[name], strict=False, dec_hook=json.read) if name in hints else value
                for name, value in given.items()
            }
        except (TypeError, msgspec.ValidationError) as error:
            raise errors.HistoryMismatch(
                f"step {of!r} cannot be undone with {self.name!r}: what it was called with, or answered, does not fit what "
                f"that takes now: {error}; undo it with the code that did it"
            ) from None

    def _must_fit(self, compensate: "Step[Any, Any]") -> None:
        parameters = inspect.signature(compensate.function).parameters
        skipped = 1 if compensate.kind == "transaction" else 0
        for name, parameter in list(parameters.items())[skipped:]:
            if name != "result" and name not in self._signature.parameters and parameter.default is parameter.empty:
                raise errors.InvalidInput(
                    f"{compensate.name!r} cannot undo {self.name!r}: its parameter {name!r} is none of the step's; it may "
                    f"take the step's parameters by their names, and `result`"
                )

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Workflow(Generic[P, R]):
    """A durable function. Inside a workflow a call runs it as a child; elsewhere start it with `app.start`."""

    def __init__(
        self, function: Callable[P, R], *, name: str, version: str, options: tasks.Options, signals: tuple[str, ...] | None
    ) -> None:
        if not inspect.iscoroutinefunction(function):
            raise errors.InvalidInput(f"workflow {name!r} must be an async function")
        self.function: Callable[..., Any] = function
        self.name = name
        self.version = version
        self.kind = f"{PREFIX}{name}:{version}"
        self.options = options
        self.signals = signals
        self.reads = reader(function)
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(function)
        self._decoding = tasks.Task(function, kind=self.kind, options=options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        branch = operations.current()
        if branch is None:
            raise errors.Conflict(f"start the workflow {self.name!r} with: await app.start({self.name}, …)")
        return self._child(branch, args, kwargs)  # type: ignore[return-value]

    def arguments(self, payload: str) -> dict[str, Any]:
        return self._decoding.arguments(payload)

    def bound(self, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name; InvalidInput if they do not fit."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise errors.InvalidInput(f"the arguments do not fit workflow {self.name!r}: {error}") from None
        return dict(bound.arguments)

    def payload(self, args: Any, kwargs: dict[str, Any]) -> str:
        """Arguments as JSON text, checked against the function's own types."""
        text = json.text(self.bound(args, kwargs), what=f"arguments of workflow {self.name}")
        self.arguments(text)
        return text

    async def _child(self, branch: operations.Branch, args: Any, kwargs: dict[str, Any]) -> Any:
        here = operations.current() or branch
        start = self.starting(here, args, kwargs)
        run = await start
        here = operations.current() or branch
        return await Operation(here, "child", self.name, about=run, reads=self.reads)

    def starting(self, branch: operations.Branch, args: Any, kwargs: dict[str, Any], *, detached: bool = False) -> Operation:
        """Asks for a run of it; answers its id."""
        about = (self, self.payload(args, kwargs), detached)
        return Operation(branch, "start", self.name, about=about, reads=_loads)

    def __repr__(self) -> str:
        return f"<workflow {self.name} {self.version}>"


class Declared:
    """The steps and workflows of an app, by name."""

    def __init__(self) -> None:
        self.steps: dict[str, Step[Any, Any]] = {}
        self.workflows: dict[str, Workflow[Any, Any]] = {}

    def step(
        self, function: Callable[..., Any], *, name: str | None, kind: Kind, compensate: Any, options: dict[str, Any]
    ) -> Step[Any, Any]:
        title = names.check(name or getattr(function, "__name__", ""), what="step name")
        if title in self.steps:
            raise errors.InvalidInput(f"a step named {title!r} is already declared; give one of them another name=")
        if compensate is not None and not isinstance(compensate, Step):
            compensate = self.steps.get(getattr(compensate, "__name__", "")) or self.step(
                compensate, name=None, kind="step", compensate=None, options={"retries": options.get("retries", 3)}
            )
        made = Step(function, name=title, kind=kind, options=_options(options), compensate=compensate)
        self.steps[title] = made
        return made

    def workflow(
        self, function: Callable[..., Any], *, name: str | None, version: str | int, signals: Any, options: dict[str, Any]
    ) -> Workflow[Any, Any]:
        title = names.check(name or getattr(function, "__name__", ""), what="workflow name")
        if ":" in title:
            raise errors.InvalidName(f"workflow name {title!r} must not contain a colon")
        version = names.check(str(version), what="version")
        if refused := set(options) - {"queue", "priority"}:
            raise errors.InvalidInput(
                f"workflow {title!r} cannot have the option {sorted(refused)[0]!r}; it has name, version, signals, queue "
                f"and priority; attempts, times and retries are those of its steps (@app.step)"
            )
        made: Workflow[Any, Any] = Workflow(
            function, name=title, version=version, options=tasks.declared_options(function, options),
            signals=None if signals is None else tuple(names.check(one, what="signal") for one in signals),
        )  # fmt: skip
        if made.kind in self.workflows:
            raise errors.InvalidInput(
                f"workflow {title!r} version {version} is already declared; give one of them another name="
            )
        self.workflows[made.kind] = made
        return made

    def latest(self, name: str) -> Workflow[Any, Any] | None:
        """The one of this name that was declared last."""
        return next((one for one in reversed(self.workflows.values()) if one.name == name), None)


def reader(function: Callable[..., Any]) -> Callable[[str | None], Any]:
    """Turns a stored result into the type the function says it answers."""
    returns = _hints(function).get("return", Any)
    if returns is None or returns is type(None):
        return _nothing
    if returns is Any:
        return _loads
    try:
        decode = msgspec.json.Decoder(returns, dec_hook=json.read).decode
    except TypeError:
        return _loads

    def read(text: str | None) -> Any:
        return None if text is None else decode(text)

    return read


def _loads(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _nothing(text: str | None) -> None:
    return None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except NameError:
        return {}


def _options(given: dict[str, Any]) -> StepOptions:
    known = {field.name for field in dataclasses.fields(StepOptions)}
    if unknown := set(given) - known:
        raise errors.InvalidInput(
            f"unknown step option {sorted(unknown)[0]!r}; known: {', '.join(sorted(known))}, compensate, name"
        )
    given = {name: value for name, value in given.items() if value is not None}
    if "retry" in given:
        given["retry"] = policies.of(given["retry"])
    if "timeout" in given:
        given["timeout"] = durations.parse(given["timeout"], name="timeout")
    for name in ("retry_on", "fail_on"):
        if name in given and isinstance(given[name], type):
            given[name] = (given[name],)
    options = StepOptions(**given)
    if not 0 <= options.retries <= 1000:
        raise errors.InvalidInput(f"retries {options.retries} must be between 0 and 1000")
    return options
