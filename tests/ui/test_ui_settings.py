"""Settings: keys and secrets are shown once or never, people and roles are changed, the audit trail is verified."""

import uuid
from typing import Any

from stand import Here, expect, problems

pytest_plugins = ("stand",)


def _row(page: Any, text: str) -> Any:
    return page.locator("tbody tr", has_text=text)


def test_a_key_is_made_shown_once_and_revoked(page: Any, here: Here) -> None:
    name = f"key-{uuid.uuid4().hex[:8]}"
    page.goto("/settings?tab=keys")
    page.get_by_role("button", name="New key …").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_role("textbox", name="name", exact=True).fill(name)
    form.get_by_role("combobox", name="role", exact=True).select_option("reader")
    form.get_by_role("textbox", name="scopes", exact=True).fill("task.read, queue.read")
    assert problems(page) == []
    form.get_by_role("button", name="Make it").click()
    shown = page.get_by_role("dialog", name="The new key")
    key = shown.locator("code").inner_text()
    assert key.startswith("weft_")
    shown.get_by_role("button", name="I have it").click()
    expect(_row(page, name)).to_contain_text("active")
    assert key not in page.content()
    _row(page, name).get_by_role("button", name="Revoke …").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(_row(page, name)).to_contain_text("revoked")


def test_users_and_roles(page: Any, here: Here) -> None:
    slug, subject = f"r{uuid.uuid4().hex[:8]}", f"sub-{uuid.uuid4().hex[:8]}"
    page.goto("/settings?tab=roles")
    page.get_by_role("button", name="New role …").click()
    page.get_by_role("textbox", name="slug", exact=True).fill(slug)
    page.get_by_role("textbox", name="name", exact=True).fill("Finance")
    page.get_by_role("button", name="Make it").click()
    expect(_row(page, slug)).to_be_visible()
    page.get_by_role("tab", name="Users").click()
    page.get_by_role("button", name="New user …").click()
    page.get_by_role("textbox", name="Subject", exact=True).fill(subject)
    page.get_by_role("combobox", name="role", exact=True).select_option("reader")
    page.get_by_role("button", name="Add").click()
    _row(page, subject).get_by_role("button", name="Change …").click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Roles of the org", exact=True).fill(slug)
    form.get_by_role("button", name="Save").click()
    expect(_row(page, subject)).to_contain_text(slug)
    _row(page, subject).get_by_role("button", name="Remove …").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(_row(page, subject)).to_have_count(0)


def test_a_session_is_ended_and_the_door_is_shown(page: Any, here: Here) -> None:
    page.goto("/settings")
    expect(page.get_by_role("heading", name="Open sessions")).to_be_visible()
    assert problems(page) == []
    # every session of this key that is open, ours among them
    page.watch.allowed += ("401",)
    for one in here.ask("GET", "/v1/sessions?everybodys=true")["items"]:
        here.ask("DELETE", f"/v1/sessions/{one['id']}")
    page.get_by_role("tab", name="Keys").click()
    expect(page.get_by_label("API key")).to_be_visible()


def test_the_audit_trail_is_read_and_verified(page: Any, here: Here) -> None:
    queue = f"q{uuid.uuid4().hex[:8]}"
    here.ask("PATCH", f"/v1/queues/{queue}", {"max_running": 7})
    page.goto(f"/settings?tab=audit&object_id={queue}")
    page.get_by_role("button", name="queue.set").click()
    expect(page.get_by_role("dialog")).to_contain_text("max_running")
    assert problems(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Verify the trail").click()
    expect(page.locator(".note.tone-ok")).to_contain_text("nothing changed")
