"""A run of two thousand nodes in a real browser, with `WEFT_LONG=1`; `bench --scenario live` says how soon it is there."""

import many_nodes
import pytest
from browsing import Seen, Staged

pytest_plugins = ("browsing",)
MANY = 2000


@pytest.mark.long
def test_two_thousand_nodes_are_a_picture_and_a_list_that_scrolls(staged: Staged, seen: Seen) -> None:
    many_nodes.painted(seen, many_nodes.made(staged, MANY))
    many_nodes.walk(seen, MANY)
