"""Hostile texts through every field that takes them, seen on every page and in dialogs: nothing runs or misleads."""

import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from browsing import Seen, Staged, another, until
from playwright.sync_api import Page, expect
from stage import Stage

import hostile

pytest_plugins = ("browsing",)

# lists cut what is long: what hides comes first, so that it is there to be seen
TEXTS = (*hostile.MARKS, *hostile.SEQUENCES, *hostile.SCRIPTS)
PLAIN = [one for one in TEXTS if "${" not in one]
"""What stands in a definition may refer to params and secrets: such a text is refused there."""


def pieces(most: int) -> Iterator[str]:
    """All of it, in few texts of at most this length; many fields refuse control characters, and take the rest."""
    for group in (hostile.MARKS, hostile.SEQUENCES, hostile.SCRIPTS):
        piece = ""
        for text in group:
            if piece and len(piece) + len(text) >= most:
                yield piece
                piece = ""
            piece = f"{piece} {text}".strip(" ")
        yield piece


class Poison:
    """Everything that people and programs can write, with the whole corpus in it. Name → id."""

    def __init__(self, staged: Staged) -> None:
        self.stage = staged.stage
        self.ids: dict[str, str] = {}

    def each(self, path: str, most: int, **body: Any) -> None:
        """The corpus in the field that says `...`; what the server refuses nobody will ever see, but some it takes."""
        put = [{name: text if value == "..." else value for name, value in body.items()} for text in pieces(most)]
        assert any([self.stage.client.post(path, json=one).status_code < 300 for one in put]), path

    def definitions(self) -> None:
        dag: dict[str, Any] = {
            "name": "poisoned", "description": " ".join(PLAIN[30:]), "config": {one: one for one in PLAIN},
            "params": {
                "all": {"type": "[string]", "default": PLAIN, "description": " ".join(PLAIN)},
                "said": {"type": "string", "default": ""},
                "one": {"type": "string", "default": PLAIN[0], "choices": PLAIN},
            },
            "tasks": [
                {"name": "show", "payload": {"task": "echo", "args": {"value": "${params.all}"}}},
                {"name": "each", "payload": {"task": "echo", "args": {"value": "${item}"}}, "foreach": "${params.all}"},
                {"name": "break", "payload": {"task": "work", "args": {"name": "${params.said}", "fail": "${params.said}"}},
                 "max_retries": 0},
            ],
        }  # fmt: skip
        self.stage.ask("POST", "/v1/dags", dag)
        self.ids["dag"] = self.stage.ask("POST", "/v1/dags", {**dag, "description": " ".join(PLAIN[:30])})["dag_id"]
        said = " ".join(TEXTS).replace("\\", "").replace("@", "")
        afl = (
            f"namespace poisoned {{\n  // {said.replace(chr(13), '')}\n  event facet Ask(q: String) => (a: String)\n"
            f"  /** {said}\n   * @param q {said}\n   */\n"
            f"  workflow W(q: String) => (a: String) andThen {{ x = Ask(q = $.q) yield W(a = x.a) }}\n}}\n"
        )
        self.ids["flow"] = self.stage.flow("poisoned", afl)
        job = {
            "name": "poisoned job", "job_type": "CRON", "cron_expression": "0 0 1 1 *",
            "payload": {"task": "work", "args": {"name": " ".join(PLAIN), "fail": "\n".join(PLAIN)}},
            "retry_config": {"max_attempts": 1, "backoff_seconds": 1, "backoff_multiplier": 1},
        }  # fmt: skip
        self.ids["job"] = self.stage.ask("POST", "/v1/jobs", job)["job_id"]
        self.ids["task"] = self.stage.ask("POST", f"/v1/jobs/{self.ids['job']}/trigger")["execution_id"]

    def work(self) -> None:
        stage, ids = self.stage, self.ids
        ids["run"] = stage.run("poisoned", all=list(TEXTS), said="\n".join(TEXTS))
        stage.declared("checkout")
        ids["workflow"] = stage.start("checkout", order=" ".join(TEXTS), cents=1, items=list(TEXTS))
        stage.wait(ids["workflow"], "waiting")
        stage.ask("POST", f"/v1/runs/{ids['workflow']}/signal", {"name": "approval", "value": {one: one for one in TEXTS}})
        ids["runner"] = stage.ask("POST", "/v1/runners", {"flow": ids["flow"], "params": {"q": " ".join(TEXTS)}})["id"]
        ids["halfway"] = stage.enqueue("halfway", payload={"message": " ".join(TEXTS)})
        whole = " ".join(TEXTS)
        ids["broken"] = stage.enqueue("breaks", payload={"message": whole, "kind": whole[:200]}, queue="mail")
        self.each("/v1/tasks", 200, kind="echo", correlation_id="...")
        for state, name in (("failed", "broken"), ("failed", "task")):
            stage.ended(ids[name], state)
        stage.wait(ids["run"], "failed")
        stage.wait(ids["workflow"], "completed", "failed", "compensated")
        steps = stage.ask("GET", f"/v1/runs/{ids['run']}/steps?limit=500")["items"]
        ids["step"] = next(one["id"] for one in steps if one["node"] == "break")
        until(lambda: stage.ask("GET", f"/v1/tasks/{ids['halfway']}")["progress"])

    def lab(self) -> None:
        stage = self.stage
        self.each("/aiopslab/tasks", 200, problem_id="...")
        worker = Stage(stage.url, stage.ask("POST", "/v1/keys", {"name": "lab", "role": "worker"})["key"])
        about = {"host": " ".join(TEXTS)}
        able = {"max_parallel_tasks": 1, "supported_problems": ["poisoned"]}
        told = {"id": "worker-009-kind", "backend_type": "default", "metadata": about, "capabilities": able}
        metadata = {one: one for one in TEXTS}
        problem = stage.ask("POST", "/aiopslab/tasks", {"problem_id": "poisoned", "metadata": metadata})["id"]
        worker.ask("POST", "/aiopslab/workers/register", told)
        claimed = worker.ask("POST", "/aiopslab/workers/worker-009-kind/claim")["id"]
        assert claimed == problem
        at = f"/aiopslab/workers/worker-009-kind/tasks/{claimed}"
        worker.ask("POST", f"{at}/logs", {"logs": [{"level": "info", "message": one} for one in TEXTS]})
        worker.ask("POST", f"{at}/conversation", {"messages": [{"role": "assistant", "content": one} for one in TEXTS]})
        worker.ask("POST", f"{at}/complete", {"output": {one: one for one in TEXTS}, "metrics": {}})
        worker.client.close()
        self.ids["problem"] = claimed

    def people(self) -> None:
        self.each("/v1/users", 200, external_id="...", role="reader")


