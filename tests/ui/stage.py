"""Fills a server with what pages show: DAGs with runs that ended, failed and go on, workflows, jobs; a DAG of 2,000."""

import time
from typing import Any

import httpx2

ETL: dict[str, Any] = {
    "name": "nightly-etl",
    "description": "Reads the shops, cleans their rows, loads them, tells the team.",
    "cron_expression": "0 2 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "tags": ["finance", "nightly"],
    "params": {
        "day": {"type": "string", "default": "2026-01-31", "description": "Which day, as 2026-01-31"},
        "shops": {"type": "[string]", "default": ["berlin", "ulm", "bonn"]},
        "mode": {"type": "string", "choices": ["full", "delta"], "default": "delta"},
        "seconds": {"type": "number", "default": 0.05, "minimum": 0, "maximum": 600},
        "fail": {"type": "string", "default": ""},
    },
    "groups": {"load": {}},
    "tasks": [
        {"name": "extract", "payload": {"task": "work", "args": {"name": "${shop}", "seconds": "${params.seconds}"}},
         "foreach": "${params.shops}", "item": "shop"},
        {"name": "clean", "payload": {"task": "work", "args": {"seconds": "${params.seconds}"}},
         "dependencies": ["extract"]},
        {"name": "check", "payload": {"task": "work", "args": {"fail": "${params.fail}"}}, "dependencies": ["extract"],
         "max_retries": 0},
        {"name": "warehouse", "group": "load", "payload": {"task": "work"}, "dependencies": ["clean", "check"]},
        {"name": "search index", "group": "load", "payload": {"task": "work"}, "dependencies": ["clean"]},
        {"name": "tell", "payload": {"task": "work"}, "dependencies": ["load"], "trigger_rule": "all_done"},
    ],
    "outputs": {"shops": "${params.shops}"},
}  # fmt: skip


AFL = """namespace hello {
  event facet Greet(name: String) => (greeting: String)

  /** Says hello. @param name Whom to greet */
  workflow SayHello(name: String = "world") => (message: String) andThen {
    g = Greet(name = $.name)
    h = Greet(name = g.greeting)
    yield SayHello(message = h.greeting)
  }
}
"""


BRITTLE = """namespace brittle {
  event facet Shaky(name: String) => (greeting: String) with Retry(maxAttempts = 1)

  facet Round(name: String) => (greeting: String) andThen {
    s = Shaky(name = $.name)
    yield Round(greeting = s.greeting)
  }

  workflow Greet(name: String = "bad") => (message: String) andThen {
    r = Round(name = $.name)
    yield Greet(message = r.greeting)
  }
}
"""


def large(many: int = 2000) -> dict[str, Any]:
    """A DAG of so many tasks: a fan-out of 600, groups of 100 in chains of ten."""
    tasks: list[dict[str, Any]] = [{"name": "begin", "payload": {"task": "echo"}}]
    fan = many // 3
    tasks += [{"name": f"part {n}", "payload": {"task": "echo"}, "dependencies": ["begin"]} for n in range(fan)]
    groups: dict[str, Any] = {}
    for n in range(many - fan - 2):
        group = f"shard{n // 100}"
        groups.setdefault(group, {})
        before = [f"step {n - 10}"] if n % 100 >= 10 else ["begin"]
        tasks.append({"name": f"step {n}", "group": group, "payload": {"task": "echo"}, "dependencies": before})
    tasks.append({"name": "end", "payload": {"task": "echo"}, "dependencies": [*groups, "part 0"]})
    return {"name": "large", "groups": groups, "tasks": tasks}


