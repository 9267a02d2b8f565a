"""Ways of writing AFL that programs of others use, beyond what the grammar suggests: they compile, and run sensibly."""

# ruff: noqa: E501
from typing import Any

from afl_programs import Failure, build, run


def fails(_args: Any) -> Any:
    raise Failure("down")


DEPLOY = """
namespace deploy.types { schema Health { healthy: Boolean, results: Json } }
namespace deploy.mixins {
    facet RetryPolicy(max_retries: Int = 3, backoff_ms: Int = 1000) => (max_retries: Int, backoff_ms: Int)
    facet Timeout(timeout_seconds: Int = 300) => (timeout_seconds: Int)
    implicit default_retry = RetryPolicy()
    implicit default_timeout = Timeout(timeout_seconds = 60)
}
namespace deploy {
    use deploy.types
    event facet Build(service: String) => (tag: String) with RetryPolicy() with Timeout()
    event facet Risk(service: String) => (level: String)
    event facet Check(service: String) => (result: Health)
    event facet Configure(service: String, replicas: Int = 2) => (config: Json) script python "
replicas = max(1, params.get('replicas', 2))
result['config'] = {'service': params['service'], 'replicas': replicas}
"
    workflow Deploy(service: String) => (status: String, detail: String) andThen {
        build = Build(service = $.service)
        risk = Risk(service = $.service)
    } andThen when {
        case risk.level == "critical" => { yield Deploy(status = "blocked", detail = risk.level) }
        case _ => {
            cfg = Configure(service = $.service)
            health = Check(service = $.service) andThen when {
                case health.result.healthy == true => { yield Deploy(status = "success", detail = build.tag ++ cfg.config.replicas) }
                case _ => { yield Deploy(status = "sick", detail = health.result.results) }
            }
        }
    }
}
"""


def test_a_second_block_decides_on_what_the_first_found() -> None:
    seen: list[Any] = []
    agents = {"Build": lambda args: seen.append(args) or {"tag": "t1"}, "Check": {"result": {"healthy": True, "results": None}}}
    assert run(DEPLOY, {"service": "s"}, name="deploy.Deploy", Risk={"level": "low"}, **agents) == {"status": "success", "detail": "t12"}
    assert seen[0] == {"service": "s", "max_retries": 3, "backoff_ms": 1000}
    assert run(DEPLOY, {"service": "s"}, name="deploy.Deploy", Risk={"level": "critical"}, **agents) == {
        "status": "blocked", "detail": "critical"}  # fmt: skip


SWEEP = """
namespace ml {
    event facet Train(rate: Double) => (model: Json)
    event facet Evaluate(id: String) => (score: Double)
    event facet Best(scores: Json) => (winner: Long)
    workflow Sweep(rates: Json = "[]") => (winner: Long, runs: Long, note: String) script {
        result["runs"] = 2
        result["note"] = "2 runs"
    } andThen {
        t0 = Train(rate = 0.1) with Timeout(minutes = 30) andThen { e0 = Evaluate(id = t0.model.id) }
        t1 = Train(rate = 0.2) andThen { e1 = Evaluate(id = t1.model.id) }
        best = Best(scores = [e0.score, e1.score])
        yield Sweep(winner = best.winner)
    } andThen script {
        result["note"] = (
            "winner " + str(params.get("winner"))
            + " of " + str(params.get("runs"))
        )
    }
}
"""


def test_steps_of_a_steps_body_are_used_after_it_and_the_last_script_sums_up() -> None:
    out = run(SWEEP, name="ml.Sweep", Train=lambda args: {"model": {"id": str(args["rate"])}},
              Evaluate=lambda args: {"score": float(args["id"])}, Best=lambda args: {"winner": len(args["scores"])})  # fmt: skip
    assert out == {"winner": 2, "runs": 2, "note": "winner 2 of 2"}


STATIONS = """
namespace weather {
    event facet Discover(state: String) => (stations: Json, count: Int)
    event facet Download(id: String, year: Int) => (path: String)
    event facet Summary(results: Json) => (id: String)
    workflow One(id: String, year: Int) => (status: String, detail: String) andThen {
        dl = Download(id = $.id, year = $.year) catch {
            yield One(status = "download_failed", detail = "no " ++ $.id)
        }
        yield One(status = "completed", detail = dl.path)
    }
    workflow Batch(state: String, year: Int = 2023) => (statuses: [String], errors: [String]) andThen {
        discovery = Discover(state = $.state) andThen foreach station in discovery.stations {
            analysis = One(id = $.station.id, year = $.year) catch {
                err = Summary(results = [#{"id": $.station.id, "error": analysis.error}])
                yield Batch(errors = err.id)
            }
            yield Batch(statuses = analysis.status)
        }
    }
    workflow History(id: String, years: [Int] = [2022, 2023]) => (status: String, all: [String]) andThen foreach year in $.years {
        batch = Batch(state = "x", year = $.year)
        yield History(all = batch.statuses)
    } andThen { yield History(status = "completed") }
}
"""


def test_catches_yield_to_the_workflow_and_lists_of_lists_are_flat() -> None:
    agents: dict[str, Any] = {"Discover": {"stations": [{"id": "a"}, {"id": "b"}], "count": 2}, "Summary": {"id": "s"}}
    good = lambda args: {"path": f"{args['id']}{args['year']}"}  # noqa: E731
    assert run(STATIONS, {"id": "a", "year": 1}, name="weather.One", Download=fails) == {"status": "download_failed", "detail": "no a"}
    assert run(STATIONS, {"state": "x"}, name="weather.Batch", Download=good, **agents) == {
        "statuses": ["completed", "completed"], "errors": []}  # fmt: skip
    assert run(STATIONS, {"id": "a"}, name="weather.History", Download=good, **agents) == {
        "status": "completed", "all": ["completed"] * 4}  # fmt: skip


def test_what_is_loose_is_warned_of_and_no_more() -> None:
    text = """
namespace rounds {
    schema Argument { agent: String confidence: Double }
    event facet Refine(agent: String) => (refined: Argument)
    event facet Challenge(target: String, round: Int = 1) => (challenge: String)
    workflow Round(agents: Json = ["a", "b"], half: Double = 0.5) => (synthesis: String, plan: Json) andThen {
        a = Refine(agent = "a")
        c = Challenge(target = a.refined, round = $.half * 2)
        yield Round(synthesis = c.challenge, plan = [1, 2])
    } andThen foreach p in $.plan {
        r = Refine(agent = p.name)
        yield Round(synthesis = r.refined.agent)
    }
}
workflow Outside(x: Long) => (y: Long) andThen { yield Outside(y = $.x) }
"""
    compiled = build(text)
    assert compiled.ok
    assert {one.rule for one in compiled.diagnostics} == {"record-as-text", "narrowing", "last-wins", "workflow-outside"}
