"""What processes that stay do once they are ready."""

import gc

from weft.cli import running


def test_what_a_process_has_loaded_when_it_is_ready_is_not_searched_for_garbage_again() -> None:
    try:
        running.ready()
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