class Stage:
    """A server and a key that may write."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.client = httpx2.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, **({} if body is None else {"json": body}))
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def enqueue(self, kind: str, **more: Any) -> str:
        id: str = self.ask("POST", "/v1/tasks", {"kind": kind, **more})["id"]
        return id

    def ended(self, id: str, *states: str, patience: float = 120) -> dict[str, Any]:
        """The task, once it is in one of these states."""
        until = time.monotonic() + patience
        while (found := self.ask("GET", f"/v1/tasks/{id}"))["state"] not in states:
            assert time.monotonic() < until, found
            time.sleep(0.05)
        return dict(found)

    def run(self, dag: str, **params: Any) -> str:
        id: str = self.ask("POST", f"/v1/dags/{dag}/trigger", {"params": params})["dag_run_id"]
        return id

    def start(self, workflow: str, **arguments: Any) -> str:
        id: str = self.ask("POST", f"/v1/workflows/{workflow}/start", {"arguments": arguments})["run_id"]
        return id

    def flow(self, name: str, text: str) -> str:
        id: str = self.ask("POST", "/v1/flows", {"name": name, "sources": [{"name": f"{name}.afl", "text": text}]})["id"]
        return id

    def wait(self, run: str, *states: str, patience: float = 120) -> dict[str, Any]:
        """The run, once it is in one of these states."""
        until = time.monotonic() + patience
        while True:
            found: dict[str, Any] = self.ask("GET", f"/v1/runs/{run}")
            if found["state"] in states:
                return found
            assert time.monotonic() < until, found
            time.sleep(0.1)

    def declared(self, workflow: str, patience: float = 120) -> None:
        until = time.monotonic() + patience
        while workflow not in {one["name"] for one in self.ask("GET", "/v1/workflows")["items"]}:
            assert time.monotonic() < until, "no worker has declared it"
            time.sleep(0.1)

    def fill(self) -> dict[str, str]:
        """Something on every page. Name → id."""
        found: dict[str, str] = {}
        found["dag"] = self.ask("POST", "/v1/dags", ETL)["dag_id"]
        tidy = {"name": "tidy", "payload": {"task": "work"}, "dependencies": ["tell"]}
        self.ask("POST", "/v1/dags", {**ETL, "max_active_runs": 20, "tasks": [*ETL["tasks"], tidy]})
        found["flow"] = self.flow("hello", AFL)
        found["done"] = self.run("nightly-etl")
        found["failed"] = self.run("nightly-etl", fail="the warehouse is away")
        self.declared("checkout")
        found["waiting"] = self.start("checkout", order="o-17", cents=500, items=["hat", "coat"])
        found["approved"] = self.start("checkout", order="o-18", cents=900, items=["shoes"])
        self.ask("POST", f"/v1/runs/{found['approved']}/signal", {"name": "approval", "value": True})
        found["job"] = self.ask("POST", "/v1/jobs", {
            "name": "daily-report", "job_type": "CRON", "cron_expression": "0 9 * * MON-FRI", "timezone": "America/New_York",
            "payload": {"task": "work", "args": {"name": "report"}}, "tags": ["reports"],
        })["job_id"]  # fmt: skip
        for name, cron in (("sync-inventory", "*/20 * * * *"), ("rotate-logs", "5 3 * * *"), ("hourly-rollup", "0 * * * *")):
            wanted = {"name": name, "job_type": "CRON", "cron_expression": cron, "payload": {"task": "work"}}
            job = self.ask("POST", "/v1/jobs", wanted)
            self.ask("POST", f"/v1/jobs/{job['job_id']}/trigger")
        for _ in range(3):
            self.ask("POST", f"/v1/jobs/{found['job']}/trigger")
        found["task"] = self.enqueue("greet", payload={"name": "Ada"}, tags=["nice"])
        for message in ("the printer is on fire", "it never works"):
            self.enqueue("breaks", payload={"message": message}, queue="mail")
        self.ask("PATCH", "/v1/queues/mail", {"max_running": 5})
        problem = {"problem_id": "pod-crash-detection-1", "metadata": {"team": "storage"}}
        found["problem"] = self.ask("POST", "/aiopslab/tasks", problem)["id"]
        self.ask("PUT", "/v1/secrets/SMTP_PASSWORD", {"value": "not to be seen"})
        self.ask("POST", "/v1/roles", {"slug": "finance", "name": "Finance"})
        self.ask("POST", "/v1/users", {"external_id": "auth0|ada", "email": "ada@example.org", "role": "writer"})
        found["node"] = next(one["id"] for one in self.ask("GET", "/v1/nodes")["items"] if one["concurrency"])
        self.ended(found["task"], "completed")
        self.wait(found["done"], "completed")
        self.wait(found["failed"], "failed")
        self.wait(found["waiting"], "waiting")
        self.wait(found["approved"], "completed")
        found["running"] = self.run("nightly-etl", seconds=600)
        return found
