"""A run of two thousand nodes in a real browser: `WEFT_LONG=1`, on a machine that does nothing else."""

import many_nodes
import pytest
from browsing import Seen, Staged

pytest_plugins = ("browsing",)
MANY = 2000


@pytest.mark.long
def test_two_thousand_nodes_are_painted_within_two_seconds(
    staged: Staged, seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    run = many_nodes.made(staged, MANY)
    # the first time a server has nothing ready, a browser nothing kept; the second is what people see all day
    took = [many_nodes.painted(seen, run) for _ in range(3)]
    with capsys.disabled():
        print(f"\n2,000 nodes: the graph was painted {', '.join(f'{one:.0f}' for one in took)} ms after it was asked for")
    assert min(took) < 2000
    many_nodes.walk(seen, MANY)
