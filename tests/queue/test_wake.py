"""What a notification says."""

import uuid

from weft.queue import lanes, wake
from weft.queue.wake import Hint


def test_a_hint_names_the_org_and_the_lane_even_with_spaces_in_its_name() -> None:
    org = str(uuid.uuid4())
    lane = lanes.name("night shift", ["gpu", "big"])
    hint = wake.parse(f"{org} {lane}")
    assert hint == Hint("night shift+big+gpu", org) and hint.queue == "night shift"


def test_a_hint_for_anybody_names_the_queue() -> None:
    assert wake.parse("* night shift") == Hint("night shift", None)
