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


REGIONS = """
namespace maps {
    schema Cache { path: String }
    event facet North() => (cache: Cache)
    event facet South() => (cache: Cache)
    event facet Load(cache: Cache) => ()
    event facet Draw(layers: [String], colors: [String] = "red" ++ "blue") => (page: String)
    facet Half() => (caches: [Cache]) andThen {
        north = North()
        south = South()
        a = Load(cache = north.cache)
        b = Load(cache = south.cache)
        yield Half(caches = a.cache ++
            b.cache)
    }
    facet One() => (caches: [Cache]) andThen { north = North() yield One(caches = north.cache) }
    workflow World(names: [String] = ["x", "y"]) => (caches: [Cache], page: String, said: [String], told: [String]) andThen {
        half = Half()
        one = One()
        draw = Draw(layers = one.caches[0].path ++ "roads")
        yield World(caches = half.caches ++ (one.caches ++ half.caches[0]), page = draw.page, told = "only " ++ "one")
    } andThen foreach name in $.names {
        yield World(said = "region " ++ $.name)
    }
}
"""


def test_values_joined_where_a_list_is_wanted_make_one() -> None:
    seen: list[Any] = []
    out = run(REGIONS, name="maps.World", North={"cache": {"path": "n"}}, South={"cache": {"path": "s"}}, Load={},
              Draw=lambda args: seen.append(args) or {"page": "p"})  # fmt: skip
    n, s = {"path": "n"}, {"path": "s"}
    assert out == {"caches": [n, s, n, n], "page": "p", "said": ["region x", "region y"], "told": ["only ", "one"]}
    assert seen[0] == {"layers": ["n", "roads"], "colors": ["red", "blue"]}
    assert {one.rule for one in build(REGIONS).diagnostics} == {"made-list"}


def test_only_what_fits_an_element_makes_a_list() -> None:
    shared = "namespace n { event facet E() => (a: Int, all: [Int], any: Json) workflow W() => (out: [Int]) andThen { e = E() "
    assert [one.rule for one in build(shared + "yield W(out = e.all ++ e.all) } }").diagnostics] == []
    assert [one.rule for one in build(shared + 'yield W(out = e.all ++ "x") } }').diagnostics] == ["type-mismatch", "made-list"]
    assert [one.rule for one in build(shared + 'yield W(out = "x") } }').diagnostics] == ["type-mismatch"]
    some = shared + "yield W(out = e.any ++ e.a) } }"
    assert run(some, E={"a": 3, "all": [], "any": [1, 2]}) == {"out": [1, 2, 3]}
    assert run(some, E={"a": 3, "all": [], "any": 1}) == {"out": [1, 3]}


CHAINED = """
namespace n {
    event facet Charge(account: String) => (id: String)
    facet Stamp(by: String = "nobody") => (at: String)
    facet Cost() => (cents: Long)
    workflow W(account: String = "a") => (id: String, at: String, cents: Long) with Stamp() with Cost() andThen {
        charged = Charge(account = $.account)
        yield W(id = charged.id)
            with Stamp(at = "noon")
            with Cost(cents = 5)
    }
}
"""


def test_one_yield_fills_mixins_too() -> None:
    assert run(CHAINED, Charge={"id": "c"}) == {"id": "c", "at": "noon", "cents": 5}
    assert not build(CHAINED).diagnostics
    twice = CHAINED.replace("with Cost(cents = 5)", 'with Stamp(at = "night")')
    assert [one.rule for one in build(twice).diagnostics] == ["duplicate-yield"]
    assert [one.rule for one in build(CHAINED.replace("cents = 5", "dollars = 5")).diagnostics] == ["unknown-output"]


def test_empty_braces_are_an_empty_map() -> None:
    text = "namespace n { event facet E(a: Json = {}) => (b: Json) workflow W() => (out: Json) andThen { e = E() yield W(out = [e.a, {}]) } }"
    assert run(text, E=lambda args: {"b": args["a"]}) == {"out": [{}, {}]}
    assert [one.rule for one in build(text).diagnostics] == ["bare-map", "bare-map"]
    assert "syntax" in {one.rule for one in build(text.replace("= {})", '= {"k": 1})')).diagnostics}
