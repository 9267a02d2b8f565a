"""The benchmark compares within rounds with one named peer, goes back and forth, and says all of it."""

import dataclasses
import io
import json
from pathlib import Path

import pytest
from bench import plan, report
from bench.comparison import TARGETS, best_peer, paired, ratios
from bench.plan import Outcome, Step, Variant
from bench.scenarios.measurement import Line, Measurement
from bench.summary import Summary, summarise
from bench.system import COMPARED, Contender, Runtime, Scenario, System
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

ROUNDS = st.dictionaries(st.integers(1, 12), st.floats(min_value=0.001, max_value=1000), min_size=1)


def contender(name: str, scenarios: tuple[Scenario, ...] = COMPARED) -> Contender:
    runtime = Runtime(command=(), versions={})
    system = System(
        name=name, settings="", prepare=lambda: runtime, unfinished="", completed=None, gate_table="", scenarios=scenarios
    )
    return Contender(system=system, runtime=runtime)


def variant(name: str, scenario: Scenario, lines: tuple[Line, ...] = ()) -> Variant:
    return Variant(name=name, scenario=scenario, measure=lambda: [], headline="", title="Own" if lines else "", lines=lines)


ENQUEUE = variant("enqueue_one", "enqueue_one")
LATENCY = variant("latency", "latency")


def outcomes(rates: dict[str, list[float]], *, value: str = "per_second", of: Variant = ENQUEUE) -> list[Outcome]:
    return [
        Outcome(system=system, variant=of.name, repeat=number, values={value: rate})
        for system, values in rates.items()
        for number, rate in enumerate(values, start=1)
    ]


def printed(summaries: dict[str, Summary], *, chosen: list[Variant], systems: list[str]) -> str:
    console = Console(width=140, file=io.StringIO())
    with console.capture() as captured:
        report.show(console, summaries, chosen=chosen, contenders=[contender(name) for name in systems])
    return captured.get()


@given(ROUNDS, ROUNDS)
def test_only_rounds_that_both_have_are_paired(own: dict[int, float], other: dict[int, float]) -> None:
    found = paired(own, other)
    assert list(found) == sorted(set(own) & set(other))
    assert all(ratio == own[number] / other[number] for number, ratio in found.items())


@given(
    st.dictionaries(st.integers(1, 12), st.tuples(*[st.floats(min_value=0.5, max_value=2)] * 2), min_size=5),
    st.lists(st.integers(-6, 6), min_size=12, max_size=12),
)
def test_what_drifts_alike_in_a_round_changes_no_ratio(rounds: dict[int, tuple[float, float]], drift: list[int]) -> None:
    calm = {"weft": {n: pair[0] for n, pair in rounds.items()}, "pgqueuer": {n: pair[1] for n, pair in rounds.items()}}
    # by powers of two, because only those are exact
    drifting = {name: {n: rate * 2.0 ** drift[n - 1] for n, rate in one.items()} for name, one in calm.items()}
    found = [ratios(measured, variant="enqueue_one", value="per_second")[0] for measured in (calm, drifting)]
    assert found[0] == found[1]
    assert (found[0].system, found[0].other) == ("weft", "pgqueuer")


def test_the_best_peer_is_one_system_and_not_the_luckiest_of_each_round() -> None:
    measured = {
        "weft": {1: 900.0, 2: 900.0, 3: 900.0},
        "floor": {1: 999.0, 2: 999.0, 3: 999.0},
        "steady": {1: 100.0, 2: 110.0, 3: 120.0},
        "wild": {1: 300.0, 2: 90.0, 3: 100.0},
    }
    assert best_peer(measured, value="per_second") == "steady"
    assert best_peer(measured, value="p99_ms") == "wild"
    ratio = ratios(measured, variant="drain_1", value="per_second")[0]
    assert (ratio.other, ratio.rounds) == ("steady", {1: 9.0, 2: 900 / 110, 3: 7.5})
    assert best_peer({"weft": {1: 1.0}, "floor": {1: 1.0}}, value="per_second") is None


