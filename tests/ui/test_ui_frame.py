"""What is around every page: the door, the keys, search, theme and zone, addresses."""

import re
from typing import Any

import pytest
from stand import Here, expect, problems, sideways

pytest_plugins = ("stand",)

PAGES = [
    "/", "/queues", "/tasks?state=failed&kind=breaks", "/dead", "/workers", "/lab", "/settings", "/settings?tab=orgs",
    "/settings?tab=users", "/settings?tab=roles", "/settings?tab=keys", "/settings?tab=secrets", "/settings?tab=audit",
    "/no/such/page",
]  # fmt: skip


def settled(page: Any) -> None:
    """Until the page has what it shows."""
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_in_both_themes_and_widths(page: Any, here: Here, path: str) -> None:
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.goto(path)
        settled(page)
        assert page.locator("html").get_attribute("data-theme") == scheme
        assert problems(page) == []
        assert sideways(page) == 0


def test_who_is_not_logged_in_sees_the_door_and_comes_back_to_the_page(chromium: Any, here: Here) -> None:
    context = chromium.new_context(base_url=here.url)
    opened = context.new_page()
    opened.goto("/queues?sort=name")
    opened.get_by_label("API key").fill("weft_wrong")
    opened.get_by_role("button", name="Log in").click()
    expect(opened.get_by_role("alert")).to_be_visible()
    assert problems(opened) == []
    opened.get_by_label("API key").fill(here.key)
    opened.get_by_role("button", name="Log in").click()
    expect(opened.get_by_role("heading", name="Queues")).to_be_visible()
    assert opened.url.endswith("/queues?sort=name")
    opened.get_by_role("button", name="Log out").click()
    expect(opened.get_by_label("API key")).to_be_visible()
    assert context.request.get("/v1/me").status == 401
    context.close()


def test_the_key_behind_the_hash_logs_in_and_is_gone_from_the_address(chromium: Any, here: Here) -> None:
    context = chromium.new_context(base_url=here.url)
    opened = context.new_page()
    opened.goto(f"/tasks#key={here.key}")
    expect(opened.get_by_role("heading", name="Tasks")).to_be_visible()
    assert here.key not in opened.url
    assert opened.evaluate("document.cookie") == ""
    context.close()


def test_keys_go_search_and_help(page: Any, here: Here) -> None:
    page.goto("/")
    settled(page)
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search everything")
    expect(box).to_be_focused()
    box.fill("dead")
    expect(page.get_by_role("option", name=re.compile("Dead letters"))).to_be_visible()
    assert problems(page) == []
    page.get_by_role("option", name=re.compile("Dead letters")).click()
    expect(page.get_by_role("heading", name="Dead letters")).to_be_visible()


def test_search_finds_a_task_by_its_id_and_a_kind_by_its_name(page: Any, here: Here) -> None:
    id = here.enqueue("greet", payload={"name": "search"})
    page.goto("/")
    settled(page)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search everything")
    box.fill(id)
    found = page.get_by_role("listbox", name="Found").get_by_role("option")
    expect(found.first).to_contain_text("task")
    box.press("Enter")
    expect(page.get_by_role("heading", name="greet")).to_be_visible()
    assert page.url.endswith(f"/tasks/{id}")
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search everything").fill("gree")
    expect(found.first).to_contain_text("kind")


def test_theme_and_zone_are_kept(page: Any, here: Here) -> None:
    id = here.enqueue("greet")
    page.goto(f"/tasks/{id}")
    settled(page)
    page.get_by_label("Theme").first.select_option("dark")
    page.get_by_label("Time zone").first.select_option("Asia/Tokyo")
    created = page.locator(".facts time").first
    tokyo = created.inner_text()
    page.reload()
    settled(page)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert created.inner_text() == tokyo
    page.get_by_label("Time zone").first.select_option("local")
    expect(created).not_to_have_text(tokyo)
