"""Every page: it loads, is accessible, fits and follows what happens; and what is around them: door, keys, search, zone."""

import re
import uuid

import many_nodes
import pytest
from browsing import Seen, Staged, log_in, until
from playwright.sync_api import expect

pytest_plugins = ("browsing",)

PAGES = [
    "/", "/queues", "/queues/default", "/tasks?state=failed&kind=breaks", "/tasks/{task}", "/tasks/{task}?tab=attempts",
    "/tasks/{task}?tab=log", "/dead", "/workers", "/workers/{node}", "/lab", "/lab/{problem}", "/settings",
    "/settings?tab=orgs", "/settings?tab=users", "/settings?tab=roles", "/settings?tab=keys", "/settings?tab=secrets",
    "/settings?tab=audit", "/no/such/page",
    "/runs", "/runs?state=failed&kind=dag", "/runs/{done}", "/runs/{failed}?tab=timeline", "/runs/{failed}?tab=steps",
    "/runs/{approved}", "/runs/{approved}?tab=data", "/runs/{done}?tab=logs", "/runs/{approved}?tab=events",
    "/runs/{waiting}", "/jobs", "/jobs?tab=calendar", "/jobs/{job}", "/dags", "/dags/{dag}", "/dags/{dag}?tab=runs",
    "/dags/{dag}?tab=versions&from=1&to=2", "/dags/{dag}?tab=params", "/workflows", "/workflows/checkout", "/flows",
    "/flows/{flow}", "/flows/{flow}?tab=graph", "/flows/{flow}?tab=runs",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_without_errors_is_accessible_and_fits(staged: Staged, seen: Seen, path: str) -> None:
    page = seen.go(path.format(**staged.ids))
    seen.settled()
    expect(page.locator(".failure[role=alert]")).to_have_count(0)
    assert page.locator("html").get_attribute("data-theme") == "light"
    assert seen.axe() == []
    assert seen.sideways() <= 0
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert until(lambda: seen.sideways() <= 0)
    assert seen.axe("color-contrast", "scrollable-region-focusable", "target-size") == []


def test_lists_show_what_is_new_by_themselves(staged: Staged, seen: Seen) -> None:
    stage, name = staged.stage, f"new-{uuid.uuid4().hex[:8]}"
    task = {"name": "only", "payload": {"task": "echo"}}
    text = "namespace x { workflow W() => (a: Long) andThen { yield W(a = 1) } }"
    flow = {"name": name, "sources": [{"name": "x.afl", "text": text}]}
    cron = {"name": name, "job_type": "CRON", "cron_expression": "@hourly", "payload": {"task": "echo"}}
    for path, method, to, body in (
        ("/dags?name_prefix=new-", "POST", "/v1/dags", {"name": name, "tasks": [task]}),
        ("/flows?name_prefix=new-", "POST", "/v1/flows", flow),
        ("/jobs?name=" + name, "POST", "/v1/jobs", cron),
        ("/queues", "PATCH", f"/v1/queues/{name}", {"max_running": 5}),
        ("/settings?tab=keys", "POST", "/v1/keys", {"name": name, "role": "reader"}),
        ("/settings?tab=users", "POST", "/v1/users", {"external_id": name, "role": "reader"}),
        ("/settings?tab=roles", "POST", "/v1/roles", {"slug": name, "name": name}),
        ("/settings?tab=secrets", "PUT", f"/v1/secrets/{name.replace('-', '_')}", {"value": "hidden away"}),
        ("/settings?tab=audit&object_id=" + name, "PATCH", f"/v1/queues/{name}", {"max_running": 6}),
    ):  # fmt: skip
        seen.go(path)
        seen.settled()
        seen.live()
        before = seen.row(name).or_(seen.row(name.replace("-", "_")))
        count = before.count()
        stage.ask(method, to, body)
        expect(before, path).to_have_count(count + 1)
    seen.go("/workflows")
    seen.settled()
    seen.live()
    staged.execute("insert into weft.workflows (name, version) values (%s, '1')", name)
    expect(seen.row(name)).to_have_count(1)


def test_a_paused_queue_and_a_changed_dag_are_seen_at_once(staged: Staged, seen: Seen) -> None:
    seen.go("/queues")
    seen.settled()
    seen.live()
    staged.stage.ask("POST", "/v1/queues/moving/pause")
    expect(seen.row("moving")).to_contain_text("paused")
    staged.stage.ask("POST", "/v1/queues/moving/resume")
    expect(seen.row("moving")).to_contain_text("active")
    dag = {"name": "moving", "tasks": [{"name": "first", "payload": {"task": "echo"}}]}
    id = staged.stage.ask("POST", "/v1/dags", dag)["dag_id"]
    page = seen.go(f"/dags/{id}")
    seen.live()
    expect(page.get_by_role("button", name="first")).to_be_attached()
    staged.stage.ask("POST", "/v1/dags", {**dag, "tasks": [*dag["tasks"], {"name": "second", "payload": {"task": "echo"}}]})
    expect(page.get_by_role("button", name="second")).to_be_attached()


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


def test_a_crowd_of_nodes_is_a_picture_and_a_list_that_scrolls(staged: Staged, seen: Seen) -> None:
    run = many_nodes.made(staged, 400)
    many_nodes.painted(seen, run)
    many_nodes.walk(seen, 400)


def test_a_worker_is_crashed_and_what_it_ran_comes_back_on_the_timeline(staged: Staged, seen: Seen) -> None:
    stage = staged.stage
    stage.ask("POST", "/v1/dags", {"name": "fragile", "tasks": [{"name": "careful", "payload": {"task": "careful"}}]})
    run = stage.run("fragile")
    [step] = until(lambda: [one for one in stage.ask("GET", f"/v1/runs/{run}/steps")["items"] if one["task_id"]])
    task = until(lambda: (one := stage.ask("GET", f"/v1/tasks/{step['task_id']}")) and one["state"] == "running" and one)
    page = seen.go("/workers")
    page.get_by_role("button", name="Crash a worker").click()
    page.get_by_role("dialog").get_by_role("button", name="Crash it").click()
    recovery = page.get_by_role("region", name="Recovery")
    expect(recovery).to_contain_text("was killed")
    mine = recovery.get_by_role("listitem").filter(has_text="careful")
    expect(mine.locator(".attempt-bar.lost")).to_have_count(1)
    expect(mine.locator(".badge")).to_contain_text("completed")
    expect(mine).to_contain_text("lost once with its worker, taken up again after")
    expect(mine.locator(".attempt-gap")).to_have_count(1)
    assert seen.axe() == []
    mine.get_by_role("link", name="its run").click()
    expect(seen.badge).to_contain_text("completed")
    # the attempt that was lost, the time when nobody had it, the new one
    lane = page.locator(".timeline-lane")
    expect(lane.get_by_role("img", name=re.compile("careful: Attempt 1, lost"))).to_be_visible()
    expect(lane.get_by_role("img", name=re.compile("careful: nobody had it for"))).to_be_attached()
    expect(lane.get_by_role("img", name=re.compile("careful: Attempt 2, completed"))).to_be_attached()
    expect(page.locator(".timeline-took")).to_contain_text("attempt 2, 1 lost")
    assert seen.axe() == []
    ended = stage.ask("GET", f"/v1/tasks/{task['id']}")
    assert (ended["losses"], ended["result"], [one["outcome"] for one in ended["attempts"]]) == (1, "attempt 2", ["lost"])
    seen.go(f"/tasks/{task['id']}?tab=attempts")
    expect(page.get_by_role("figure", name="Attempts over time").locator(".attempt-bar")).to_have_count(2)


def test_a_worker_is_looked_at_and_drained(staged: Staged, seen: Seen) -> None:
    page = seen.go("/workers")
    seen.settled()
    seen.live()
    drains = page.locator("tbody tr[data-row]", has=page.get_by_role("button", name=re.compile("^Drain")))
    expect(drains).to_have_count(1)
    node = drains.get_attribute("data-id")
    drains.get_by_role("link").click()
    expect(page.get_by_role("heading", name=re.compile("Handlers"))).to_be_visible()
    expect(page.locator("main")).to_contain_text("endless")
    page.get_by_role("button", name="Drain …").click()
    page.get_by_role("dialog").get_by_role("button", name="Keep as it is").click()
    assert staged.stage.ask("GET", f"/v1/nodes/{node}")["status"] == "active"
    page.get_by_role("link", name="Workers").last.click()
    drains.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain it").click()
    expect(page.locator(".toast").last).to_contain_text("drains")
    # it ends by itself, this stage starts another one, and the list follows
    expect(page.locator(f'tr[data-id="{node}"]')).to_have_count(0)
    expect(drains).to_have_count(1)
    assert staged.stage.ask("GET", "/v1/audit?action=node.drain")["items"][0]["object_id"] == node


def test_who_is_not_logged_in_sees_the_door_and_comes_back_to_the_page(staged: Staged, seen: Seen) -> None:
    browser = seen.page.context.browser
    assert browser is not None
    context = browser.new_context(base_url=seen.url)
    opened = Seen(context.new_page(), seen.url)
    page = opened.page
    page.goto("/queues?sort=name")
    expect(page.get_by_label("API key")).to_be_visible()
    assert opened.wrong == []
    opened.allowed = ("status of 401",)
    page.get_by_label("API key").fill("weft_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert opened.axe() == []
    page.get_by_label("API key").fill(staged.stage.key)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    assert page.url.endswith("/queues?sort=name")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert context.request.get("/v1/me").status == 401
    page.goto("/login?error=unavailable")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.goto(f"/tasks#key={staged.stage.key}")
    expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
    assert staged.stage.key not in page.url and page.evaluate("document.cookie") == ""
    context.close()
    assert opened.wrong == []


def test_keys_go_search_and_help(staged: Staged, seen: Seen) -> None:
    id = staged.stage.enqueue("greet", payload={"name": "search"})
    page = seen.go("/")
    seen.settled()
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search everything")
    found = page.get_by_role("listbox", name="Found").get_by_role("option")
    expect(box).to_be_focused()
    box.fill("dead")
    expect(found.filter(has_text="Dead letters")).to_be_visible()
    assert seen.axe() == []
    box.fill("gree")
    expect(found.first).to_contain_text("kind")
    box.fill(id)
    expect(found.first).to_contain_text("task")
    box.press("Enter")
    expect(page.get_by_role("heading", name="greet")).to_be_visible()
    assert page.url.endswith(f"/tasks/{id}")


def test_theme_and_zone_are_kept(staged: Staged, seen: Seen) -> None:
    page = seen.go(f"/tasks/{staged.ids['task']}")
    seen.settled()
    page.get_by_label("Theme").first.select_option("dark")
    page.get_by_label("Time zone").first.select_option("Asia/Tokyo")
    created = page.locator(".facts time").first
    tokyo = created.inner_text()
    page.reload()
    seen.settled()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert created.inner_text() == tokyo
    page.get_by_label("Time zone").first.select_option("local")
    expect(created).not_to_have_text(tokyo)
    page.get_by_label("Theme").first.select_option("system")


def test_a_key_is_made_shown_once_and_revoked(seen: Seen) -> None:
    name = f"key-{uuid.uuid4().hex[:8]}"
    page = seen.go("/settings?tab=keys")
    page.get_by_role("button", name="New key …").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_role("textbox", name="name", exact=True).fill(name)
    form.get_by_role("combobox", name="role", exact=True).select_option("reader")
    form.get_by_role("textbox", name="scopes", exact=True).fill("task.read, queue.read")
    assert seen.axe() == []
    form.get_by_role("button", name="Make it").click()
    shown = page.get_by_role("dialog", name="The new key")
    key = shown.locator("code").inner_text()
    assert key.startswith("weft_")
    shown.get_by_role("button", name="I have it").click()
    expect(seen.row(name)).to_contain_text("active")
    assert key not in page.content()
    seen.row(name).get_by_role("button", name="Revoke …").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(seen.row(name)).to_contain_text("revoked")


def test_users_and_roles(seen: Seen) -> None:
    slug, subject = f"r{uuid.uuid4().hex[:8]}", f"sub-{uuid.uuid4().hex[:8]}"
    page = seen.go("/settings?tab=roles")
    page.get_by_role("button", name="New role …").click()
    page.get_by_role("textbox", name="slug", exact=True).fill(slug)
    page.get_by_role("textbox", name="name", exact=True).fill("Finance")
    page.get_by_role("button", name="Make it").click()
    expect(seen.row(slug)).to_be_visible()
    page.get_by_role("tab", name="Users").click()
    page.get_by_role("button", name="New user …").click()
    page.get_by_role("textbox", name="Subject", exact=True).fill(subject)
    page.get_by_role("combobox", name="role", exact=True).select_option("reader")
    page.get_by_role("button", name="Add").click()
    seen.row(subject).get_by_role("button", name="Change …").click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Roles of the org", exact=True).fill(slug)
    form.get_by_role("button", name="Save").click()
    expect(seen.row(subject)).to_contain_text(slug)
    seen.row(subject).get_by_role("button", name="Remove …").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(seen.row(subject)).to_have_count(0)


def test_the_audit_trail_is_read_and_verified(staged: Staged, seen: Seen) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    staged.stage.ask("PATCH", f"/v1/queues/{queue}", {"max_running": 7})
    page = seen.go(f"/settings?tab=audit&object_id={queue}")
    page.get_by_role("button", name="queue.set").click()
    expect(page.get_by_role("dialog")).to_contain_text("max_running")
    assert seen.axe() == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Verify the trail").click()
    expect(page.locator(".note.tone-ok")).to_contain_text("nothing changed")


def test_who_may_only_read_is_offered_nothing_to_do(staged: Staged, seen: Seen) -> None:
    key = staged.stage.ask("POST", "/v1/keys", {"name": "looks", "role": "reader"})["key"]
    browser = seen.page.context.browser
    assert browser is not None
    context = browser.new_context(base_url=seen.url)
    log_in(context, key)
    opened = Seen(context.new_page(), seen.url)
    for path in ("/tasks", "/dead", "/workers", "/queues", "/jobs", "/runs/{waiting}", "/dags/{dag}"):
        page = opened.go(path.format(**staged.ids))
        opened.settled()
        deeds = page.locator("main .page-head .actions button, main tbody .actions button, main tbody input[type=checkbox]")
        expect(deeds, path).to_have_count(0)
    context.close()
    assert opened.wrong == []


def test_a_session_that_was_ended_leads_to_the_door(staged: Staged, seen: Seen) -> None:
    page = seen.go("/settings")
    expect(page.get_by_role("heading", name="Open sessions")).to_be_visible()
    seen.allowed = ("401",)
    # every session of this key that is open, ours among them
    for one in staged.stage.ask("GET", "/v1/sessions?everybodys=true")["items"]:
        staged.stage.ask("DELETE", f"/v1/sessions/{one['id']}")
    page.get_by_role("tab", name="Keys").click()
    expect(page.get_by_label("API key")).to_be_visible()
    log_in(page.context, staged.stage.key)
