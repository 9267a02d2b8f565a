"""`make screenshots`: every page, light and dark, at 1280 and 390 px, into docs/screenshots, with sheets to look them over.

Those that the documentation shows are written to docs/images too, as small as they get: they are committed. Some only:
`make screenshots ARGS="overview job"`; those not there yet, if it was interrupted: `make screenshots ARGS=--missing`.
"""

import base64
import html
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# where the tests' own modules are, and `bench`
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

import playwright.sync_api as playwright
import psycopg
from browsing import ROOT, Seen, browser, key_of, lacking, serving, until
from stage import Stage, large

from weft.base import ids
from weft.db import embedded

INTO = ROOT / "docs" / "screenshots"
SHOWN = ROOT / "docs" / "images"
PAGES = {
    "overview": "/", "runs": "/runs", "run-graph": "/runs/{failed}", "run-timeline": "/runs/{failed}?tab=timeline",
    "run-steps": "/runs/{failed}?tab=steps&step={step}", "run-data": "/runs/{approved}?tab=data",
    "run-logs": "/runs/{done}?tab=logs", "run-events": "/runs/{approved}?tab=events", "run-waiting": "/runs/{waiting}",
    "run-large": "/runs/{large}", "run-large-steps": "/runs/{large}?tab=steps", "run-flow": "/runs/{runner}",
    "run-crashed": "/runs/{crashed}?tab=timeline", "workflows": "/workflows", "workflow": "/workflows/checkout",
    "dags": "/dags", "dag": "/dags/{dag}", "dag-runs": "/dags/{dag}?tab=runs",
    "dag-versions": "/dags/{dag}?tab=versions&from=1&to=2", "flows": "/flows", "flow": "/flows/{flow}",
    "flow-graph": "/flows/{flow}?tab=graph", "jobs": "/jobs", "jobs-calendar": "/jobs?tab=calendar", "job": "/jobs/{job}",
    "queues": "/queues", "queue": "/queues/default", "tasks": "/tasks", "task": "/tasks/{task}",
    "task-failed": "/tasks/{broken}", "task-attempts": "/tasks/{lost}?tab=attempts", "task-log": "/tasks/{task}?tab=log",
    "dead": "/dead", "workers": "/workers", "worker": "/workers/{node}", "aiopslab": "/lab", "problem": "/lab/{problem}",
    "settings": "/settings", "settings-orgs": "/settings?tab=orgs", "settings-users": "/settings?tab=users",
    "settings-roles": "/settings?tab=roles", "settings-keys": "/settings?tab=keys",
    "settings-secrets": "/settings?tab=secrets", "settings-audit": "/settings?tab=audit",
    "missing": "/no/such/page", "login": "/login",
}  # fmt: skip


def _press(name: str) -> Callable[[playwright.Page], None]:
    return lambda page: page.get_by_role("button", name=name).first.click()


def _search(page: playwright.Page) -> None:
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search everything").fill("night")
    playwright.expect(page.get_by_role("listbox", name="Found").get_by_role("option").first).to_be_visible()


def _zones(page: playwright.Page) -> None:
    menu = page.get_by_role("button", name="Menu")
    if menu.is_visible():
        menu.click()
    _press("Time zone")(page)


DIALOGS: dict[str, tuple[str, Callable[[playwright.Page], None]]] = {
    "help": ("/runs", lambda page: page.keyboard.press("?")), "search": ("/runs", _search),
    "job-new": ("/jobs", _press("New job…")), "dag-trigger": ("/dags/{dag}", _press("Trigger…")),
    "workflow-start": ("/workflows/checkout", _press("Start…")), "flow-start": ("/flows/{flow}", _press("Start…")),
    "run-fork": ("/runs/{approved}", _press("Fork…")), "run-signal": ("/runs/{waiting}", _press("Signal…")),
    "task-new": ("/tasks", _press("Enqueue…")), "key-new": ("/settings?tab=keys", _press("New key…")),
    "dead-discard": ("/dead", _press("Discard all…")),
    "zones": ("/", _zones), "flow-try": ("/flows/{flow}", _press("Try a change")),
}  # fmt: skip
IN_DOCS = {
    *((name, "light") for name in ("overview", "runs", "run-graph", "run-crashed", "job", "flow", "dead", "workflow-start")),
    ("overview", "dark"), ("run-graph", "dark"),
}  # fmt: skip
SIZES = {"": (1280, 800), "-phone": (390, 844)}
THEMES = ("light", "dark")
EVERY: dict[str, tuple[str, Callable[[playwright.Page], None] | None]] = {
    **{name: (path, None) for name, path in PAGES.items()}, **DIALOGS,
}  # fmt: skip
MISSING = "--missing"


