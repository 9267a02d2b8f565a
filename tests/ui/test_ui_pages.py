"""Every page: it loads, is accessible, fits, needs no mouse; and what is around them: keys, search, zone."""

import re
import uuid

import many_nodes
import pytest
import screenshots
from browsing import ROOT, Seen, Staged, until
from every_page import PAGES
from playwright.sync_api import expect

pytest_plugins = ("browsing",)


@pytest.mark.parametrize("part", range(6))
def test_a_page_loads_without_errors_is_accessible_and_fits(staged: Staged, seen: Seen, part: int) -> None:
    page = seen.page
    for path in PAGES[part::6]:
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 800})
        seen.go(path.format(**staged.ids))
        seen.settled()
        expect(page.locator(".failure[role=alert]"), path).to_have_count(0)
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        assert seen.axe() == [], path
        assert until(lambda: seen.sideways() <= 0), path
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert until(lambda: seen.sideways() <= 0), path
        assert seen.axe("color-contrast", "scrollable-region-focusable", "target-size") == [], path
        assert seen.wrong == [], path


LISTS = [
    "/runs", "/workflows", "/dags", "/flows", "/jobs", "/queues", "/tasks", "/dead", "/workers", "/lab",
    "/jobs/{job}", "/workflows/checkout", "/dags/{dag}?tab=runs", "/queues/mail", "/runs/{failed}?tab=steps",
]  # fmt: skip
TABS = ["/runs/{done}", "/dags/{dag}", "/flows/{flow}", "/jobs", "/tasks/{task}", "/lab/{problem}", "/settings"]
DIALOGS = [
    ("/jobs", "New job…"), ("/dags/{dag}", "Trigger…"), ("/workflows/checkout", "Start…"), ("/flows/{flow}", "Start…"),
    ("/runs/{approved}", "Fork…"), ("/runs/{waiting}", "Signal…"), ("/tasks", "Enqueue…"), ("/queues/mail", "Limits…"),
    ("/settings?tab=keys", "New key…"), ("/lab", "Submit a problem…"), ("/jobs/{job}", "Change…"), ("/", "Time zone"),
    ("/settings?tab=users", "New user…"), ("/settings?tab=roles", "New role…"), ("/settings?tab=secrets", "New secret…"),
    ("/settings?tab=orgs", "New org…"), ("/dead", "Discard all…"), ("/dead", "Redrive all…"), ("/workers", "Crash a worker"),
    ("/runs/{waiting}", "Cancel"), ("/settings?tab=audit", "dag.trigger"), ("/", "Keys and help"), ("/", "Search"),
]  # fmt: skip
INSIDE = "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"
TYPES = "input:not([type=checkbox]), textarea, select"


def test_lists_and_tabs_need_no_mouse(staged: Staged, seen: Seen) -> None:
    page, keys = seen.page, seen.page.keyboard
    for path in LISTS:
        seen.go(path.format(**staged.ids))
        seen.settled()
        rows = page.locator("tbody tr[data-row]")
        expect(rows.first, path).to_be_visible()
        # how many there are may change meanwhile; which one has the focus does not
        wanted = "document.activeElement.dataset.row"
        rows.first.focus()
        keys.press("ArrowDown")
        assert page.evaluate(wanted) == str(min(1, rows.count() - 1)), path
        keys.press("Home")
        assert page.evaluate(wanted) == "0", path
        before = page.url
        keys.press("Enter")
        page.wait_for_url(lambda url, before=before: url != before)
        expect(page.locator("h1"), path).to_be_visible()
    for path in TABS:
        seen.go(path.format(**staged.ids))
        seen.settled()
        tabs = page.get_by_role("tab")
        tabs.first.focus()
        keys.press("ArrowRight")
        expect(tabs.nth(1), path).to_be_focused()
        keys.press("End")
        expect(tabs.last, path).to_have_attribute("aria-selected", "true")
        keys.press("ArrowRight")
        expect(tabs.first, path).to_be_focused()


