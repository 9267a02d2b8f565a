"""What a worker says is cut into portions that a server takes, in order and whole."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from weft.client import work


@given(st.lists(st.integers(0, 400_000), max_size=40), st.integers(0, 1200))
def test_every_item_is_sent_once_in_order_within_the_limits(sizes: list[int], many: int) -> None:
    items = [{"n": n, "x": "x" * size} for n, size in enumerate([*sizes, *[0] * many])]
    portions = work.chunks(items)
    assert [msgspec.json.decode(one)["n"] for portion in portions for one in portion] == list(range(len(items)))
    for portion in portions:
        assert 0 < len(portion) <= work.MOST
        assert len(portion) == 1 or sum(len(one) + 1 for one in portion) <= work.MOST_BYTES + 1


def test_nothing_makes_no_request() -> None:
    assert work.chunks([]) == []
