"""Long files come first, those that wait for other processes beside those that compute: the processors have something to do
all the time, and nobody is left alone with a long file at the end.

xdist deals out whole files, in this order; it must not sort them itself (`--no-loadscope-reorder`), since it goes by the
number of tests. What is marked `long` is for `make chaos` (WEFT_LONG). On another server (WEFT_TEST_SERVER) only what needs
one is tested: the rest is the same there.
"""

import gc
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONG = (
    "chaos/test_crash_points.py", "chaos/test_frozen.py", "api/test_walls.py", "chaos/test_afl_kills.py",
    "api/test_schemathesis.py", "cli/test_afl_server_killed.py",
    "test_tutorial.py", "testing/test_conformance.py", "ui/test_ui_deeds.py", "ui/test_ui_pages.py",
    "chaos/test_schedulers.py", "ui/test_ui_access.py", "chaos/test_cuts.py", "chaos/test_kill.py", "cli/test_dev.py",
    "ui/test_ui_hostile.py", "chaos/test_drive.py", "ui/test_ui_live.py", "chaos/test_hardship.py", "cli/test_tasks.py",
    "chaos/test_clock_jumps.py", "cli/test_access.py", "chaos/test_planted.py", "cli/test_main.py",
    "chaos/test_runs_cut.py", "cli/test_dag_command.py", "aiopslab/test_aiopslab_worker.py", "cli/test_jobs_command.py",
    "cli/test_http_processes.py", "cli/test_worker.py", "cli/test_bad_input.py", "aiopslab/test_aiopslab_fuzz.py",
    "ui/test_ui_empty.py", "worker/test_children.py", "worker/test_http_worker.py", "cli/test_canaries.py",
    "cli/test_bench_command.py", "test_recipes.py", "test_examples.py", "worker/test_heartbeat_timeout.py",
    "worker/test_real_processes.py", "queue/test_search.py", "afl/test_scale.py", "test_schema.py", "test_hazards.py",
    "api/test_audit_api.py", "api/test_access_walk.py", "cluster/test_pulse.py", "db/test_embedded.py",
)  # fmt: skip
"""The first is the longest."""

SLOW = ("chaos", "aiopslab", "testing", "cli", "api", "worker")
"""Then what else is in these folders, then everything."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("WEFT_LONG"):
        _leave_out(config, items, {item for item in items if item.get_closest_marker("long")})
    if os.environ.get("WEFT_TEST_SERVER"):
        _leave_out(config, items, {item for item in items if "server_url" not in getattr(item, "fixturenames", ())})
    places = {path: _place(path.relative_to(HERE)) for path in {item.path for item in items}}
    items.sort(key=lambda item: places[item.path])


def _leave_out(config: pytest.Config, items: list[pytest.Item], some: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=list(some))
    items[:] = [item for item in items if item not in some]


def pytest_collection_finish() -> None:
    """Thousands of tests are there until the end: whoever looks for garbage need not look through them each time."""
    gc.collect()
    gc.freeze()


def _place(path: Path) -> int:
    if path.as_posix() in LONG:
        return LONG.index(path.as_posix())
    folder = path.parts[0]
    return len(LONG) + (SLOW.index(folder) if folder in SLOW else len(SLOW))