def test_dialogs_need_no_mouse_and_are_readable_in_the_dark_and_on_a_phone(staged: Staged, seen: Seen) -> None:
    page, keys = seen.page, seen.page.keyboard
    for path, button in DIALOGS:
        seen.go(path.format(**staged.ids))
        seen.settled()
        opener = page.get_by_role("button", name=button).first
        opener.focus()
        keys.press("Enter")
        box = page.get_by_role("dialog")
        expect(box, path).to_be_visible()
        # whoever opens a form can begin to type
        if box.locator(TYPES).count():
            expect(box.locator(TYPES).first, f"{path} {button}").to_be_focused()
        keys.press("Tab")
        # behind the last thing in it comes the browser's own frame, never what is behind the dialog
        assert page.evaluate(INSIDE), path
        assert seen.axe(within="dialog") == [], path
        # where there is little room the zone is chosen in the menu
        if button != "Time zone":
            page.emulate_media(color_scheme="dark")
            page.set_viewport_size({"width": 390, "height": 844})
            assert until(lambda: seen.sideways() <= 0), button
            assert seen.axe("color-contrast", "scrollable-region-focusable", "target-size", within="dialog") == [], button
            # nothing of it sticks out to where nobody can scroll
            assert box.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0, button
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": 1280, "height": 800})
        keys.press("Escape")
        expect(box, path).to_have_count(0)
        expect(opener, path).to_be_focused()


def test_on_a_phone_the_menu_opens_and_the_open_tab_is_in_sight(staged: Staged, seen: Seen) -> None:
    page = seen.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    for path in ("/settings?tab=audit", "/runs/{done}?tab=events"):
        seen.go(path.format(**staged.ids))
        seen.settled()
        expect(page.get_by_role("tab", selected=True), path).to_be_in_viewport(ratio=0.95)
    seen.go("/runs/{done}".format(**staged.ids))
    # seven tasks of a DAG: the arrows between them are drawn as well
    expect(page.locator(".graph-box")).to_have_count(7)
    expect(page.locator(".react-flow__edge-path")).to_have_count(8)
    menu = page.get_by_role("button", name="Menu")
    menu.focus()
    page.keyboard.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    assert seen.axe("color-contrast", "target-size") == []
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(menu).to_have_attribute("aria-expanded", "false")


def test_every_address_of_the_ui_is_looked_at_by_these_tests_and_by_the_screenshots() -> None:
    source = (ROOT / "ui" / "src" / "routes.tsx").read_text()
    routes = [re.sub(r":\w+", "[^/?]+", one) for one in re.findall(r'path: "([^"]+)"', source)]
    assert len(routes) > 15
    for where, seen_there in (("every_page.py", PAGES), ("screenshots.py", [*screenshots.PAGES.values()])):
        unseen = [one for one in routes if not any(re.fullmatch(one, path.split("?")[0]) for path in seen_there)]
        assert unseen == [], f"{where} has no page of {unseen}"


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
    page.get_by_role("button", name="Drain…").click()
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
    created = page.locator(".facts time").first
    local = created.inner_text()
    seen.press("Time zone")
    box = page.get_by_role("combobox", name="Search time zones")
    box.fill("chatham")
    found = page.get_by_role("listbox", name="Zones").get_by_role("option")
    expect(found).to_have_text(re.compile("Pacific/Chatham"))
    box.press("Enter")
    expect(created).not_to_have_text(local)
    chatham = created.inner_text()
    page.reload()
    seen.settled()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert created.inner_text() == chatham
    seen.press("Time zone: Pacific/Chatham")
    assert found.count() > 300
    box.press("Enter")
    expect(created).to_have_text(local)
    page.get_by_label("Theme").first.select_option("system")


def test_the_keyboard_is_enough(staged: Staged, seen: Seen) -> None:
    page = seen.go("/runs")
    seen.settled()
    keys = page.keyboard
    keys.press("g")
    keys.press("d")
    expect(page.locator("h1")).to_have_text("DAGs")
    seen.row("nightly-etl").focus()
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
