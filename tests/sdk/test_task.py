"""Declarations: what a function becomes, how its payload is read, what is refused when it is declared."""

import dataclasses
import datetime as dt
from typing import Any

import pytest

from weft.base import errors
from weft.sdk.context import Context
from weft.sdk.task import Registry, Task


@dataclasses.dataclass
class Address:
    street: str
    number: int = 1


def declare(function: Any, **options: Any) -> Task[Any, Any]:
    name, version = options.pop("name", None), options.pop("version", None)
    return Registry().add(function, name=name, version=version, **options)


async def greet(to: str, times: int = 1) -> str:
    return to * times


async def test_a_declared_function_is_still_a_function() -> None:
    task = declare(greet)
    assert (task.kind, await task("a", times=2), task.__name__) == ("greet", "aa", "greet")


def test_a_name_and_a_version_make_the_kind() -> None:
    assert declare(greet, name="mail.greet").kind == "mail.greet"
    assert declare(greet, version=2).kind == "greet:2"


def test_versions_live_side_by_side_and_a_kind_only_once() -> None:
    registry = Registry()
    registry.add(greet, name=None, version=1)
    registry.add(greet, name=None, version=2)
    assert registry.kinds() == ["greet:1", "greet:2"]
    with pytest.raises(errors.InvalidInput, match="'greet:1' is already registered; give one of them another name="):
        registry.add(greet, name=None, version=1)
    assert registry.get("greet:2") is not None and registry.get("greet") is None


def test_arguments_are_converted_to_what_the_function_says() -> None:
    async def deliver(address: Address, when: dt.datetime, tags: list[str], note: str | None = None) -> None: ...

    arguments = declare(deliver).arguments(
        '{"address": {"street": "Elm"}, "when": "2026-01-01T00:00:00Z", "tags": ["a"]}'
    )
    assert arguments == {
        "address": Address("Elm"), "when": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "tags": ["a"], "note": None}  # fmt: skip


@pytest.mark.parametrize("payload", ['{"to": 7}', "{}", '{"to": "a", "extra": 1}', '{"to": "a", "times": "x"}', "[]"])
def test_a_payload_that_does_not_fit_is_refused(payload: str) -> None:
    with pytest.raises(errors.InvalidPayload, match="the payload does not fit greet"):
        declare(greet).arguments(payload)


def test_a_function_without_annotations_or_with_keywords_takes_what_comes() -> None:
    async def loose(a, b=2): ...  # type: ignore[no-untyped-def]
    async def keywords(**rest: Any) -> None: ...

    assert declare(loose).arguments('{"a": 1, "c": 3}') == {"a": 1, "c": 3}
    assert declare(keywords).arguments('{"x": 1}') == {"x": 1}


def test_a_function_without_parameters_is_called_without_any() -> None:
    async def nothing() -> None: ...

    assert declare(nothing).arguments("{}") == {}


def test_the_context_is_found_by_its_annotation_and_not_by_its_name() -> None:
    async def first(work: Context, to: str) -> None: ...
    async def named(to: str, ctx: "Context") -> None: ...
    async def without(ctx: str) -> None: ...

    assert (declare(first).context_name, declare(first).arguments('{"to": "a"}')) == ("work", {"to": "a"})
    assert declare(named).context_name == "ctx"
    assert declare(without).context_name is None


def test_sync_functions_run_in_threads_and_async_ones_on_the_loop() -> None:
    def sync() -> None: ...
    async def asynchronous() -> None: ...

    assert declare(sync).options.isolate == "thread"
    assert declare(asynchronous).options.isolate == "loop"
    assert declare(sync, isolate="process").options.isolate == "process"


def test_a_batch_handler_takes_a_list_under_its_own_name() -> None:
    async def send(ctx: Context, letters: list[dict[str, Any]]) -> None: ...

    assert declare(send, batch=10).batch_name == "letters"


def test_options_are_read_as_people_write_them() -> None:
    options = declare(
        greet, retry={"backoff": "fixed"}, timeout="1m", retry_on=OSError, fail_on=(ValueError, KeyError),
        capabilities=["gpu"], queue=None,
    ).options  # fmt: skip
    assert (options.timeout, options.retry_on, options.fail_on) == (
        dt.timedelta(minutes=1), (OSError,), (ValueError, KeyError))  # fmt: skip
    assert (options.capabilities, options.queue, options.retry.backoff) == (("gpu",), "default", "fixed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_attempts": 0}, "between 1 and 1000"), ({"priority": 200}, "priority 200"),
        ({"queue": "a+b"}, "queue 'a\\+b'"), ({"isolate": "space"}, "'loop', 'thread' or 'process'"),
        ({"batch": 0}, "at least 1"), ({"batch": 2, "isolate": "process"}, "leave one of them out"),
        ({"timeout": "long"}, "timeout 'long'"), ({"attempts": 3}, "unknown task option 'attempts'; known: batch"),
        ({"capabilities": ["g+"]}, "capability 'g\\+'"), ({"name": "a\n"}, "task name"),
    ],
)  # fmt: skip
def test_an_option_that_means_nothing_is_refused_when_it_is_declared(options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidInput, match=message):
        declare(greet, **options)
