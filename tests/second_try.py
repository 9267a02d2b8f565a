"""What failed is tried once more, and its first error is shown in full at the end: a test that needs that has a bug.

The machine has its moods and there are thousands of tests. But what a fault must not do (tests/chaos) it must not do even
once: there only a test that hung (tests/watchdog.py), or whose fault never came to happen, is tried again.
"""

import socket
from pathlib import Path

import pytest

CHAOS = Path(__file__).parent / "chaos"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before each test rerunfailures says something to the first process and then asks it something: unless the two may go
    out by themselves, the second waits 40 ms for the first one's receipt, in each of thousands of tests."""
    told = getattr(getattr(session.config, "failures_db", None), "sock", None)
    if told is not None:
        told.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.is_relative_to(CHAOS):
        item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["hung for", "nobody came to"]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"tried again: {report.nodeid}", red=True)
        report.toterminal(terminalreporter._tw)
