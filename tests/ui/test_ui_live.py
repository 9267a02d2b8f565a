"""Pages show by themselves what changes: a list what is new in it, a page what becomes of its own thing."""

import json
import re
import uuid

from browsing import Seen, Staged, another, until
from playwright.sync_api import expect

pytest_plugins = ("browsing",)
IDS = "(all) => all.map((one) => one.dataset.id)"
TINY = "namespace x { workflow W() => (a: Long) andThen { yield W(a = 1) } }"


def test_lists_show_what_is_new_by_themselves(staged: Staged, seen: Seen) -> None:
    stage, name = staged.stage, f"new-{uuid.uuid4().hex[:8]}"
    task = {"name": "only", "payload": {"task": "echo"}}
    cron = {"name": name, "job_type": "CRON", "cron_expression": "@hourly", "payload": {"task": "echo"}}
    order = {"order": "o", "cents": 1, "items": []}
    for path, method, to, body in (
        ("/dags?name_prefix=new-", "POST", "/v1/dags", {"name": name, "tasks": [task]}),
        ("/flows?name_prefix=new-", "POST", "/v1/flows", {"name": name, "sources": [{"name": "x.afl", "text": TINY}]}),
        ("/jobs?name=" + name, "POST", "/v1/jobs", cron),
        ("/queues", "PATCH", f"/v1/queues/{name}", {"max_running": 5}),
        ("/lab?problem_id=" + name, "POST", "/aiopslab/tasks", {"problem_id": name}),
        ("/workflows/checkout", "POST", "/v1/workflows/checkout/start", {"arguments": order}),
        ("/flows/{flow}?tab=runs", "POST", "/v1/runners", {"flow": staged.ids["flow"], "params": {}}),
        ("/dags/{dag}?tab=runs", "POST", "/v1/dags/nightly-etl/trigger", {"params": {"shops": []}}),
        ("/jobs/{job}", "POST", "/v1/jobs/{job}/trigger", None),
        ("/queues/default?kind=greet", "POST", "/v1/tasks", {"kind": "greet"}),
        ("/settings?tab=keys", "POST", "/v1/keys", {"name": name, "role": "reader"}),
        ("/settings?tab=users", "POST", "/v1/users", {"external_id": name, "role": "reader"}),
        ("/settings?tab=roles", "POST", "/v1/roles", {"slug": name, "name": name}),
        ("/settings?tab=secrets", "PUT", f"/v1/secrets/{name.replace('-', '_')}", {"value": "hidden away"}),
        ("/settings?tab=audit&object_id=" + name, "PATCH", f"/v1/queues/{name}", {"max_running": 6}),
        ("/settings", "POST", "/v1/login", {"credential": stage.key}),
    ):  # fmt: skip
        page = seen.watch(path.format(**staged.ids))
        rows = page.locator("tbody tr[data-row]")
        before = rows.evaluate_all(IDS)
        stage.ask(method, to.format(**staged.ids), body)
        until(lambda rows=rows, before=before: set(rows.evaluate_all(IDS)) - set(before))
    seen.watch("/workflows")
    staged.execute("insert into weft.workflows (name, version) values (%s, '1')", name)
    expect(seen.row(name)).to_have_count(1)


def test_a_page_follows_its_own_thing(staged: Staged, seen: Seen) -> None:
    """Each is looked at, then changed by somebody else."""
    stage, ids, main = staged.stage, staged.ids, seen.page.locator("main")
    stage.enqueue("greet", queue="moving")
    seen.watch("/queues")
    stage.ask("POST", "/v1/queues/moving/pause")
    expect(seen.row("moving")).to_contain_text("paused")
    seen.watch("/queues/moving")
    stage.ask("POST", "/v1/queues/moving/resume")
    expect(seen.badge).to_contain_text("active")
    stage.ask("PATCH", "/v1/queues/moving", {"paused": True})
    stage.enqueue("greet", queue="moving")
    expect(main.locator(".figure", has_text="Waiting")).to_contain_text("1")
    dag = {"name": "moving", "tasks": [{"name": "first", "payload": {"task": "echo"}}]}
    id = stage.ask("POST", "/v1/dags", dag)["dag_id"]
    page = seen.watch(f"/dags/{id}")
    stage.ask("POST", "/v1/dags", {**dag, "tasks": [*dag["tasks"], {"name": "second", "payload": {"task": "echo"}}]})
    expect(page.get_by_role("button", name="second")).to_be_attached()
    flow = stage.flow("moving", TINY)
    seen.watch(f"/flows/{flow}")
    stage.flow("moving", TINY.replace("workflow W", "/** Said anew. */ workflow W"))
    expect(page.locator(".source")).to_contain_text("Said anew.")
    job = {"name": "moving", "job_type": "CRON", "cron_expression": "17 * * * *", "payload": {"task": "echo"}}
    seen.watch("/jobs?tab=calendar")
    ids = {**ids, "moving": stage.ask("POST", "/v1/jobs", job)["job_id"]}
    expect(page.locator(".calendar")).to_contain_text("moving")
    seen.watch("/jobs?name=moving")
    spark = seen.row("moving").get_by_role("img")
    expect(spark).to_have_count(0)
    stage.ask("POST", f"/v1/jobs/{ids['moving']}/trigger")
    expect(spark).to_have_attribute("aria-label", re.compile("Of the last 1, 0 failed"))
    seen.watch(f"/jobs/{ids['moving']}")
    stage.ask("POST", f"/v1/jobs/{ids['moving']}/pause")
    expect(seen.badge).to_contain_text("paused")
    problem = stage.ask("POST", "/aiopslab/tasks", {"problem_id": "moving"})["id"]
    seen.watch(f"/lab/{problem}")
    stage.ask("DELETE", f"/aiopslab/tasks/{problem}")
    expect(seen.badge).to_contain_text("failed")


