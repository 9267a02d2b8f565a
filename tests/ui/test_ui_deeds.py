"""What can be done on the pages, in a real browser: they do it, ask before something is lost, and show what came of it."""

import re
import uuid

from browsing import Seen, Staged, until
from playwright.sync_api import expect

pytest_plugins = ("browsing",)

def test_a_list_follows_what_starts_and_ends(staged: Staged, seen: Seen) -> None:
    page = seen.go("/runs?kind=workflow")
    seen.settled()
    run = staged.stage.start("checkout", order="o-live", cents=1, items=[])
    row = page.locator(f'tr[data-id="{run}"]')
    expect(row).to_contain_text("waiting")
    staged.stage.ask("POST", f"/v1/runs/{run}/signal", {"name": "approval", "value": True})
    expect(row).to_contain_text("completed")


def test_a_run_follows_its_steps_and_signals_are_sent_by_a_dialog(staged: Staged, seen: Seen) -> None:
    run = staged.stage.start("checkout", order="o-dialog", cents=1, items=["hat"])
    staged.stage.wait(run, "waiting")
    page = seen.go(f"/runs/{run}")
    expect(page.get_by_text("waiting for approval")).to_be_visible()
    expect(page.get_by_text("Why is it not running?")).to_be_visible()
    page.get_by_role("button", name="Signal…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value").fill("true")
    dialog.get_by_role("button", name="Send").click()
    expect(seen.badge).to_contain_text("completed")
    expect(page.get_by_role("button", name=re.compile("ship"))).to_be_visible()


def test_what_is_lost_is_asked_about_first(staged: Staged, seen: Seen) -> None:
    run = staged.stage.start("checkout", order="o-cancel", cents=1, items=[])
    staged.stage.wait(run, "waiting")
    page = seen.go(f"/runs/{run}")
    page.get_by_role("button", name="Pause").click()
    expect(seen.badge).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Keep as it is").click()
    assert staged.stage.ask("GET", f"/v1/runs/{run}")["state"] not in ("cancelled", "compensated")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).click()
    expect(seen.badge).to_contain_text("compensated")


def test_a_workflow_is_forked_with_other_input(staged: Staged, seen: Seen) -> None:
    page = seen.go(f"/runs/{staged.ids['approved']}")
    page.get_by_role("button", name="Fork…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Input").fill('{"order": "o-fork", "cents": 3, "items": []}')
    dialog.get_by_role("button", name="Fork").click()
    page.wait_for_url(lambda url: "/runs/" in url and staged.ids["approved"] not in url)
    made = page.url.partition("/runs/")[2].partition("?")[0]
    assert staged.stage.ask("GET", f"/v1/runs/{made}")["params"]["order"] == "o-fork"


