"""The public surface, by name: adding to it or taking from it is a decision, not an accident."""

import ast
import importlib
from pathlib import Path

import pytest

import weft
from weft.base import errors

PUBLIC = [
    "Agent", "App", "Conflict", "Context", "Discard", "Enqueued", "InvalidInput", "InvalidName", "InvalidPayload",
    "LeaseLost", "NotFound", "OutcomeUnknown", "ResultTimeout", "Retry", "RetryLater", "Snooze", "Task", "TaskCancelled",
    "TaskFailed", "TaskTimedOut", "TaskView", "Unavailable", "UnknownKind", "WeftError", "current",
    "item", "node",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert list(weft.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_can_be_imported(name: str) -> None:
    found = getattr(weft, name)
    assert found.__module__.startswith("weft.")
    assert getattr(importlib.import_module(found.__module__), name) is found


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(weft.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = [(node.module, alias.name, alias.asname) for node in block.body if isinstance(node, ast.ImportFrom)
            for alias in node.names]  # fmt: skip
    assert sorted(name for _, name, _ in seen) == PUBLIC
    assert all(name == shown for _, name, shown in seen)
    assert all(getattr(weft, name).__module__ == module for module, name, _ in seen if module != "weft.base.errors")


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        weft.nothing_of_the_kind  # noqa: B018


def test_every_error_has_its_own_stable_code() -> None:
    tree = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.WeftError)]
    codes = [error.code for error in tree]
    assert len(set(codes)) == len(codes)
    assert all(error().message for error in tree)
