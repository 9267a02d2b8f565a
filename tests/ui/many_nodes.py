"""A run of very many nodes: its picture is one and not a crowd, and its list scrolls."""

import re

from browsing import Seen, Staged, until
from playwright.sync_api import expect
from stage import large

MARKS = "performance.getEntriesByName('weft:graph').map((one) => one.startTime)"


def made(staged: Staged, many: int) -> str:
    """A run of so many tasks that has ended."""
    staged.stage.ask("POST", "/v1/dags", large(many))
    run = staged.stage.run("large")
    staged.stage.wait(run, "completed", patience=300)
    return run


def painted(seen: Seen, run: str) -> None:
    """Its page, once the browser has painted its graph."""
    page = seen.go(f"/runs/{run}")
    until(lambda: page.evaluate(MARKS))


def walk(seen: Seen, many: int) -> None:
    """Groups and crowds are closed: few boxes, every node in one of them. The list draws only what is in sight."""
    page = seen.page
    assert page.locator(".graph-box").count() < 40
    expect(page.get_by_text("100 tasks").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^shard1 ?, .*opens")).click()
    expect(page.get_by_role("button", name=re.compile("^step 100 ?, "))).to_be_attached()
    page.get_by_role("button", name="Close all groups").click()
    page.get_by_role("tab", name=re.compile("Steps")).click()
    expect(page.get_by_role("tab", name=re.compile("Steps"))).to_contain_text(str(many))
    rows = page.locator("tbody tr[data-row]")
    assert 0 < rows.count() < 120
    rows.first.focus()
    page.keyboard.press("End")
    expect(page.locator(f'tr[data-row="{many - 1}"]')).to_be_focused()
    assert rows.count() < 120
    page.get_by_role("tab", name="Timeline").click()
    assert 0 < until(lambda: page.locator(".timeline-row").count()) < 120