@pytest.fixture(scope="module")
def poisoned(staged: Staged) -> dict[str, str]:
    poison = Poison(staged)
    for part in (poison.definitions, poison.work, poison.lab, poison.people):
        part()
    return {**staged.ids, **poison.ids}


SHOWS = [
    "/runs/{run}", "/runs/{run}?tab=timeline&step={step}", "/runs/{run}?tab=steps&step={step}", "/runs/{run}?tab=data",
    "/runs/{run}?tab=logs&step={step}", "/runs/{workflow}?tab=data", "/runs/{runner}?tab=data",
    "/jobs/{job}", "/dags?name_prefix=poisoned", "/dags/{dag}", "/dags/{dag}?tab=params",
    "/dags/{dag}?tab=versions&from=1&to=2", "/flows/{flow}", "/tasks", "/tasks/{task}", "/tasks/{task}?tab=attempts",
    "/tasks/{task}?tab=log", "/tasks/{halfway}", "/tasks/{broken}", "/dead", "/", "/lab/{problem}",
    "/lab/{problem}?tab=conversation", "/lab/{problem}?tab=log", "/lab", "/settings?tab=users",
]  # fmt: skip
"""Pages on which some of it stands: what hides is made visible there."""
OTHERS = [
    "/runs", "/runs/{workflow}?tab=steps", "/runs/{run}?tab=events", "/runs/{workflow}?tab=events", "/jobs",
    "/jobs?tab=calendar", "/workflows",
    "/workflows/checkout", "/flows", "/flows/{flow}?tab=graph", "/flows/{flow}?tab=runs", "/queues", "/queues/mail",
    "/workers", "/workers/{node}", "/lab/{problem}?tab=parameters", "/settings", "/settings?tab=orgs",
    "/settings?tab=roles", "/settings?tab=keys", "/settings?tab=secrets", "/settings?tab=audit",
]  # fmt: skip
DIALOGS: list[tuple[str, str]] = [
    ("/dags/{dag}", "Trigger…"), ("/flows/{flow}", "Start…"), ("/runs/{workflow}", "Fork…"), ("/jobs/{job}", "Change…"),
    ("/settings?tab=users", "Remove…"), ("/settings?tab=users", "Change…"),
    ("/settings?tab=audit&object_type=user", "user.create"), ("/tasks/{halfway}", "Cancel…"),
]  # fmt: skip
SAID = """() => document.body.innerText + [...document.querySelectorAll('[title], [aria-label], option')]
    .map((one) => `${one.title} ${one.getAttribute('aria-label') ?? ''} ${one.label ?? ''}`).join(' ')"""
STRANGE = "img:not([src^='/']), iframe, object, embed, base, marquee, video, audio, math, body script, body style"


def innocent(page: Page, where: str, *, shown: bool = True) -> str:
    """What the page says, once it is seen that nothing ran, nothing hides, and no element is theirs. `shown`: what is in a
    field that somebody types in is theirs to see as it is."""
    assert page.evaluate("window.hit") is None, where
    text: str = page.evaluate(SAID)
    assert not shown or not set(text) & set(hostile.HIDDEN), (where, [one for one in hostile.HIDDEN if one in text])
    expect(page.locator(STRANGE), where).to_have_count(0)
    assert page.evaluate("[...document.querySelectorAll('a')].every((one) => /^https?:/.test(one.href))"), where
    return text