def test_every_target_is_judged_as_far_as_it_was_measured() -> None:
    weft, peer, floor = ({number: rate for number in range(1, 7)} for rate in (120.0, 100.0, 240.0))
    assert [target.target() for target in TARGETS["drain_1", "weft"]] == ["≥ 1.1", "≥ 0.6"]
    found = ratios({"weft": weft, "pgqueuer": peer, "floor": floor}, variant="drain_1", value="per_second")
    judged = [(one.system, one.against, one.target, one.verdict) for one in found if one.verdict]
    assert judged == [("weft", "peer", "≥ 1.1", "met"), ("weft", "floor", "≥ 0.6", "missed")]
    alone = ratios({"weft": weft, "pgqueuer": peer}, variant="drain_1", value="per_second")
    assert [one.against for one in alone] == ["peer", "peer"]
    assert ratios({"weft": weft}, variant="drain_1", value="per_second") == []


def test_shorter_waits_are_the_better_ones() -> None:
    waits = {name: dict.fromkeys(range(6), wait) for name, wait in (("weft", 2.0), ("slow", 9.0), ("fast", 3.0))}
    ratio = ratios(waits, variant="latency", value="p99_ms")[0]
    assert (ratio.other, ratio.target, ratio.verdict) == ("fast", "≤ 1", "met")


@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_every_second_round_goes_backwards(repeats: int) -> None:
    contenders = [contender("a"), contender("b", ("latency",)), contender("c")]
    made = plan.steps(contenders, chosen=[ENQUEUE, LATENCY], repeats=repeats)
    forwards = [("enqueue_one", "ac"), ("latency", "abc")]
    wanted = [
        (number, name, letter)
        for number in range(1, repeats + 1)
        for name, letters in forwards
        for letter in (letters if number % 2 else reversed(letters))
    ]
    assert [(step.repeat, step.variant.name, step.contender.name) for step in made] == wanted


def test_a_scenario_of_weft_alone_is_one_step_that_repeats_itself() -> None:
    own = variant("fairness", "fairness", lines=(Line("ratio", "ratio", at_most=2),))
    made = plan.steps([contender("weft", ("fairness",))], chosen=[own], repeats=4)
    assert made == [Step(contender=made[0].contender, variant=own, repeat=1)]


def test_a_repeat_that_failed_makes_no_ratio() -> None:
    found = outcomes({"weft": [2.0] * 6, "pgqueuer": [1.0] * 6})
    found[8] = dataclasses.replace(found[8], values={}, error="stalled")
    summary = summarise(found, chosen=[ENQUEUE])["enqueue_one"]
    ratio = summary.ratio("weft", "per_second", against="peer")
    assert ratio and list(ratio.rounds) == [1, 2, 4, 5, 6]
    assert (ratio.estimate.repeats, summary.systems["weft"]["per_second"].repeats) == (5, 6)


def test_the_tables_name_the_best_peer_and_the_confidence() -> None:
    rates = {"weft": [90.0, 130.0, 130.0, 130.0, 130.0, 95.0], "pgqueuer": [100.0] * 6, "pg-boss": [50.0] * 6}
    text = printed(summarise(outcomes(rates), chosen=[ENQUEUE]), chosen=[ENQUEUE], systems=list(rates))
    assert "best peer: pgqueuer" in text
    assert "0.90 – 1.30" in text
    assert "met, not surely" in text
    assert "6 repeats: the interval holds the true median with 96.9 % confidence" in text


def test_few_repeats_are_said_to_state_no_confidence() -> None:
    rates = {"weft": [90.0, 130.0, 130.0], "pgqueuer": [100.0] * 3}
    text = printed(summarise(outcomes(rates), chosen=[ENQUEUE]), chosen=[ENQUEUE], systems=list(rates))
    assert "3 repeats: no confidence stated" in text
    assert "not surely" not in text and "│ met │" in text