def test_the_tabs_of_a_run_follow_it(staged: Staged, seen: Seen) -> None:
    stage, page = staged.stage, seen.page
    for tab, shown in (("steps", "tbody"), ("timeline", ".timeline"), ("data", "[aria-label=Output]"), ("graph", ".graph")):
        run = stage.start("checkout", order="o-tab", cents=1, items=["hat"])
        stage.wait(run, "waiting")
        seen.watch(f"/runs/{run}?tab={tab}")
        stage.ask("POST", f"/v1/runs/{run}/signal", {"name": "approval", "value": True})
        expect(page.locator(shown), tab).to_contain_text(re.compile("ship|hat shipped"))
    stage.ask("POST", "/v1/dags", {"name": "chatty", "tasks": [{"name": "talks", "payload": {"task": "endless"}}]})
    run = stage.run("chatty")
    seen.watch(f"/runs/{run}?tab=logs")
    expect(page.get_by_role("log")).to_contain_text("line 2")
    node = stage.ask("GET", f"/v1/tasks/{page_task(staged, run)}")["node_id"]
    running = seen.watch(f"/workers/{node}").locator(".figure", has_text="Running").locator(".figure-value")
    before = running.inner_text()
    seen.watch(f"/runs/{run}?tab=events")
    stage.ask("POST", f"/v1/runs/{run}/pause")
    expect(page.locator(".events")).to_contain_text("run.pause")
    seen.watch(f"/workers/{node}")
    expect(running).to_have_text(before)
    stage.ask("POST", f"/v1/runs/{run}/cancel", {})
    expect(running).not_to_have_text(before)


def page_task(staged: Staged, run: str) -> str:
    """The task of the only step that a run has."""
    [step] = until(lambda: [one for one in staged.stage.ask("GET", f"/v1/runs/{run}/steps")["items"] if one["task_id"]])
    return str(step["task_id"])


def test_what_nobody_tells_of_is_read_every_few_seconds(staged: Staged, seen: Seen) -> None:
    staged.stage.ask("PATCH", "/v1/queues/stuck", {"paused": True})
    staged.stage.enqueue("greet", queue="stuck")
    with another(seen, staged.stage.key) as opened:
        # the browser's clock is turned, nobody waits
        opened.page.clock.install()
        page = opened.watch("/")
        for path, read in (("/", "**/v1/overview?*"), ("/settings?tab=orgs", "**/v1/orgs?*")):
            opened.watch(path)
            with page.expect_request(read):
                page.clock.run_for(5_000)


def test_the_overview_counts_what_just_happened(staged: Staged, seen: Seen) -> None:
    page = seen.go("/")
    expect(page.locator(".figure", has_text="Workers")).to_be_visible()
    seen.live()
    staged.stage.ask("PATCH", "/v1/queues/held", {"paused": True})
    staged.stage.enqueue("greet", queue="held")
    id = staged.stage.enqueue("greet", payload={"name": "overview"})
    expect(page.locator(f'tr[data-id="{id}"]')).to_contain_text("completed")
    # the charts' own tables, for those who do not see them
    waiting = page.get_by_role("figure").filter(has_text="Waiting and running").locator("tbody tr").last
    expect(waiting.locator("td").first).not_to_have_text("0")
    page.get_by_role("button", name="6h").click()
    assert page.url.endswith("?range=6h")
    expect(page.locator(".chart")).to_have_count(4)


def test_a_list_follows_what_starts_and_ends(staged: Staged, seen: Seen) -> None:
    page = seen.go("/runs?kind=workflow")
    seen.settled()
    run = staged.stage.start("checkout", order="o-live", cents=1, items=[])
    row = page.locator(f'tr[data-id="{run}"]')
    expect(row).to_contain_text("waiting")
    staged.stage.ask("POST", f"/v1/runs/{run}/signal", {"name": "approval", "value": True})
    expect(row).to_contain_text("completed")


def test_the_list_of_tasks_shows_a_new_one_by_itself(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    page = seen.go(f"/tasks?queue={queue}")
    expect(page.get_by_text("No task is like this")).to_be_visible()
    seen.live()
    id = staged.stage.enqueue("greet", queue=queue)
    row = page.locator(f'tr[data-id="{id}"]')
    expect(row).to_be_visible()
    expect(row).to_contain_text("completed")


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


def test_a_run_too_large_to_be_pushed_is_shown_and_forked_whole(staged: Staged, seen: Seen) -> None:
    order = "long" * 30_000
    run = staged.stage.start("checkout", order=order, cents=1, items=["hat"])
    staged.stage.wait(run, "waiting")
    page = seen.watch(f"/runs/{run}?tab=data")
    staged.stage.ask("POST", f"/v1/runs/{run}/signal", {"name": "approval", "value": True})
    expect(seen.badge).to_contain_text("completed")
    expect(page.locator('[aria-label="Input"]')).to_contain_text("longlong")
    expect(page.locator('[aria-label="Output"]')).to_contain_text("hat shipped")
    seen.press("Fork…")
    assert json.loads(page.get_by_role("dialog").get_by_label("Input").input_value())["order"] == order
    page.keyboard.press("Escape")
    broken = staged.stage.start("checkout", order=order, cents=1, items=["nothing"])
    staged.stage.ask("POST", f"/v1/runs/{broken}/signal", {"name": "approval", "value": True})
    seen.go(f"/runs/{broken}")
    expect(page.get_by_role("group", name="Why it failed")).to_contain_text("there is nothing to ship")
