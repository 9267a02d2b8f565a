"""What is imported is there, and garbage is looked for as before."""

import gc
import sys

import pytest

from weft.base import importing


@pytest.mark.parametrize("looks", [True, False])
def test_garbage_is_looked_for_afterwards_if_it_was_before(looks: bool) -> None:
    sys.modules.pop("colorsys", None)
    (gc.enable if looks else gc.disable)()
    try:
        assert importing.load("colorsys") is sys.modules["colorsys"]
        assert gc.isenabled() is looks
    finally:
        gc.enable()


def test_it_is_so_too_where_there_is_nothing_to_import() -> None:
    with pytest.raises(ModuleNotFoundError):
        importing.load("weft.there_is_no_such_module")
    assert gc.isenabled()


def test_what_there_is_can_be_frozen() -> None:
    before = gc.get_freeze_count()
    importing.load("colorsys", frozen=True)
    assert gc.get_freeze_count() > before