def test_a_step_is_looked_at_marked_and_run_again(staged: Staged, seen: Seen) -> None:
    run = staged.stage.run("nightly-etl", fail="away", shops=["bonn"])
    staged.stage.wait(run, "failed")
    page = seen.go(f"/runs/{run}")
    page.get_by_role("button", name=re.compile("^check ?, failed")).click()
    panel = page.get_by_role("complementary")
    expect(panel).to_contain_text("away")
    panel.get_by_role("button", name="Mark as done…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("output").fill('{"checked": "by hand"}')
    dialog.get_by_role("button", name="Mark as done").click()
    expect(seen.badge).to_contain_text("completed")
    panel.get_by_role("button", name="Retry from here").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(seen.badge).to_contain_text("failed")


def test_runs_are_chosen_and_retried_together(staged: Staged, seen: Seen) -> None:
    runs = [staged.stage.run("nightly-etl", fail="bulk", shops=["ulm"]) for _ in range(2)]
    for run in runs:
        staged.stage.wait(run, "failed")
    page = seen.go("/runs?state=failed")
    for run in runs:
        page.locator(f'tr[data-id="{run}"] input').check()
    page.get_by_role("button", name="Retry 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    for run in runs:
        until(lambda run=run: staged.stage.ask("GET", f"/v1/runs/{run}")["reruns"] == 1)


def test_a_dag_is_started_by_a_form_made_from_its_params(staged: Staged, seen: Seen) -> None:
    page = seen.go(f"/dags/{staged.ids['dag']}")
    page.get_by_role("button", name="Trigger…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("seconds").fill("many")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_text("must be a number")).to_be_visible()
    dialog.get_by_label("seconds").fill("0")
    dialog.get_by_label("shops").fill("bonn, trier")
    dialog.get_by_label("mode").select_option("full")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/runs/"))
    params = staged.stage.ask("GET", f"/v1/runs/{page.url.partition('/runs/')[2].partition('?')[0]}")["params"]
    assert (params["shops"], params["mode"], params["seconds"]) == (["bonn", "trier"], "full", 0)


def test_a_workflow_is_started_by_a_form_made_from_its_arguments(staged: Staged, seen: Seen) -> None:
    page = seen.go("/workflows/checkout")
    page.get_by_role("button", name="Start…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("An order is paid, approved and shipped.")
    dialog.get_by_label("order").fill("o-form")
    dialog.get_by_label("cents").fill("much")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_text("must be a whole number")).to_be_visible()
    expect(dialog.get_by_text("items is needed")).to_be_visible()
    assert seen.axe() == []
    dialog.get_by_label("cents").fill("4")
    dialog.get_by_label("items").fill("hat, coat")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/runs/"))
    expect(seen.badge).to_contain_text("waiting")
    params = staged.stage.ask("GET", f"/v1/runs/{page.url.partition('/runs/')[2].partition('?')[0]}")["params"]
    assert params == {"order": "o-form", "cents": 4, "items": ["hat", "coat"]}


def test_a_job_is_made_with_its_times_shown_then_changed_paused_and_triggered(staged: Staged, seen: Seen) -> None:
    page = seen.go("/jobs")
    page.get_by_role("button", name="New job…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("by hand")
    dialog.get_by_label("Cron expression").fill("61 * * * *")
    expect(dialog.locator(".cron.wrong")).to_be_visible()
    # the browser reports what the server refuses
    seen.wrong[:] = [one for one in seen.wrong if "/v1/cron/preview" not in one]
    dialog.get_by_label("Cron expression").fill("30 8 * * MON")
    dialog.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(dialog.get_by_text(re.compile("at 08:30, on Monday"))).to_be_visible()
    expect(dialog.locator(".times li")).to_have_count(10)
    expect(dialog.locator(".times li").first).to_have_text(re.compile("Mon .* 08:30"))
    dialog.get_by_label("What to do").fill('{"task": "echo", "args": {"value": 1}}')
    dialog.get_by_role("button", name="Create").click()
    page.wait_for_url(re.compile("/jobs/."))
    page.get_by_role("button", name="Trigger now").click()
    expect(page.locator("tbody tr").first).to_contain_text("completed")
    page.get_by_role("button", name="Pause").click()
    expect(seen.badge).to_contain_text("paused")
    page.get_by_role("button", name="Change…").click()
    page.get_by_role("dialog").get_by_label("Tags").fill("mine")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".facts .tag")).to_have_text("mine")


def test_a_flow_is_checked_while_it_is_typed_and_started_by_a_form(staged: Staged, seen: Seen) -> None:
    page = seen.go(f"/flows/{staged.ids['flow']}")
    expect(page.locator(".code-keyword").first).to_be_visible()
    page.get_by_role("button", name="Try a change").click()
    source = page.get_by_label("AFL source")
    source.fill(source.input_value().replace("g.greeting", "g.greting"))
    expect(page.locator(".source-said.error").first).to_be_visible()
    page.get_by_role("button", name="Start…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("name").fill("Ada")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/runs/"))
    run = staged.stage.ask("GET", f"/v1/runs/{page.url.partition('/runs/')[2].partition('?')[0]}")
    assert (run["kind"], run["params"]) == ("flow", {"name": "Ada"})
    expect(page.locator(".graph-box").first).to_be_visible()
    # no agent is there: it says so, is paused and cancelled; then its step is said to be done
    expect(page.get_by_text("Why is it not")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(seen.badge).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("tab", name=re.compile("Steps")).click()
    page.locator("tbody tr[data-row]", has_text=re.compile(r"^\W*g\b")).first.click()
    panel = page.get_by_role("complementary")
    panel.get_by_role("button", name="Mark as done…").click()
    page.get_by_role("dialog").get_by_label("output").fill('{"greeting": "by hand"}')
    page.get_by_role("dialog").get_by_role("button", name="Mark as done").click()
    expect(panel.locator(".badge")).to_contain_text("completed")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).click()
    expect(seen.badge).to_contain_text("cancelled")
    page.get_by_role("button", name="Retry", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_the_keyboard_is_enough(staged: Staged, seen: Seen) -> None:
    page = seen.go("/runs")
    seen.settled()
    keys = page.keyboard
    keys.press("g")
    keys.press("d")
    expect(page.locator("h1")).to_have_text("DAGs")
    page.locator("tbody tr").first.focus()
    keys.press("Enter")
    page.wait_for_url(re.compile("/dags/."))
    page.get_by_role("tab", name="Graph").focus()
    keys.press("ArrowRight")
    expect(page).to_have_url(re.compile("tab=runs"))
    page.locator("tbody tr").first.focus()
    keys.press("j")
    keys.press("Enter")
    page.wait_for_url(re.compile("/runs/."))
    box = page.get_by_role("button", name=re.compile("^extract ?, "))
    box.focus()
    keys.press("Enter")
    expect(page.get_by_role("complementary")).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    lane = page.get_by_role("group", name=re.compile("^Timeline"))
    lane.focus()
    keys.press("+")
    expect(page).to_have_url(re.compile("zoom=2"))
    keys.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_what_is_in_the_address_is_seen_again(staged: Staged, seen: Seen) -> None:
    page = seen.go("/runs?state=failed&kind=dag")
    seen.settled()
    expect(page.get_by_role("button", name="failed")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("tbody")).not_to_contain_text("completed")
    page.get_by_role("button", name="failed").click()
    expect(page).not_to_have_url(re.compile("state="))


def test_the_list_of_tasks_shows_a_new_one_by_itself(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    page = seen.go(f"/tasks?queue={queue}")
    expect(page.get_by_text("No task is like this")).to_be_visible()
    seen.live()
    id = staged.stage.enqueue("greet", queue=queue)
    row = page.locator(f'tr[data-id="{id}"]')
    expect(row).to_be_visible()
    expect(row).to_contain_text("completed")


def test_a_list_is_walked_with_keys(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    for name in ("a", "b", "c"):
        staged.stage.ended(staged.stage.enqueue("greet", queue=queue, payload={"name": name}), "completed")
    page = seen.go(f"/tasks?queue={queue}")
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


def test_a_task_is_enqueued_watched_and_cancelled(staged: Staged, seen: Seen) -> None:
    page = seen.go("/tasks")
    page.get_by_role("button", name="Enqueue …").click()
    form = page.get_by_role("dialog", name="Enqueue a task")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_text("kind is needed")).to_be_visible()
    form.get_by_role("textbox", name="kind", exact=True).fill("endless")
    form.get_by_role("textbox", name="payload", exact=True).fill("{")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_text(re.compile("payload is not JSON"))).to_be_visible()
    assert seen.axe() == []
    form.get_by_role("textbox", name="payload", exact=True).fill("{}")
    form.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_role("heading", name="endless")).to_be_visible()
    expect(seen.badge).to_contain_text("running")
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("log")).to_contain_text("line 3")
    assert seen.axe() == []
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("dialog", name="Cancel this task?").get_by_role("button", name="Cancel it").click()
    expect(seen.badge).to_contain_text("cancelled")


