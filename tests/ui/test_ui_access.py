"""The door, who sees which buttons, and what admins do: keys, users, roles, secrets, orgs, sessions, the trail."""

import re
import uuid

from browsing import LINK, ROOT, Seen, Staged, another, log_in, until
from every_page import PAGES
from playwright.sync_api import expect

from weft.api import policy

pytest_plugins = ("browsing",)

PLACES = (".page-head", ".card-head", "tbody", ".run-side")
DEEDS = ", ".join(f"main {place} .actions button:not(.chip)" for place in PLACES)


def test_who_is_not_logged_in_sees_the_door_and_comes_back_to_the_page(staged: Staged, seen: Seen) -> None:
    with another(seen, None) as opened:
        page = opened.page
        page.goto("/queues?sort=name")
        expect(page.get_by_label("API key")).to_be_visible()
        assert opened.wrong == []
        opened.allowed = ("status of 401",)
        page.get_by_label("API key").fill("weft_wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        assert opened.axe() == [] and opened.sideways() <= 0
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert until(lambda: opened.sideways() <= 0)
        assert opened.axe("color-contrast", "target-size") == []
        page.get_by_label("API key").fill(staged.stage.key)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Queues")).to_be_visible()
        assert page.url.endswith("/queues?sort=name")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("API key")).to_be_visible()
        assert page.request.get("/v1/me").status == 401
        page.goto("/login?error=unavailable")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        page.goto(f"/tasks#key={staged.stage.key}")
        expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
        assert staged.stage.key not in page.url and page.evaluate("document.cookie") == ""


def test_who_may_only_read_sees_every_page_and_is_offered_nothing_to_do(staged: Staged, seen: Seen) -> None:
    key = staged.stage.ask("POST", "/v1/keys", {"name": "looks", "role": "reader"})["key"]
    with another(seen, key) as opened:
        # their own sessions they may end
        for path in (one for one in PAGES if one != "/settings"):
            page = opened.go(path.format(**staged.ids))
            opened.settled()
            deeds = page.locator(f"{DEEDS}, main tbody input[type=checkbox]").filter(visible=True)
            expect(deeds, path).to_have_count(0)
            expect(page.locator("[role=alert]"), path).to_have_count(0)
        opened.go(f"/flows/{staged.ids['flow']}")
        expect(page.get_by_role("button", name="Try a change")).to_have_count(0)
        opened.go("/settings?tab=users")
        expect(page.locator(".empty")).to_contain_text("user.read")


def test_buttons_are_the_actions_that_a_key_is_held_to(staged: Staged, seen: Seen) -> None:
    reads = [one for one in policy.ACTIONS if one.endswith(".read") and policy.allows("writer", one)]
    held = {"name": "held", "role": "writer", "scopes": [*reads, "dag.run", "job.trigger"]}
    key = staged.stage.ask("POST", "/v1/keys", held)["key"]
    steps = staged.stage.ask("GET", f"/v1/runs/{staged.ids['failed']}/steps?limit=100")["items"]
    step = next(one["id"] for one in steps if one["node"] == "check")
    with another(seen, key) as opened:
        for path, wanted in {
            "/jobs/{job}": ["Trigger now"], "/dags/{dag}": ["Trigger…"], "/runs/{waiting}": [], "/workflows/checkout": [],
            "/runs/{failed}": ["Retry"], f"/runs/{{failed}}?step={step}": ["Retry", "Retry from here", "Mark as done…"],
            "/flows": [], "/flows/{flow}": [], "/tasks": [], "/queues": [], "/dead": [], "/workers": [], "/lab": [],
        }.items():  # fmt: skip
            page = opened.go(path.format(**staged.ids))
            opened.settled()
            expect(page.locator(DEEDS), path).to_have_text(wanted)
        page = opened.go("/jobs?name=daily-report")
        expect(opened.row("daily-report").get_by_role("button")).to_have_text(["Trigger"])
        # of the runs that are chosen it may retry DAGs, and cancel none
        opened.go("/runs?state=failed")
        page.locator(f'tr[data-id="{staged.ids["failed"]}"] input').check()
        bulk = page.get_by_role("group", name="What to do with the chosen runs")
        expect(bulk.get_by_role("button", name="Retry 1")).to_be_enabled()
        expect(bulk.get_by_role("button", name="Cancel")).to_be_disabled()


def test_every_action_that_the_ui_asks_for_is_in_the_policy() -> None:
    source = "".join(one.read_text() for one in (ROOT / "ui" / "src").rglob("*.ts*"))
    asked = {*re.findall(r'\bmay\([^,]+, "(\w+\.\w+)"', source), *re.findall(r'"(\w+\.(?:read|write|run))"', source)}
    assert len(asked) > 20 and asked <= set(policy.ACTIONS), asked - set(policy.ACTIONS)


def test_a_key_is_made_shown_once_and_revoked(seen: Seen) -> None:
    name = f"key-{uuid.uuid4().hex[:8]}"
    page = seen.go("/settings?tab=keys")
    page.get_by_role("button", name="New key…").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_role("textbox", name="Name", exact=True).fill(name)
    form.get_by_role("combobox", name="Role", exact=True).select_option("reader")
    form.get_by_role("textbox", name="Scopes", exact=True).fill("task.read, queue.read")
    assert seen.axe() == []
    form.get_by_role("button", name="Make it").click()
    shown = page.get_by_role("dialog", name="The new key")
    key = shown.locator("code").inner_text()
    assert key.startswith("weft_")
    shown.get_by_role("button", name="I have it").click()
    expect(seen.row(name)).to_contain_text("active")
    assert key not in page.content()
    seen.row(name).get_by_role("button", name="Revoke…").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(seen.row(name)).to_contain_text("revoked")


