"""What a generator of requests cannot know: a cursor is what the page before gave, waiting takes time, and which words are
another org's."""

import os
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
        # an org that suspends itself hears nothing more
        given.pop("suspended", None)
        wait = given.get("wait")
        if isinstance(wait, int | float) and not isinstance(wait, bool) and QUICK < wait <= 60:
            given["wait"] = QUICK


@schemathesis.check
def nothing_of_another_org(_context: object, response: Any, _case: object) -> None:
    """No answer has a word that only another org knows."""
    told = response.text + str(response.headers)
    found = [canary for canary in os.environ["WEFT_CANARIES"].split() if canary in told]
    assert not found, f"the answer shows {found}, which is another org's"
