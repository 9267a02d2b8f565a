"""From before a change is committed to the moment when a page of the UI shows it, and how soon a large graph is painted, in
Debian's Chromium.

The page notes by itself, after each frame in which it changed, what it shows and when (the machine's own clock). Nothing is
asked of it meanwhile but whether it has seen what it should.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from playwright import sync_api

from bench import chromium
from bench.errors import Stalled
from bench.scenarios.measurement import Line, percentile

DIST = Path(__file__).parent.parent / "src" / "weft" / "web" / "dist" / "index.html"
PAGES = {"queue": "the queue page", "runs": "the list of runs", "run": "the run page"}
LINES = (
    *(
        line
        for name, page in PAGES.items()
        for line in (
            Line(f"change to pixel, {page}, ms, median", f"pixel_{name}_p50_ms", digits=1),
            Line(f"change to pixel, {page}, ms, 95th percentile", f"pixel_{name}_p95_ms", digits=1, below=300),
        )
    ),
    Line("the graph of a run of 2,000 nodes, ms until it is painted, median", "graph_p50_ms", digits=0, below=2000),
)

WARM_UP = 5
TIMEOUT = 60_000
_PAUSES = (0.3, 1.2)
_DAG = {"name": "pixel", "max_active_runs": 1, "tasks": [{"name": "a", "payload": {"task": "nobody-runs-this"}}]}

_GROUPS, _LOADS = 20, 7
PAINTED = "() => performance.getEntriesByName('weft:graph')[0]?.startTime"
"""The page's own mark, after the browser has painted; counted from when it was asked for."""

SHOWS = {
    "queue": "() => document.querySelector('.figure .figure-value')?.textContent",
    "runs": "() => document.querySelector('tr[data-row=\"0\"]')?.dataset.id",
    "run": "() => document.querySelector('.page-title .badge')?.textContent.replace(/[^a-z]/g, '')",
}
"""What of a page is looked at."""

NOTES = """(() => {
    const shows = SHOWS;
    window.noted = [];
    const note = () => {
        const text = shows() ?? '';
        if (text !== noted[noted.length - 1]?.[0]) noted.push([text, performance.timeOrigin + performance.now()]);
    };
    // after the frame is drawn: its callback comes before that
    const watch = new MutationObserver(() => requestAnimationFrame(() => setTimeout(note)));
    watch.observe(document.documentElement, {subtree: true, childList: true, characterData: true, attributes: true});
    note();
})()"""
SEEN = "([text, since]) => noted.find((one) => one[0] === text && one[1] >= since)?.[1]"


def lacking() -> str | None:
    """Why it cannot be measured here."""
    if chromium.found() is None:
        return chromium.LACKING
    return None if DIST.exists() else "the UI was not built (make ui)"


def measure(url: str, *, address: str, key: str, changes: int) -> dict[str, float]:
    """Milliseconds per page; nothing where there is no browser."""
    if lacking() is not None:
        return {}
    values: dict[str, float] = {}
    head = {"authorization": f"Bearer {key}"}
    with (
        psycopg.connect(url, autocommit=True) as database,
        httpx2.Client(base_url=address, headers=head, timeout=60) as client,
        sync_api.sync_playwright() as started,
    ):
        client.post("/v1/dags", json=_DAG).raise_for_status()
        switches = ["--no-sandbox", "--disable-dev-shm-usage"]
        launched = started.chromium.launch(executable_path=chromium.found(), args=switches)
        context = launched.new_context(viewport={"width": 1280, "height": 800})
        context.request.post(f"{address}/v1/login", data={"credential": key}, headers={"origin": address})
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)
        for name, (path, change) in _changes(database, client).items():
            page.goto(f"{address}{path}")
            page.wait_for_selector(".signal-open", state="attached")
            _answer(page, SHOWS[name])
            page.evaluate(NOTES.replace("SHOWS", SHOWS[name]))
            delays = _delays(page, change, changes=changes)
            values[f"pixel_{name}_p50_ms"] = percentile(delays, 0.50)
            values[f"pixel_{name}_p95_ms"] = percentile(delays, 0.95)
            values[f"pixel_{name}_max_ms"] = max(delays)
        values["graph_p50_ms"] = percentile(_paints(page, client, address=address), 0.50)
        launched.close()
    return values


def _paints(page: sync_api.Page, client: httpx2.Client, *, address: str) -> list[float]:
    """2,000 tasks in groups of 100, each a chain of ten by ten. The first load fills caches and is not counted."""
    payload = {"task": "nobody-runs-this"}
    tasks: list[dict[str, Any]] = []
    for n in range(_GROUPS * 100):
        before = [f"task {n - 10}"] if n % 100 >= 10 else []
        tasks.append({"name": f"task {n}", "group": f"group{n // 100}", "dependencies": before, "payload": payload})
    dag = {"name": "crowd", "groups": {f"group{n}": {} for n in range(_GROUPS)}, "tasks": tasks}
    client.post("/v1/dags", json=dag).raise_for_status()
    run = client.post("/v1/dags/crowd/trigger", json={}).raise_for_status().json()["dag_run_id"]
    found = []
    for _ in range(1 + _LOADS):
        page.goto(f"{address}/runs/{run}")
        found.append(float(_answer(page, PAINTED)))
    return found[1:]


def _delays(page: sync_api.Page, change: Callable[[], str], *, changes: int) -> list[float]:
    dice = random.Random(7)
    found = []
    for number in range(WARM_UP + changes):
        time.sleep(dice.uniform(*_PAUSES))
        began = time.time() * 1000
        wanted = change()
        shown = _answer(page, SEEN, [wanted, began])
        if number >= WARM_UP:
            found.append(shown - began)
    return found


def _answer(page: sync_api.Page, function: str, argument: object = None) -> Any:
    """What a function answers, once that is something. Asked from here: the page lets nothing be evaluated in it."""
    end = time.monotonic() + TIMEOUT / 1000
    while not (found := page.evaluate(function, argument)):
        if time.monotonic() > end:
            noted = page.evaluate("() => [location.href, window.noted]")
            raise Stalled(f"the page never showed {argument}; it noted {noted}")
        time.sleep(0.02)
    return found


def _changes(database: psycopg.Connection, client: httpx2.Client) -> dict[str, tuple[str, Callable[[], str]]]:
    """Page → its path, and something that changes it: answers what the page then shows."""
    run = database.execute("select weft.start('pixel')").fetchone()[0]
    count = database.execute("select count(*) from weft.tasks where queue = 'pixel'").fetchone()[0]
    database.execute("select weft.enqueue('pixel', queue => 'pixel')")
    state = {"waiting": count + 1, "paused": False}

    def enqueue() -> str:
        state["waiting"] += 1
        database.execute("select weft.enqueue('pixel', queue => 'pixel')")
        return f"{state['waiting']:,}"

    def start() -> str:
        return str(database.execute("select weft.start('pixel')").fetchone()[0])

    def turn() -> str:
        state["paused"] = not state["paused"]
        client.post(f"/v1/dag-runs/{run}/{'pause' if state['paused'] else 'resume'}").raise_for_status()
        return "paused" if state["paused"] else "running"

    return {"queue": ("/queues/pixel", enqueue), "runs": ("/runs", start), "run": (f"/runs/{run}", turn)}
