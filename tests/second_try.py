"""What failed is tried once more, and its first error is shown in full at the end: a test that needs that has a bug.

The machine has its moods and there are thousands of tests. But what a fault must not do (tests/chaos) it must not do even
once: there only a test that hung (tests/watchdog.py), or whose fault never came to happen, is tried again.
"""

from pathlib import Path

import pytest

CHAOS = Path(__file__).parent / "chaos"


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.is_relative_to(CHAOS):
        item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["hung for", "nobody came to"]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"tried again: {report.nodeid}", red=True)
        report.toterminal(terminalreporter._tw)