def main() -> int:
    if why := lacking():
        print(f"*** NO SCREENSHOTS: {why}", file=sys.stderr)
        return 1
    if unknown := set(sys.argv[1:]) - EVERY.keys() - {MISSING}:
        print(f"*** there is no page {', '.join(sorted(unknown))}; there are {', '.join(EVERY)}", file=sys.stderr)
        return 1
    if not sys.argv[1:]:
        shutil.rmtree(INTO, ignore_errors=True)
    INTO.mkdir(parents=True, exist_ok=True)
    SHOWN.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="weft-screenshots-"))
    # the embedded server does not run as root: it must get in
    folder.chmod(0o755)
    server = embedded.start(folder)
    try:
        env = {"DATABASE_URL": server.url()}
        subprocess.run([str(Path(sys.executable).with_name("weft")), "migrate", "up"], check=True, env={**os.environ, **env})
        key = key_of(env["DATABASE_URL"])
        with serving(env) as url, browser(url, key) as seen:
            found = dressed(Stage(url, key))
            an_hour(env["DATABASE_URL"])
            shoot(seen, found)
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def dressed(stage: Stage) -> dict[str, str]:
    """Something worth seeing on every page."""
    ids = stage.fill()
    stage.ask("POST", "/v1/dags", large())
    ids["large"] = stage.run("large")
    stage.wait(ids["large"], "completed", patience=300)
    ids["runner"] = stage.ask("POST", "/v1/runners", {"flow": ids["flow"], "params": {"name": "Ada"}})["id"]
    ids["broken"] = stage.ask("GET", "/v1/dead")["items"][0]["id"]
    steps = stage.ask("GET", f"/v1/runs/{ids['failed']}/steps?limit=100")["items"]
    ids["step"] = next(one["id"] for one in steps if one["node"] == "check")
    chain = [{"name": "fetch", "payload": {"task": "work"}}]
    chain += [{"name": "careful", "payload": {"task": "careful"}, "dependencies": ["fetch"]}]
    chain += [{"name": "publish", "payload": {"task": "work"}, "dependencies": ["careful"]}]
    stage.ask("POST", "/v1/dags", {"name": "fragile", "tasks": chain})
    ids["crashed"] = stage.run("fragile")

    def runs() -> str | None:
        found = stage.ask("GET", f"/v1/runs/{ids['crashed']}/steps")["items"]
        here = [one["task_id"] for one in found if one["node"] == "careful" and one["task_id"]]
        return here[0] if here and stage.ask("GET", f"/v1/tasks/{here[0]}")["state"] == "running" else None

    ids["lost"] = until(runs)
    stage.ask("POST", "/v1/demo/crash")
    stage.wait(ids["crashed"], "completed")
    ids["node"] = until(lambda: [one["id"] for one in stage.ask("GET", "/v1/nodes")["items"] if one["concurrency"]])[0]
    return ids