def test_a_task_that_waits_says_why_until_it_runs(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    staged.stage.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    id = staged.stage.enqueue("greet", queue=queue)
    page = seen.go(f"/tasks/{id}")
    expect(page.get_by_text("Why is it not running?")).to_be_visible()
    expect(page.locator(".note")).to_contain_text("paused")
    staged.stage.ask("POST", f"/v1/queues/{queue}/resume")
    expect(seen.badge).to_contain_text("completed")
    expect(page.get_by_text("Why is it not running?")).to_have_count(0)
    expect(page.locator('[aria-label="Result"]')).to_contain_text("hello")


def test_a_queue_is_paused_and_limited(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    staged.stage.ended(staged.stage.enqueue("greet", queue=queue), "completed")
    page = seen.go("/queues")
    page.get_by_role("link", name=queue).click()
    page.get_by_role("button", name="Pause").click()
    expect(seen.badge).to_contain_text("paused")
    page.get_by_role("button", name="Limits …").click()
    form = page.get_by_role("dialog", name=f"Limits of {queue}")
    form.get_by_role("textbox", name="At once", exact=True).fill("3")
    form.get_by_role("textbox", name="Rate", exact=True).fill("10")
    assert seen.axe() == []
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    found = staged.stage.ask("GET", f"/v1/queues/{queue}")["settings"]
    assert (found["paused"], found["max_running"], found["rate"]["limit"]) == (True, 3, 10)
    page.get_by_role("button", name="Resume").click()
    expect(seen.badge).to_contain_text("active")


def test_tasks_are_cancelled_in_bulk_after_a_question(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    staged.stage.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    ids = [staged.stage.enqueue("greet", queue=queue) for _ in range(3)]
    page = seen.go(f"/tasks?queue={queue}")
    expect(page.locator("tbody tr[data-row]")).to_have_count(3)
    page.get_by_label("Choose all that are listed").check()
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Keep as it is").click()
    assert {staged.stage.ask("GET", f"/v1/tasks/{id}")["state"] for id in ids} == {"ready"}
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("3 cancelled")).to_be_visible()
    assert {staged.stage.ask("GET", f"/v1/tasks/{id}")["state"] for id in ids} == {"cancelled"}


def test_dead_letters_are_redriven_and_discarded(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    page = seen.go(f"/dead?queue={queue}")
    expect(page.get_by_text("No dead letter is like this")).to_be_visible()
    seen.live()
    for _ in range(2):
        staged.stage.ended(staged.stage.enqueue("breaks", queue=queue), "failed")
    rows = page.locator("tbody tr[data-row]")
    expect(rows).to_have_count(2)
    staged.stage.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    again = rows.first.get_attribute("data-id")
    rows.first.get_by_role("checkbox").check()
    page.get_by_role("button", name="Redrive …").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    expect(rows).to_have_count(1)
    assert staged.stage.ask("GET", f"/v1/tasks/{again}")["state"] == "ready"
    page.get_by_role("button", name="Discard all that match …").click()
    box = page.get_by_role("dialog")
    expect(box.get_by_role("button", name="Discard")).to_be_disabled()
    box.get_by_role("textbox").fill("discard")
    box.get_by_role("button", name="Discard").click()
    expect(page.get_by_text("No dead letter is like this")).to_be_visible()


def test_a_problem_is_submitted_to_aiopslab_and_cancelled(staged: Staged, seen: Seen) -> None:
    page = seen.go("/lab")
    page.get_by_role("button", name="Submit a problem …").click()
    form = page.get_by_role("dialog", name="Submit a problem")
    name = f"pod-crash-{uuid.uuid4().hex[:8]}"
    form.get_by_role("textbox", name="Problem", exact=True).fill(name)
    form.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name=name).click()
    expect(seen.badge).to_contain_text("pending")
    assert seen.axe() == []
    page.get_by_role("button", name="Cancel …").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(seen.badge).to_contain_text("failed")
