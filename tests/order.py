"""Files that wait for other processes come first: at the end the others would have nothing to do meanwhile.

xdist deals out whole files; it must not sort them itself (`--no-loadscope-reorder`), since it goes by the number of tests.
What is marked `long` is for `make chaos` (WEFT_LONG).
"""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SLOW = ("test_tutorial.py", "chaos", "testing", "test_examples.py", "test_recipes.py", "aiopslab", "cli", "api")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("WEFT_LONG"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    place = {name: number for number, name in enumerate(SLOW)}
    items.sort(key=lambda item: place.get(item.path.relative_to(HERE).parts[0], len(SLOW)))
