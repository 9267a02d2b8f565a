"""Which Chromium looks at the pages, for the benchmark and for the tests in tests/ui.

Chromium's own build for working without a window comes first: the same engine, of the same version, with less beside it.
Not every distribution has it, so the whole browser will do.
"""

from pathlib import Path

PLACES = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
LACKING = f"there is no {' and no '.join(PLACES)}: apt-get install chromium-headless-shell"


def found() -> str | None:
    """Where it is."""
    return next((place for place in PLACES if Path(place).exists()), None)
