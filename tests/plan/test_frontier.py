"""Readiness by counters equals readiness looked up in the whole graph, for any graph, rules, endings and order."""

import random
from typing import Any, get_args

import pytest
import running
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.plan import frontier, graph, rules
from weft.plan.expression import Output, Value
from weft.plan.frontier import Count
from weft.plan.graph import Edges
from weft.plan.model import Block, Compute, Node, Plan, Task
from weft.plan.rules import Ending, Rule, Tally

RULES: tuple[Rule, ...] = get_args(Rule)
RAN: tuple[Ending, ...] = ("completed", "failed", "timed_out", "cancelled", "skipped")


@st.composite
def blocks(draw: st.DrawFn, most: int = 12) -> Edges:
    """Any graph without cycles: a node waits for some of those before it."""
    size = draw(st.integers(1, most))
    names = [f"n{number}" for number in range(size)]
    nodes = []
    for number, name in enumerate(names):
        after = draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=4)) if number else []
        rule = draw(st.sampled_from(RULES))
        if rule in rules.OF_OTHERS and not after:
            rule = "all_done"
        nodes.append(Node(name, Compute(Value(1)), after=tuple(after), rule=rule))
    shuffled = draw(st.permutations(nodes))
    return graph.edges(Plan("p", "b", (Block("b", nodes=tuple(shuffled)),)))["b"]


def words(rule: Rule, endings: list[Ending]) -> str:
    """What a rule says of those a node waits for, all of them ended. Written down from its description, not its code."""
    bad = [one for one in endings if one in ("failed", "timed_out", "cancelled", "upstream_failed")]
    good = [one for one in endings if one == "completed"]
    skipped = [one for one in endings if one == "skipped"]
    match rule:
        case "all_success":
            return "ready" if len(good) == len(endings) else "upstream_failed" if bad else "skipped"
        case "all_failed":
            return "ready" if len(bad) == len(endings) else "skipped"
        case "all_done":
            return "ready"
        case "all_skipped":
            return "ready" if len(skipped) == len(endings) else "skipped"
        case "one_success":
            return "ready" if good else "upstream_failed" if bad else "skipped"
        case "one_failed":
            return "ready" if bad else "skipped"
        case "one_done":
            return "ready" if good or bad else "skipped"
        case "none_failed":
            return "upstream_failed" if bad else "ready"
        case "none_failed_min_one_success":
            return "upstream_failed" if bad else "ready" if good else "skipped"
        case "none_skipped":
            return "skipped" if skipped else "ready"


def oracle(rule: Rule, known: list[Ending], unknown: int) -> str | None:
    """The one verdict that is left, whatever is still to come; found by trying all of it. all_done is about when."""
    if rule == "all_done" and unknown:
        return None
    futures: list[list[Ending]] = [[]]
    for _ in range(unknown):
        futures = [[*future, one] for future in futures for one in ("completed", "failed", "skipped")]
    verdicts = {words(rule, [*known, *future]) for future in futures}
    return verdicts.pop() if len(verdicts) == 1 else None


@pytest.mark.parametrize("rule", RULES)
def test_a_verdict_is_given_as_soon_as_nothing_can_change_it(rule: Rule) -> None:
    for total in range(1 if rule in rules.OF_OTHERS else 0, 5):
        for succeeded in range(total + 1):
            for failed in range(total + 1 - succeeded):
                for skipped in range(total + 1 - succeeded - failed):
                    tally = Tally(total, succeeded, failed, skipped)
                    known: list[Ending] = ["completed"] * succeeded + ["failed"] * failed + ["skipped"] * skipped
                    assert rules.verdict(rule, tally) == oracle(rule, known, tally.remaining), tally