def test_nothing_runs_and_nothing_hides(seen: Seen, poisoned: dict[str, str]) -> None:
    for path in (*SHOWS, *OTHERS):
        page = seen.go(path.format(**poisoned))
        seen.settled()
        for fold in page.locator(".json-fold[aria-expanded=false]").all()[:5]:
            fold.click()
        if path in SHOWS:
            expect(page.locator("main"), path).to_contain_text("‹U+")
        innocent(page, path)


def test_nothing_runs_in_what_opens(staged: Staged, seen: Seen, poisoned: dict[str, str]) -> None:
    page = seen.page
    for path, button in DIALOGS:
        seen.go(path.format(**poisoned))
        seen.settled()
        page.get_by_role("button", name=button).last.click()
        expect(page.get_by_role("dialog"), button).to_be_visible()
        innocent(page, button)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog"), button).to_have_count(0)
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search everything")
    for text in ("poisoned", hostile.SCRIPTS[0], hostile.MARKS[0]):
        box.fill(text)
        expect(page.get_by_text("Searching …")).to_have_count(0)
        innocent(page, text)
    page.keyboard.press("Escape")
    # what a browser says of itself is a text too
    with another(seen, staged.stage.key, user_agent=" ".join(hostile.SCRIPTS[:12])) as opened:
        opened.watch("/settings")
        expect(opened.row("window.hit")).to_have_count(1)
        innocent(opened.page, "sessions")


def test_what_is_in_the_address_does_not_run(seen: Seen) -> None:
    # the server may refuse such names, and says so: that is what the browser then reports
    seen.allowed = ("status of 400", "status of 404")
    for text in (hostile.SCRIPTS[0], hostile.SCRIPTS[9], hostile.SCRIPTS[42], hostile.MARKS[0]):
        typed = urllib.parse.quote(text, safe="")
        for path in (f"/runs?name={typed}&tag={typed}", f"/workflows/{typed}"):
            seen.page.goto(path)
            expect(seen.page.locator("h1")).to_be_visible()
            seen.settled()
            innocent(seen.page, path)


TYPED = "input[type=search], input[type=text], input:not([type]), input[type=password], textarea"
LISTS = ["/runs", "/dags", "/flows", "/jobs", "/tasks", "/dead", "/lab", "/settings?tab=audit"]
FORMS = [
    ("/jobs", "New job…"), ("/dags/{dag}", "Trigger…"), ("/workflows/checkout", "Start…"), ("/flows/{flow}", "Start…"),
    ("/runs/{workflow}", "Fork…"), ("/tasks", "Enqueue…"), ("/queues/mail", "Limits…"), ("/lab", "Submit a problem…"),
    ("/settings?tab=keys", "New key…"), ("/settings?tab=users", "New user…"), ("/settings?tab=roles", "New role…"),
    ("/settings?tab=secrets", "New secret…"), ("/settings?tab=orgs", "New org…"), ("/dead", "Discard all…"),
]  # fmt: skip


def test_what_is_typed_into_any_field_does_not_run(seen: Seen, poisoned: dict[str, str]) -> None:
    """Filters and forms, with the whole corpus in each: what is taken is shown as text, and so is what is refused."""
    page = seen.page
    seen.allowed = ("status of 400", "status of 404", "status of 409", "status of 422", "status of 414", "status of 431")
    typed = [text for text in pieces(180) if text]
    for path in LISTS:
        seen.go(path.format(**poisoned))
        seen.settled()
        fields = page.locator("main .filters").locator(TYPED)
        assert fields.count() > 0, path
        for number, text in enumerate(typed):
            fields.nth(number % fields.count()).fill(text)
            innocent(page, f"{path} {text!r}", shown=False)
    for path, button in FORMS:
        seen.go(path.format(**poisoned))
        seen.settled()
        page.get_by_role("button", name=button).first.click()
        box = page.get_by_role("dialog")
        expect(box).to_be_visible()
        for field in box.locator(TYPED).all():
            field.fill(" ".join(hostile.SCRIPTS))
        for choice in box.locator("select").all():
            choice.select_option(index=1)
        submit = box.locator("button[type=submit]")
        if submit.is_enabled():
            submit.click()
            # refused with a reason, or taken and gone
            until(lambda box=box: box.count() == 0 or box.locator(".wrong, .failure").count() > 0)
        innocent(page, button, shown=False)
        if box.count():
            page.keyboard.press("Escape")
        expect(box, button).to_have_count(0)


def test_the_corpus_is_as_large_as_was_asked_for() -> None:
    assert len(set(hostile.SCRIPTS)) >= 60 and len(set(TEXTS)) == len(TEXTS)


def test_the_policy_allows_nothing_inline_and_nobody_else(seen: Seen) -> None:
    answer = seen.page.request.get(seen.url + "/runs", headers={"accept": "text/html"})
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy
    assert "script-src 'self'" in policy and ("object-src 'none'" in policy or "default-src 'none'" in policy)
