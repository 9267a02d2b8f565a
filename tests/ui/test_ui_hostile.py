"""Hostile texts through every field that takes them, seen on every page: nothing runs, nothing misleads."""

from typing import Any

import pytest
from browsing import Seen, Staged
from playwright.sync_api import expect

import hostile

pytest_plugins = ("browsing",)


@pytest.fixture(scope="module")
def poisoned(staged: Staged) -> dict[str, str]:
    """Everything that people and programs can write, with the whole corpus in it."""
    stage, found = staged.stage, {}
    texts = list(hostile.ALL)
    # what stands in a definition may refer to params and secrets: such a text is refused there
    plain = [one for one in texts if "${" not in one]
    dag: dict[str, Any] = {
        "name": "poisoned", "description": " ".join(hostile.SCRIPTS[:20]), "config": {one: one for one in plain},
        "params": {
            "all": {"type": "[string]", "default": plain, "description": hostile.SCRIPTS[0]},
            "said": {"type": "string", "default": ""},
            "one": {"type": "string", "default": hostile.SCRIPTS[1], "choices": [*hostile.SCRIPTS[:9]]},
        },
        "tasks": [
            {"name": "show", "payload": {"task": "echo", "args": {"value": "${params.all}"}}},
            {"name": "each", "payload": {"task": "echo", "args": {"value": "${item}"}}, "foreach": "${params.all}"},
            {"name": "break", "payload": {"task": "work", "args": {"name": "${params.said}", "fail": "${params.said}"}},
             "max_retries": 0},
        ],
    }  # fmt: skip
    found["dag"] = stage.ask("POST", "/v1/dags", dag)["dag_id"]
    stage.ask("POST", "/v1/dags", {**dag, "description": " ".join(hostile.SCRIPTS[20:])})
    found["run"] = stage.run("poisoned", all=texts, said="\n".join(texts))
    stage.wait(found["run"], "failed")
    stage.declared("checkout")
    found["workflow"] = stage.start("checkout", order=" ".join(texts), cents=1, items=texts)
    stage.wait(found["workflow"], "waiting")
    stage.ask("POST", f"/v1/runs/{found['workflow']}/signal", {"name": "approval", "value": {one: one for one in texts}})
    payload = {"task": "work", "args": {"name": " ".join(plain), "fail": "\n".join(plain)}}
    found["job"] = stage.ask("POST", "/v1/jobs", {
        "name": "poisoned job", "job_type": "CRON", "cron_expression": "0 0 1 1 *", "payload": payload,
        "retry_config": {"max_attempts": 1, "backoff_seconds": 1, "backoff_multiplier": 1},
    })["job_id"]  # fmt: skip
    execution = stage.ask("POST", f"/v1/jobs/{found['job']}/trigger")["execution_id"]
    found["task"] = execution
    for text in hostile.SCRIPTS[:5]:
        stage.client.post("/v1/tasks", json={"kind": "echo", "payload": {"value": text}, "correlation_id": text})
    stage.wait(found["workflow"], "completed", "failed", "compensated")
    steps = stage.ask("GET", f"/v1/runs/{found['run']}/steps?limit=500")["items"]
    found["step"] = next(one["id"] for one in steps if one["node"] == "break")
    return found


PAGES = [
    "/runs", "/runs/{run}", "/runs/{run}?tab=timeline&step={step}", "/runs/{run}?tab=steps&step={step}",
    "/runs/{run}?tab=data",
    "/runs/{run}?tab=logs&step={step}", "/runs/{run}?tab=events", "/runs/{workflow}?tab=data", "/runs/{workflow}?tab=steps",
    "/jobs", "/jobs/{job}", "/jobs?tab=calendar", "/dags", "/dags/{dag}", "/dags/{dag}?tab=params",
    "/dags/{dag}?tab=versions&from=1&to=2", "/workflows/checkout", "/tasks", "/tasks/{task}", "/dead", "/", "/queues",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_nothing_runs_and_nothing_hides(seen: Seen, poisoned: dict[str, str], path: str) -> None:
    page = seen.go(path.format(**poisoned))
    seen.settled()
    for fold in page.locator(".json-fold[aria-expanded=false]").all()[:5]:
        fold.click()
    assert page.evaluate("window.hit") is None
    text = page.evaluate("document.body.innerText")
    assert not set(text) & set(hostile.HIDDEN), [one for one in hostile.HIDDEN if one in text]
    # no element of theirs, only ours
    strange = "img:not([src^='/']), iframe, object, embed, base, marquee, video, audio, math, body script, body style"
    expect(page.locator(strange)).to_have_count(0)
    assert page.evaluate("[...document.querySelectorAll('a')].every((one) => /^https?:/.test(one.href))")


@pytest.mark.parametrize("text", [hostile.SCRIPTS[0], hostile.SCRIPTS[9], hostile.SCRIPTS[42], hostile.MARKS[0]])
def test_what_is_typed_or_in_the_address_does_not_run(seen: Seen, poisoned: dict[str, str], text: str) -> None:
    page = seen.go(f"/runs/{poisoned['run']}")
    page.evaluate("(name) => history.pushState(null, '', '/runs?' + new URLSearchParams({name, tag: name}))", text)
    page.reload()
    seen.settled()
    assert page.evaluate("window.hit") is None
    page.evaluate("(text) => history.pushState(null, '', '/workflows/' + encodeURIComponent(text))", text)
    page.reload()
    seen.settled()
    assert page.evaluate("window.hit") is None
    # the server may refuse such names, and says so: that is what the browser then reports
    seen.wrong[:] = [one for one in seen.wrong if "status of 400" not in one]


def test_the_policy_allows_nothing_inline_and_nobody_else(seen: Seen) -> None:
    answer = seen.page.request.get(seen.url + "/runs", headers={"accept": "text/html"})
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy
    assert "script-src 'self'" in policy and ("object-src 'none'" in policy or "default-src 'none'" in policy)