def drive(edges: Edges, fate: dict[str, Ending], dice: random.Random) -> tuple[dict[str, Ending], set[str]]:
    """Runs a block by counters, several endings at a time; answers every ending and who was started."""
    first = frontier.start(edges)
    tallies, endings = dict(first.tallies), {}
    started, open_ = set(first.ready), list(first.ready)
    while open_:
        dice.shuffle(open_)
        batch = {open_.pop(): None for _ in range(dice.randint(1, len(open_)))}
        ended = {name: fate[name] for name in batch}
        following = frontier.advance(edges, ended, tallies)
        assert not following.missing
        tallies |= following.tallies
        assert not endings.keys() & following.ended.keys()
        assert not started & set(following.ready)
        endings |= ended | following.ended
        started |= set(following.ready)
        open_ += following.ready
        assert tallies == frontier.recount(edges, endings, started=frozenset(started))
        for name, before in edges.upstream.items():
            known = [endings[one] for one in before if one in endings]
            expected = oracle(edges.rules[name], known, len(before) - len(known))
            assert (name in started) == (expected == "ready")
            assert (endings.get(name) if name not in started else None) == (None if expected == "ready" else expected)
    return endings, started


@settings(deadline=None)
@given(edges=blocks(), seed=st.integers(0, 2**32), data=st.data())
def test_counters_say_what_the_whole_graph_says(edges: Edges, seed: int, data: st.DataObject) -> None:
    fate = {name: data.draw(st.sampled_from(RAN), label=name) for name in edges.upstream}
    endings, started = drive(edges, fate, random.Random(seed))
    assert endings.keys() == edges.upstream.keys(), "some node never ended"
    again, started_again = drive(edges, fate, random.Random(seed + 1))
    assert (endings, started) == (again, started_again), "the order decided"


@settings(deadline=None)
@given(edges=blocks(), seed=st.integers(0, 2**32), data=st.data())
def test_only_the_tallies_of_what_hangs_on_an_ending_are_asked_for(edges: Edges, seed: int, data: st.DataObject) -> None:
    tallies = frontier.start(edges).tallies
    name = data.draw(st.sampled_from([name for name, before in edges.upstream.items() if not before]))
    given: dict[str, Tally] = {}
    while (step := frontier.advance(edges, {name: "failed"}, given)).missing:
        assert step.missing <= graph.below(edges, [name]) - given.keys()
        given |= {one: tallies[one] for one in step.missing}
    assert step == frontier.advance(edges, {name: "failed"}, tallies)
    assert given.keys() == step.tallies.keys()


@settings(deadline=None)
@given(edges=blocks(), seed=st.integers(0, 2**32), data=st.data())
def test_to_run_some_again_is_as_if_they_had_never_run(edges: Edges, seed: int, data: st.DataObject) -> None:
    fate = {name: data.draw(st.sampled_from(RAN), label=name) for name in edges.upstream}
    endings, _ = drive(edges, fate, random.Random(seed))
    names = frozenset(data.draw(st.sets(st.sampled_from(sorted(edges.upstream)), min_size=1)))
    cleared = graph.below(edges, names)
    again = frontier.again(edges, endings, names)
    assert again.tallies.keys() == cleared
    kept = {name: ending for name, ending in endings.items() if name not in cleared} | again.ended
    assert again.tallies == {name: tally for name, tally
                             in frontier.recount(edges, kept, started=frozenset(again.ready)).items()
                             if name in cleared}  # fmt: skip
    for name in cleared:
        before = edges.upstream[name]
        known = [kept[one] for one in before if one in kept]
        expected = oracle(edges.rules[name], known, len(before) - len(known))
        assert again.ended.get(name, "ready" if name in again.ready else None) == expected


