"""What can be done on the pages, in a real browser: they do it, ask before something is lost, and show what came of it."""

import re
import uuid

from browsing import Seen, Staged, until
from playwright.sync_api import expect
from stage import BRITTLE

pytest_plugins = ("browsing",)


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
    expect(dialog.get_by_label("items")).to_have_accessible_description("With commas between them.")
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


def test_a_task_is_enqueued_watched_and_cancelled(staged: Staged, seen: Seen) -> None:
    page = seen.go("/tasks")
    page.get_by_role("button", name="Enqueue…").click()
    form = page.get_by_role("dialog", name="Enqueue a task")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_text("Kind is needed")).to_be_visible()
    form.get_by_role("textbox", name="Kind", exact=True).fill("endless")
    form.get_by_role("textbox", name="Payload", exact=True).fill("{")
    form.get_by_role("button", name="Enqueue").click()
    expect(form.get_by_text(re.compile("Payload is not JSON"))).to_be_visible()
    assert seen.axe() == []
    form.get_by_role("textbox", name="Payload", exact=True).fill("{}")
    form.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_role("heading", name="endless")).to_be_visible()
    expect(seen.badge).to_contain_text("running")
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("log")).to_contain_text("line 3")
    assert seen.axe() == []
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("dialog", name="Cancel this task?").get_by_role("button", name="Cancel it").click()
    expect(seen.badge).to_contain_text("cancelled")


