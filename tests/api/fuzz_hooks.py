"""What a generator of requests cannot know: a cursor is what the page before gave, and waiting takes time."""

from typing import Any

import schemathesis

QUICK = 0.05


@schemathesis.hook
def before_call(_context: object, case: Any, _options: object) -> None:
    """Leaves well-formed cursors out (bad ones: test_frame.py, test_pages.py), and makes allowed waits short."""
    for given in (case.query, case.body):
        if not isinstance(given, dict):
            continue
        if isinstance(given.get("cursor"), str) and 0 < len(given["cursor"]) <= 2048:
            del given["cursor"]
        wait = given.get("wait")
        if isinstance(wait, int | float) and not isinstance(wait, bool) and QUICK < wait <= 60:
            given["wait"] = QUICK