@settings(deadline=None)
@given(edges=blocks(), seed=st.integers(0, 2**32), data=st.data())
def test_a_block_of_which_no_advance_is_kept_goes_the_same_way_by_what_is_overdue(
    edges: Edges, seed: int, data: st.DataObject
) -> None:
    fate = {name: data.draw(st.sampled_from(RAN), label=name) for name in edges.upstream}
    endings: dict[str, Ending] = {}
    started: set[str] = set()
    dice = random.Random(seed)
    while True:
        running = frozenset(started - endings.keys())
        following = frontier.overdue(edges, endings, started=running)
        assert not following.tallies.keys() & (endings.keys() | running)
        started |= set(following.ready)
        endings |= following.ended
        again = frontier.overdue(edges, endings, started=frozenset(started - endings.keys()))
        assert (again.ready, again.ended) == ((), {}), "what was done is overdue once more"
        if not (open_ := sorted(started - endings.keys())):
            break
        endings |= {name: fate[name] for name in dice.sample(open_, dice.randint(1, len(open_)))}
    assert (endings, started) == drive(edges, fate, random.Random(seed))


@settings(deadline=None)
@given(edges=blocks(), seed=st.integers(0, 2**32), data=st.data())
def test_a_block_fails_if_a_failure_counts(edges: Edges, seed: int, data: st.DataObject) -> None:
    fate = {name: data.draw(st.sampled_from(RAN), label=name) for name in edges.upstream}
    tolerated = data.draw(st.sets(st.sampled_from(sorted(edges.upstream))))
    endings, _ = drive(edges, fate, random.Random(seed))
    count = Count(total=len(endings))
    for name, ending in endings.items():
        assert count.ending is None
        count = count.plus(ending, tolerated=name in tolerated)
    bad = {name for name, ending in endings.items() if ending in ("failed", "timed_out", "cancelled")}
    assert count.ending == ("failed" if bad - tolerated else "completed")


def test_a_long_chain_that_is_skipped_needs_no_recursion() -> None:
    nodes = [Node("n0", Compute(Value(1)))]
    nodes += [Node(f"n{number}", Compute(Value(1)), after=(f"n{number - 1}",)) for number in range(1, 20_000)]
    edges = graph.edges(Plan("p", "b", (Block("b", nodes=tuple(nodes)),)))["b"]
    following = frontier.advance(edges, {"n0": "skipped"}, frontier.start(edges).tallies)
    assert (len(following.ended), set(following.ended.values()), following.ready) == (19_999, {"skipped"}, ())


@settings(deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_every_run_ends(data: st.DataObject, seed: int) -> None:
    """Whole runs: conditions, mapping, rules, failures, references to what has no output."""
    size = data.draw(st.integers(1, 8))
    nodes: list[Node] = []
    for number in range(size):
        before = [node.name for node in nodes]
        after = tuple(data.draw(st.lists(st.sampled_from(before), unique=True, max_size=3))) if before else ()
        rule = data.draw(st.sampled_from(RULES))
        named = data.draw(st.sampled_from([None, *before]))
        nodes.append(Node(
            f"n{number}",
            Task("t", Value({"n": number})) if named is None else Compute(Output(named)),
            after=after,
            rule="all_done" if rule in rules.OF_OTHERS and not after else rule,
            when=data.draw(st.sampled_from([None, Value(True), Value(False), Value(3)])),
            foreach=data.draw(st.sampled_from([None, None, Value([1, 2]), Value([]), Value(5)])),
            allow_failure=data.draw(st.booleans()),
        ))  # fmt: skip
    failing = data.draw(st.sets(st.integers(0, size - 1)))

    def do(_kind: str, args: dict[str, Any]) -> Any:
        if args["n"] in failing:
            raise running.Failure("told to")
        return args["n"]

    plan = Plan("p", "b", (Block("b", nodes=tuple(nodes)),))
    done = running.run(plan, {}, do, seed=seed)
    assert done.result is not None
    states = {name: known.state for name, known in done.scopes[0].known.items()}
    assert states.keys() == {node.name for node in nodes}
    other = running.run(plan, {}, do, seed=seed + 1)
    eager = any(node.rule in rules.OF_OTHERS for node in nodes)
    assert eager or states == {name: known.state for name, known in other.scopes[0].known.items()}