def test_users_and_roles(seen: Seen) -> None:
    slug, subject = f"r{uuid.uuid4().hex[:8]}", f"sub-{uuid.uuid4().hex[:8]}"
    page = seen.go("/settings?tab=roles")
    page.get_by_role("button", name="New role…").click()
    page.get_by_role("textbox", name="Slug", exact=True).fill(slug)
    page.get_by_role("textbox", name="Name", exact=True).fill("Finance")
    page.get_by_role("button", name="Make it").click()
    expect(seen.row(slug)).to_be_visible()
    page.get_by_role("tab", name="Users").click()
    page.get_by_role("button", name="New user…").click()
    page.get_by_role("textbox", name="Subject", exact=True).fill(subject)
    page.get_by_role("combobox", name="Role", exact=True).select_option("reader")
    page.get_by_role("button", name="Add").click()
    seen.row(subject).get_by_role("button", name="Change…").click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Roles of the org", exact=True).fill(slug)
    form.get_by_role("button", name="Save").click()
    expect(seen.row(subject)).to_contain_text(slug)
    seen.row(subject).get_by_role("button", name="Remove…").click()
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


def test_a_session_that_was_ended_leads_to_the_door(staged: Staged, seen: Seen) -> None:
    page = seen.go("/settings")
    expect(page.get_by_role("heading", name="Open sessions")).to_be_visible()
    seen.allowed = ("401",)
    # every session of this key that is open, ours among them
    for one in staged.stage.ask("GET", "/v1/sessions?everybodys=true")["items"]:
        staged.stage.ask("DELETE", f"/v1/sessions/{one['id']}")
    seen.refused()
    # by a link, not by a click on the tab: the page may have been told already, and be the door
    page.evaluate(LINK, "/settings?tab=keys")
    expect(page.get_by_label("API key")).to_be_visible()
    log_in(page.context, staged.stage.key)


def test_a_role_is_removed_a_secret_kept_replaced_and_forgotten(staged: Staged, seen: Seen) -> None:
    slug, name = f"r{uuid.uuid4().hex[:8]}", f"S_{uuid.uuid4().hex[:8]}"
    staged.stage.ask("POST", "/v1/roles", {"slug": slug, "name": "Gone soon"})
    page = seen.go("/settings?tab=roles")
    seen.row(slug).get_by_role("button", name="Remove…").click()
    seen.asked("Remove")
    expect(seen.row(slug)).to_have_count(0)
    page = seen.go("/settings?tab=secrets")
    seen.press("New secret…")
    form = page.get_by_role("dialog")
    form.get_by_label("name").fill(name)
    form.get_by_label("value").fill("not to be read again")
    form.get_by_role("button", name="Keep it").click()
    expect(seen.row(name)).to_contain_text("no")
    seen.row(name).get_by_role("button", name="Replace…").click()
    form.get_by_label("value").fill("something else")
    form.get_by_label("HTTP workers may have it too").check()
    form.get_by_role("button", name="Replace it").click()
    expect(seen.row(name)).to_contain_text("yes")
    assert "not to be read" not in page.content() and "something else" not in page.content()
    seen.row(name).get_by_role("button", name="Forget…").click()
    expect(form.get_by_role("button", name="Forget it")).to_be_disabled()
    seen.asked("Forget it", typed=name)
    expect(seen.row(name)).to_have_count(0)


def test_an_org_is_made_with_its_first_key_changed_suspended_and_taken_up(seen: Seen) -> None:
    slug = f"o{uuid.uuid4().hex[:8]}"
    page = seen.go("/settings?tab=orgs")
    seen.press("New org…")
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Name", exact=True).fill("Acme")
    form.get_by_label("slug").fill(slug)
    form.get_by_label("First key").fill("first")
    form.get_by_role("button", name="Make it").click()
    shown = page.get_by_role("dialog", name="The org's first key")
    key = shown.locator("code").inner_text()
    shown.get_by_role("button", name="I have it").click()
    seen.row(slug).get_by_role("button", name="Change…").click()
    form.get_by_label("Running at most").fill("7")
    form.get_by_role("button", name="Save").click()
    expect(seen.row(slug)).to_contain_text("7")
    with another(seen, key) as theirs:
        expect(theirs.go("/settings").locator("main")).to_contain_text(slug)
        seen.row(slug).get_by_role("button", name="Suspend…").click()
        seen.asked("Suspend", typed=slug)
        expect(seen.row(slug)).to_contain_text("paused")
        theirs.allowed = ("401", "403", "WebSocket")
        theirs.refused()
        theirs.page.reload()
        expect(theirs.page.get_by_label("API key")).to_be_visible()
    seen.row(slug).get_by_role("button", name="Take up").click()
    expect(seen.row(slug)).to_contain_text("active")


def test_a_session_is_ended_from_another_one(staged: Staged, seen: Seen) -> None:
    with another(seen, staged.stage.key, user_agent="Elsewhere/1.0") as other:
        other.watch("/settings?tab=keys")
        page = seen.watch("/settings")
        expect(seen.row("this one")).to_have_count(1)
        expect(seen.row("Elsewhere")).not_to_contain_text("this one")
        seen.row("Elsewhere").get_by_role("button", name="End…").click()
        seen.asked("End it")
        expect(seen.row("Elsewhere")).to_have_count(0)
        other.allowed = ("401", "WebSocket")
        other.refused()
        other.page.evaluate(LINK, "/settings?tab=roles")
        expect(other.page.get_by_label("API key")).to_be_visible()
    expect(page.get_by_role("heading", name="Open sessions")).to_be_visible()
