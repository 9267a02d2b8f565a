"""`make screenshots`: every page, light and dark, at 1280 and 390 px, into docs/screenshots. To be looked at."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import playwright.sync_api as playwright
from browsing import ROOT, admin, browser, lacking, serving
from stage import Stage, large

from weft.db import embedded

INTO = ROOT / "docs" / "screenshots"
PAGES = {
    "overview": "/", "runs": "/runs", "run-graph": "/runs/{failed}", "run-timeline": "/runs/{failed}?tab=timeline",
    "run-steps": "/runs/{failed}?tab=steps", "run-data": "/runs/{approved}?tab=data", "run-logs": "/runs/{done}?tab=logs",
    "run-events": "/runs/{approved}?tab=events", "run-waiting": "/runs/{waiting}", "run-large": "/runs/{large}",
    "workflows": "/workflows", "workflow": "/workflows/checkout", "dags": "/dags", "dag": "/dags/{dag}",
    "dag-versions": "/dags/{dag}?tab=versions&from=1&to=2", "flows": "/flows", "flow": "/flows/{flow}", "jobs": "/jobs",
    "jobs-calendar": "/jobs?tab=calendar", "job": "/jobs/{job}", "queues": "/queues", "tasks": "/tasks",
    "dead": "/dead", "workers": "/workers", "aiopslab": "/lab", "settings": "/settings",
}  # fmt: skip
SIZES = {"": (1280, 800), "-phone": (390, 844)}
THEMES = ("light", "dark")


def main() -> int:
    if why := lacking():
        print(f"*** NO SCREENSHOTS: {why}", file=sys.stderr)
        return 1
    INTO.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="weft-screenshots-"))
    # the embedded server does not run as root: it must get in
    folder.chmod(0o755)
    server = embedded.start(folder)
    try:
        env = {"DATABASE_URL": server.url()}
        subprocess.run([str(Path(sys.executable).with_name("weft")), "migrate", "up"], check=True, env={**os.environ, **env})
        with serving(env) as url:
            shoot(url, admin(env["DATABASE_URL"]))
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def shoot(url: str, key: str) -> None:
    stage = Stage(url, key)
    ids = stage.fill()
    stage.ask("POST", "/v1/dags", large())
    ids["large"] = stage.run("large")
    stage.wait(ids["large"], "completed", patience=300)
    with browser(url, key) as seen:
        for theme in THEMES:
            seen.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            for suffix, (width, height) in SIZES.items():
                seen.page.set_viewport_size({"width": width, "height": height})
                for name, path in PAGES.items():
                    seen.go(path.format(**ids))
                    seen.settled()
                    seen.page.wait_for_timeout(500)
                    seen.page.screenshot(path=INTO / f"{name}{suffix}-{theme}.png", type="png")
    print(f"{len(PAGES) * len(SIZES) * len(THEMES)} screenshots in {INTO}")
    for one in sorted(set(seen.wrong)):
        print(f"*** {one}", file=sys.stderr)


if __name__ == "__main__":
    playwright.expect.set_options(timeout=60_000)
    sys.exit(main())
