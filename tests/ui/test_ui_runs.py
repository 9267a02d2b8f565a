"""The pages of runs in a real browser: they load, follow what happens, do what is asked, by keyboard too."""

import re

import pytest
from browsing import Seen, Staged, until
from playwright.sync_api import expect

pytest_plugins = ("browsing",)

PAGES = [
    "/runs", "/runs?state=failed&kind=dag", "/runs/{done}", "/runs/{failed}?tab=timeline", "/runs/{failed}?tab=steps",
    "/runs/{approved}", "/runs/{approved}?tab=data", "/runs/{done}?tab=logs", "/runs/{approved}?tab=events",
    "/runs/{waiting}",
    "/jobs", "/jobs?tab=calendar", "/jobs/{job}", "/dags", "/dags/{dag}", "/dags/{dag}?tab=runs",
    "/dags/{dag}?tab=versions&from=1&to=2", "/dags/{dag}?tab=params", "/workflows", "/workflows/checkout", "/flows",
    "/flows/{flow}", "/flows/{flow}?tab=graph", "/flows/{flow}?tab=runs",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_without_errors_and_is_accessible(staged: Staged, seen: Seen, path: str) -> None:
    page = seen.go(path.format(**staged.ids))
    seen.settled()
    expect(page.locator(".failure[role=alert]")).to_have_count(0)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        assert seen.axe() == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert until(lambda: page.evaluate("document.documentElement.scrollWidth <= 390"))


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
    expect(page.locator(".page-title .badge")).to_contain_text("completed")
    expect(page.get_by_role("button", name=re.compile("ship"))).to_be_visible()


def test_what_is_lost_is_asked_about_first(staged: Staged, seen: Seen) -> None:
    run = staged.stage.start("checkout", order="o-cancel", cents=1, items=[])
    staged.stage.wait(run, "waiting")
    page = seen.go(f"/runs/{run}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".page-title .badge")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Keep as it is").click()
    assert staged.stage.ask("GET", f"/v1/runs/{run}")["state"] not in ("cancelled", "compensated")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".page-title .badge")).to_contain_text("compensated")


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
    expect(page.locator(".page-title .badge")).to_contain_text("completed")
    panel.get_by_role("button", name="Retry from here").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.locator(".page-title .badge")).to_contain_text("failed")


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


def test_a_workflow_is_started_by_a_form(staged: Staged, seen: Seen) -> None:
    page = seen.go("/workflows/checkout")
    page.get_by_role("button", name="Start…").click()
    dialog = page.get_by_role("dialog")
    if dialog.get_by_label("Arguments").count():
        dialog.get_by_label("Arguments").fill('{"order": "o-form", "cents": 4, "items": []}')
    else:
        dialog.get_by_label("order").fill("o-form")
        dialog.get_by_label("cents").fill("4")
        dialog.get_by_label("items").fill("hat")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.locator(".page-title .badge")).to_contain_text("waiting")


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
    expect(page.locator(".page-title .badge")).to_contain_text("paused")
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