def an_hour(database_url: str) -> None:
    """What was counted in the hour before: a chart of one minute shows nothing."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            """insert into weft.task_minutes (org_id, queue, minute, completed, failed)
            select %(org)s, queue, date_trunc('minute', now()) - n * interval '1 minute',
                (900 + 350 * sin(n / 7.0) + n * 37 %% 170)::int, case when n %% 9 = 4 then n %% 5 + 9 else n %% 3 end
            from generate_series(2, 70) n, unnest(array['', 'default']) queue
            on conflict do nothing""",
            {"org": ids.DEFAULT_ORG},
        )
        connection.execute(
            """insert into weft.queue_minutes (org_id, queue, minute, ready, running, oldest)
            select %(org)s, queue, date_trunc('minute', now()) - n * interval '1 minute',
                greatest(0, 6 * sin(n / 6.0) + n * 29 %% 5)::int, (4 + 2 * sin(n / 5.0) + n * 31 %% 3)::int,
                greatest(0, 20 * sin(n / 6.0) + n * 29 %% 7)
            from generate_series(2, 70) n, unnest(array['', 'default']) queue
            on conflict do nothing""",
            {"org": ids.DEFAULT_ORG},
        )


def shoot(seen: Seen, ids: dict[str, str]) -> None:
    seen.allowed = ("404",)
    named = [one for one in sys.argv[1:] if one != MISSING] or list(EVERY)
    launched = seen.page.context.browser
    assert launched is not None
    stranger = Seen(launched.new_context(base_url=seen.url).new_page(), seen.url)
    taken = 0
    for suffix, (width, height) in SIZES.items():
        for name in named:
            themes = [one for one in THEMES if MISSING not in sys.argv or not picture(name, suffix, one).exists()]
            if not themes:
                continue
            who = stranger if name == "login" else seen
            opened(who, name, ids, width=width, height=height)
            for theme in themes:
                take(who, name, suffix, theme)
                taken += 1
            if who.sideways() > 0:
                print(f"*** {name} at {width} px is {who.sideways()} px too wide", file=sys.stderr)
        print(f"{len(named)} pages at {width} px", flush=True)
    sheets(seen.page)
    print(f"{taken} screenshots in {INTO}")
    for one in sorted(set(seen.wrong)):
        print(f"*** {one}", file=sys.stderr)


def picture(name: str, suffix: str, theme: str) -> Path:
    return INTO / f"{name}{suffix}-{theme}.png"


def opened(who: Seen, name: str, ids: dict[str, str], *, width: int, height: int) -> None:
    """The page as somebody finds it who just came; a graph is laid out once, for the window it finds."""
    path, deed = EVERY[name]
    who.page.set_viewport_size({"width": width, "height": height})
    who.page.goto("about:blank")
    who.go(path.format(**ids))
    who.settled()
    if deed is not None:
        deed(who.page)
    who.page.wait_for_timeout(400)


def take(who: Seen, name: str, suffix: str, theme: str) -> None:
    who.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    playwright.expect(who.page.locator("html")).to_have_attribute("data-theme", theme)
    who.page.screenshot(path=picture(name, suffix, theme), type="png")
    if (name, theme) in IN_DOCS and not suffix:
        _small(who.page, SHOWN / f"ui-{name}-{theme}.webp")


def _small(page: playwright.Page, to: Path) -> None:
    taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 60})
    to.write_bytes(base64.b64decode(taken["data"]))


def sheets(page: playwright.Page) -> None:
    """All of them, some to a sheet: sheet-*.png."""
    for theme in THEMES:
        for phone, wide, at_once in ((False, 800, 6), (True, 300, 10)):
            all_of = sorted(INTO.glob(f"*-{theme}.png"))
            found = [one for one in all_of if ("-phone-" in one.name) is phone]
            for place in range(0, len(found), at_once):
                cells = "".join(_cell(one, wide=wide) for one in found[place : place + at_once])
                page.set_viewport_size({"width": 1640, "height": 1000})
                page.goto("about:blank")
                style = "margin:0;background:white;color:black;font:12px sans-serif;display:flex;flex-wrap:wrap"
                page.set_content(f"<body style='{style}'>{cells}</body>")
                name = f"sheet-{theme}-{'phone' if phone else 'wide'}-{place // at_once + 1}.png"
                page.screenshot(path=INTO / name, full_page=True)


def _cell(one: Path, *, wide: int) -> str:
    picture = base64.b64encode(one.read_bytes()).decode()
    return (
        f"<figure style='margin:4px;width:{wide}px'><figcaption>{html.escape(one.stem)}</figcaption>"
        f"<img width='{wide}' src='data:image/png;base64,{picture}'></figure>"
    )


if __name__ == "__main__":
    playwright.expect.set_options(timeout=60_000)
    sys.exit(main())