def test_a_line_of_weft_alone_has_an_interval_and_a_verdict() -> None:
    lines = (
        Line("wait", "wait_ms"),
        Line("ratio", "ratio", digits=2, at_most=2),
        Line("most", "most", at_most=10, every=True),
    )
    own = variant("fairness", "fairness", lines=lines)
    values = [{"wait_ms": 3.0, "ratio": ratio, "most": 10.0} for ratio in (1.5, 1.6, 1.7, 1.8, 1.9, 2.2)]
    found = [Outcome(system="weft", variant="fairness", repeat=n, values=one) for n, one in enumerate(values, start=1)]
    summary = summarise(found, chosen=[own])["fairness"]
    assert [(one.value, one.target, one.verdict) for one in summary.judged] == [
        ("ratio", "≤ 2", "met, not surely"), ("most", "≤ 10", "met"),
    ]  # fmt: skip
    text = printed({"fairness": summary}, chosen=[own], systems=["weft"])
    assert text.count("1.50 – 2.20") == 2, "the range, and the interval, which is as wide with six rounds"
    assert text.count("10 – 10") == 1, "a target for every round has a range and no interval"
    assert text.count("3 – 3") == 1, "what has no target has no interval"


def test_delays_are_pooled_over_the_repeats_and_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    quiet, uneasy, bad = (tuple([1.0] * (100 - slow) + [50.0] * slow) for slow in (0, 3, 10))
    found = [
        Outcome(system, "latency", repeat=number, values={"p50_ms": 1.0, "p99_ms": max(delays)}, samples=delays)
        for system, last in (("weft", [quiet, bad]), ("pgqueuer", [uneasy, quiet]))
        for number, delays in enumerate([quiet, quiet, quiet, *last], start=1)
    ]
    summaries = summarise(found, chosen=[LATENCY])
    assert summaries["latency"].pooled_p99_ms == {"weft": 50.0, "pgqueuer": 1.0}
    path = report.save(
        summaries, found, contenders=[], server={}, sizes=plan.QUICK, sources=("", "")
    )
    document = json.loads(path.read_text())
    assert [sorted(one) for one in document["outcomes"]] == [["error", "repeat", "system", "values", "variant"]] * 10
    summary = document["summary"]["latency"]
    assert summary["best_peers"] == {"p50_ms": "pgqueuer", "p99_ms": "pgqueuer"}
    tail = next(one for one in summary["ratios"] if (one["system"], one["value"]) == ("weft", "p99_ms"))
    assert tail["rounds"] == {"1": 1.0, "2": 1.0, "3": 1.0, "4": 0.02, "5": 50.0}
    assert tail["estimate"]["interval"] == {"low": 0.02, "high": 50.0, "confidence": 0.9375}
    assert (tail["other"], tail["target"], tail["verdict"]) == ("pgqueuer", "≤ 1", "met, not surely")


def test_latency_names_a_best_peer_for_each_percentile() -> None:
    waits = {"weft": (1.0, 9.0), "steady": (3.0, 4.0), "eager": (2.0, 8.0)}
    found = [
        Outcome(system=name, variant="latency", repeat=1, values={"p50_ms": p50, "p99_ms": p99}, samples=(p50, p99))
        for name, (p50, p99) in waits.items()
    ]
    text = printed(summarise(found, chosen=[LATENCY]), chosen=[LATENCY], systems=list(waits))
    assert "best peer: eager by p50, steady by p99" in text


def test_a_step_hands_on_the_values_and_the_samples(server_url: str) -> None:
    measured = Measurement({"p50_ms": 1.0}, samples=(1.0, 2.0))
    latency = dataclasses.replace(LATENCY, measure=lambda contender, url: [measured])
    found = Step(contender=contender("weft"), variant=latency, repeat=3).run(server_url)
    assert found == [Outcome("weft", "latency", repeat=3, values={"p50_ms": 1.0}, samples=(1.0, 2.0))]