def test_a_queue_is_paused_and_limited(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    staged.stage.ended(staged.stage.enqueue("greet", queue=queue), "completed")
    page = seen.go("/queues")
    page.get_by_role("link", name=queue).click()
    page.get_by_role("button", name="Pause").click()
    expect(seen.badge).to_contain_text("paused")
    page.get_by_role("button", name="Limits…").click()
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
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Keep as it is").click()
    assert {staged.stage.ask("GET", f"/v1/tasks/{id}")["state"] for id in ids} == {"ready"}
    page.get_by_role("button", name="Cancel…").click()
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
    page.get_by_role("button", name="Redrive…").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    expect(rows).to_have_count(1)
    assert staged.stage.ask("GET", f"/v1/tasks/{again}")["state"] == "ready"
    page.get_by_role("button", name="Discard all that match…").click()
    box = page.get_by_role("dialog")
    expect(box.get_by_role("button", name="Discard")).to_be_disabled()
    box.get_by_role("textbox").fill("discard")
    box.get_by_role("button", name="Discard").click()
    expect(page.get_by_text("No dead letter is like this")).to_be_visible()


def test_a_problem_is_submitted_to_aiopslab_and_cancelled(staged: Staged, seen: Seen) -> None:
    page = seen.go("/lab")
    page.get_by_role("button", name="Submit a problem…").click()
    form = page.get_by_role("dialog", name="Submit a problem")
    name = f"pod-crash-{uuid.uuid4().hex[:8]}"
    form.get_by_role("textbox", name="Problem", exact=True).fill(name)
    form.get_by_role("button", name="Submit").click()
    page.get_by_role("link", name=name).click()
    expect(seen.badge).to_contain_text("pending")
    assert seen.axe() == []
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(seen.badge).to_contain_text("failed")


def test_a_job_is_paused_triggered_and_resumed_in_the_list_and_deleted_on_its_page(staged: Staged, seen: Seen) -> None:
    job = {"name": "steered", "job_type": "CRON", "cron_expression": "@yearly", "payload": {"task": "echo"}}
    id = staged.stage.ask("POST", "/v1/jobs", job)["job_id"]
    page = seen.go("/jobs?name=steered")
    row = seen.row("steered")
    row.get_by_role("button", name="Trigger").click()
    expect(row.get_by_role("img")).to_be_visible()
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Resume").click()
    expect(row).to_contain_text("active")
    staged.stage.ask("POST", f"/v1/jobs/{id}/pause")
    seen.go(f"/jobs/{id}")
    seen.press("Resume")
    expect(seen.badge).to_contain_text("active")
    seen.press("Delete")
    seen.asked("Delete")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(row).to_have_count(0)


def test_a_dag_is_paused_and_resumed(staged: Staged, seen: Seen) -> None:
    seen.go(f"/dags/{staged.ids['dag']}")
    seen.press("Pause")
    expect(seen.badge).to_contain_text("paused")
    seen.press("Resume")
    expect(seen.badge).to_contain_text("active")


def test_runs_are_cancelled_together_and_one_without_undoing(staged: Staged, seen: Seen) -> None:
    runs = [staged.stage.start("checkout", order="o-bulk", cents=1, items=[]) for _ in range(3)]
    for run in runs:
        staged.stage.wait(run, "waiting")
    page = seen.go("/runs?state=waiting")
    for run in runs[:2]:
        page.locator(f'tr[data-id="{run}"] input').check()
    seen.press("Cancel 2")
    seen.asked("Cancel")
    for run in runs[:2]:
        staged.stage.wait(run, "compensated")
    seen.go(f"/runs/{runs[2]}")
    seen.press("Cancel without undoing")
    seen.asked("Cancel without undoing")
    expect(seen.badge).to_contain_text("cancelled")
    assert staged.stage.ask("GET", f"/v1/runs/{runs[2]}")["state"] == "cancelled"


def test_a_failed_step_is_skipped_and_a_run_is_forked_from_a_step_with_another_output(staged: Staged, seen: Seen) -> None:
    run = staged.stage.start("brittle", item="nothing")
    staged.stage.wait(run, "failed")
    page = seen.go(f"/runs/{run}")
    page.get_by_role("button", name=re.compile("^ship.*failed")).click()
    panel = page.get_by_role("complementary")
    panel.get_by_role("button", name="Skip…").click()
    page.get_by_role("dialog").get_by_label("output").fill('"by hand"')
    seen.asked("Skip")
    expect(seen.badge).to_contain_text("completed")
    assert staged.stage.ask("GET", f"/v1/runs/{run}")["output"] == "by hand"
    seen.go(f"/runs/{staged.ids['approved']}")
    page.get_by_role("button", name=re.compile("^ship")).click()
    panel.get_by_role("button", name="Fork from here…").click()
    steps = staged.stage.ask("GET", f"/v1/runs/{staged.ids['approved']}/steps")["items"]
    charge = next(one["node"] for one in steps if one["node"].startswith("charge"))
    page.get_by_role("dialog").get_by_label("Outputs to change").fill(f'{{"{charge}": "paid in shells"}}')
    page.get_by_role("dialog").get_by_role("button", name="Fork").click()
    page.wait_for_url(lambda url: "/runs/" in url and staged.ids["approved"] not in url)
    made = page.url.partition("/runs/")[2].partition("?")[0]
    staged.stage.wait(made, "completed")
    forked = {one["node"]: one["output"] for one in staged.stage.ask("GET", f"/v1/runs/{made}/steps")["items"]}
    assert forked[charge] == "paid in shells"


def test_a_step_of_a_flow_is_retried_and_a_block_reset(staged: Staged, seen: Seen) -> None:
    flow = staged.stage.flow("brittle", BRITTLE)
    run = staged.stage.ask("POST", "/v1/runners", {"flow": flow, "params": {"name": "bad"}})["id"]
    staged.stage.wait(run, "failed")
    page = seen.go(f"/runs/{run}?tab=steps")
    for node, button in (("s", "Retry"), ("r", "Reset the block")):
        seen.row(node).filter(has_text=re.compile(rf"^\W*{node}\b")).first.click()
        page.get_by_role("complementary").get_by_role("button", name=button, exact=True).click()
        tried = staged.stage.ask("GET", f"/v1/runs/{run}")["reruns"]
        seen.asked("Run again")
        until(lambda tried=tried: staged.stage.ask("GET", f"/v1/runs/{run}")["reruns"] > tried)
        staged.stage.wait(run, "failed")
        expect(seen.badge).to_contain_text("failed")


def test_a_program_is_checked_that_nobody_keeps(staged: Staged, seen: Seen) -> None:
    page = seen.go("/flows")
    seen.press("Check a program…")
    expect(page.get_by_text("Nothing is wrong with it; 1 workflow.")).to_be_visible()
    source = page.get_by_label("AFL source")
    source.fill("namespace x {")
    expect(page.locator(".source-said.error").first).to_be_visible()
    assert seen.axe() == []
    seen.press("Back to the list")
    expect(seen.row("hello")).to_be_visible()


def test_tasks_that_failed_are_run_again_alone_and_together(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    ids = [staged.stage.enqueue("breaks", queue=queue) for _ in range(3)]
    for id in ids:
        staged.stage.ended(id, "failed")
    staged.stage.ask("PATCH", f"/v1/queues/{queue}", {"paused": True})
    page = seen.go(f"/tasks/{ids[0]}")
    seen.press("Run again")
    expect(seen.badge).to_contain_text("ready")
    seen.go(f"/tasks?queue={queue}&state=failed")
    expect(page.locator("tbody tr[data-row]")).to_have_count(2)
    page.get_by_label("Choose all that are listed").check()
    seen.press("Run again…")
    seen.asked("Run them again")
    expect(page.get_by_text("2 queued again")).to_be_visible()
    assert {staged.stage.ask("GET", f"/v1/tasks/{id}")["state"] for id in ids} == {"ready"}
