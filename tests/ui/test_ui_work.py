"""Overview, queues, tasks, dead letters, workers, AIOpsLab: they show change by themselves, and do what they offer."""

import re
import uuid
from typing import Any

from stand import Here, expect, problems

pytest_plugins = ("stand",)


def test_the_list_of_tasks_shows_a_new_one_by_itself(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    page.goto(f"/tasks?queue={queue}")
    expect(page.get_by_text("No task is like this")).to_be_visible()
    expect(page.locator(".signal-open")).to_be_visible()
    id = here.enqueue("greet", queue=queue)
    row = page.locator(f'tr[data-id="{id}"]')
    expect(row).to_be_visible()
    expect(row).to_contain_text("completed")


def test_a_list_is_walked_with_keys(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    for name in ("a", "b", "c"):
        here.until(here.enqueue("greet", queue=queue, payload={"name": name}), "completed")
    page.goto(f"/tasks?queue={queue}")
    rows = page.locator("tbody tr[data-row]")
    expect(rows).to_have_count(3)
    rows.first.focus()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_text("1 chosen")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2)).to_be_focused()
    wanted = rows.nth(2).get_attribute("data-id")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="greet")).to_be_visible()
    assert page.url.endswith(f"/tasks/{wanted}")


def test_a_task_is_enqueued_watched_and_cancelled(page: Any, here: Here) -> None:
    page.goto("/tasks")
    page.get_by_role("button", name="Enqueue …").click()
    form = page.get_by_role("dialog", name="Enqueue a task")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_text("kind is needed")).to_be_visible()
    form.get_by_role("textbox", name="kind", exact=True).fill("endless")
    form.get_by_role("textbox", name="payload", exact=True).fill("{")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_text(re.compile("payload is not JSON"))).to_be_visible()
    assert problems(page) == []
    form.get_by_role("textbox", name="payload", exact=True).fill("{}")
    form.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_role("heading", name="endless")).to_be_visible()
    expect(page.locator(".page-title .badge")).to_contain_text("running")
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("log")).to_contain_text("line 3")
    assert problems(page) == []
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("dialog", name="Cancel this task?").get_by_role("button", name="Cancel it").click()
    expect(page.locator(".page-title .badge")).to_contain_text("cancelled")


def test_a_task_that_waits_says_why_until_it_runs(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    here.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    id = here.enqueue("greet", queue=queue)
    page.goto(f"/tasks/{id}")
    expect(page.get_by_text("Why is it not running?")).to_be_visible()
    expect(page.locator(".note")).to_contain_text("paused")
    here.ask("POST", f"/v1/queues/{queue}/resume")
    expect(page.locator(".page-title .badge")).to_contain_text("completed")
    expect(page.get_by_text("Why is it not running?")).to_have_count(0)
    expect(page.locator('[aria-label="Result"]')).to_contain_text("hello")


def test_a_queue_is_paused_and_limited(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    here.until(here.enqueue("greet", queue=queue), "completed")
    page.goto("/queues")
    page.get_by_role("link", name=queue).click()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".page-title .badge")).to_contain_text("paused")
    page.get_by_role("button", name="Limits …").click()
    form = page.get_by_role("dialog", name=f"Limits of {queue}")
    form.get_by_role("textbox", name="At once", exact=True).fill("3")
    form.get_by_role("textbox", name="Rate", exact=True).fill("10")
    assert problems(page) == []
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    found = here.ask("GET", f"/v1/queues/{queue}")["settings"]
    assert (found["paused"], found["max_running"], found["rate"]["limit"]) == (True, 3, 10)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".page-title .badge")).to_contain_text("active")


def test_tasks_are_cancelled_in_bulk_after_a_question(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    here.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    ids = [here.enqueue("greet", queue=queue) for _ in range(3)]
    page.goto(f"/tasks?queue={queue}")
    expect(page.locator("tbody tr[data-row]")).to_have_count(3)
    page.get_by_label("Choose all that are listed").check()
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Keep as it is").click()
    assert {here.ask("GET", f"/v1/tasks/{id}")["state"] for id in ids} == {"ready"}
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("3 cancelled")).to_be_visible()
    assert {here.ask("GET", f"/v1/tasks/{id}")["state"] for id in ids} == {"cancelled"}


def test_dead_letters_are_redriven_and_discarded(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    page.goto(f"/dead?queue={queue}")
    expect(page.get_by_text("No dead letter is like this")).to_be_visible()
    expect(page.locator(".signal-open")).to_be_visible()
    for _ in range(2):
        here.until(here.enqueue("breaks", queue=queue), "failed")
    rows = page.locator("tbody tr[data-row]")
    expect(rows).to_have_count(2)
    here.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    again = rows.first.get_attribute("data-id")
    rows.first.get_by_role("checkbox").check()
    page.get_by_role("button", name="Redrive …").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    expect(rows).to_have_count(1)
    assert here.ask("GET", f"/v1/tasks/{again}")["state"] == "ready"
    page.get_by_role("button", name="Discard all that match …").click()
    box = page.get_by_role("dialog")
    expect(box.get_by_role("button", name="Discard")).to_be_disabled()
    box.get_by_role("textbox").fill("discard")
    box.get_by_role("button", name="Discard").click()
    expect(page.get_by_text("No dead letter is like this")).to_be_visible()


def test_the_overview_counts_what_just_happened(page: Any, here: Here) -> None:
    page.goto("/")
    expect(page.locator(".figure", has_text="Workers")).to_be_visible()
    expect(page.locator(".signal-open")).to_be_visible()
    id = here.enqueue("greet", payload={"name": "overview"})
    expect(page.locator(f'tr[data-id="{id}"]')).to_contain_text("completed")
    page.get_by_role("button", name="6h").click()
    assert page.url.endswith("?range=6h")
    expect(page.locator(".chart").first).to_be_visible()
    assert problems(page) == []


def test_workers_are_listed_and_looked_at(page: Any, here: Here) -> None:
    page.goto("/workers")
    page.locator("tbody tr", has_text="worker").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name=re.compile("Handlers"))).to_be_visible()
    expect(page.locator("main")).to_contain_text("endless")
    assert problems(page) == []


def test_a_problem_is_submitted_to_aiopslab_and_cancelled(page: Any, here: Here) -> None:
    page.goto("/lab")
    page.get_by_role("button", name="Submit a problem …").click()
    form = page.get_by_role("dialog", name="Submit a problem")
    name = f"pod-crash-{uuid.uuid4().hex[:8]}"
    form.get_by_role("textbox", name="Problem", exact=True).fill(name)
    form.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name=name).click()
    expect(page.locator(".page-title .badge")).to_contain_text("pending")
    assert problems(page) == []
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator(".page-title .badge")).to_contain_text("failed")
