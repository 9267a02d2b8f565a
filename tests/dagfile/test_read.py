"""DAGs from JSON and YAML: what they compile to, and everything that can be wrong, with its place."""

import json
from typing import Any

import msgspec
import pytest

from weft.base import errors
from weft.dagfile import payload, read
from weft.dagfile.dag import Dag
from weft.plan import graph, model
from weft.plan.expression import Apply, Get, Map, Output, Param, Secret, Value
from weft.plan.model import Node, Task

FULL = """
# everything a DAG can say
name: nightly
description: From the shop to the warehouse.
cron_expression: "0 2 * * MON-FRI"
timezone: Europe/Berlin
start_date: 2026-01-01T00:00:00Z
misfire_policy: skip
max_active_runs: 1
timeout_seconds: 7200
tags: [etl]
params:
  day: {type: string, description: Which day}
  shops: [berlin, ulm]
  limit: {type: integer, default: 100, minimum: 1, maximum: 1000}
  mode: {type: string, default: full, choices: [full, fast]}
defaults: {max_retries: 1, queue: etl, timeout_seconds: 600}
groups:
  load: {description: Into the warehouse, dependencies: [extract]}
tasks:
  - name: extract
    payload: {task: extract_data, args: {shop: "${shop}", day: "${params.day}"}}
    foreach: ${params.shops}
    item: shop
    max_parallel: 4
    retry_config: {max_attempts: 5, backoff_seconds: 10, backoff_multiplier: 3}
  - name: clean
    group: load
    payload: {task: clean, args: {files: "${tasks.extract.output[*].file}"}}
    condition: params.mode == "full"
    pool: warehouse
    priority: 9
  - name: copy
    group: load
    payload: {command: "cp a b"}
    dependencies: [clean]
    trigger_rule: none_failed
    allow_failure: true
  - name: call
    payload:
      endpoint: https://api.example.com/done
      method: POST
      headers: {Authorization: "Bearer ${secrets.API_TOKEN}"}
      body: {rows: "${default(tasks.clean.output.rows, 0)}"}
    dependencies: [load]
    trigger_rule: all_done
  - name: report
    payload: {dag: reports, params: {day: "${params.day}"}}
    dependencies: [call]
    timeout_seconds: 60
outputs: {rows: "${tasks.clean.output.rows}"}
"""


def nodes(dag: Dag) -> dict[str, Node]:
    [block] = dag.plan.blocks
    return {node.name: node for node in block.nodes}


def test_everything_a_dag_can_say() -> None:
    dag = read.from_text(FULL)
    assert (dag.name, dag.cron_expression, dag.timezone, dag.max_active_runs, dag.timeout_seconds, dag.misfire_policy) == (
        "nightly", "0 2 * * MON-FRI", "Europe/Berlin", 1, 7200, "skip")  # fmt: skip
    found = nodes(dag)
    extract = found["extract"]
    assert extract.work == Task(
        "extract_data",
        Map({"shop": Param("shop"), "day": Param("day")}),
        {"timeout": Value(600), "max_attempts": Value(5), "queue": Value("etl"),
         "retry": Value({"backoff": "exponential", "base": 10, "multiplier": 3, "cap": 2430})},
    )  # fmt: skip
    assert (extract.foreach, extract.item, extract.at_once) == (Param("shops"), "shop", 4)
    clean = found["clean"]
    assert clean.when == Apply("==", (Param("mode"), Value("full")))
    assert isinstance(clean.work, Task) and clean.work.options == {
        "timeout": Value(600), "max_attempts": Value(2), "queue": Value("etl"), "pool": Value("warehouse"),
        "priority": Value(99)}  # fmt: skip
    call = found["call"].work
    assert isinstance(call, Task) and call.kind == "http"
    assert isinstance(call.args, Map) and call.args.entries["url"] == Value("https://api.example.com/done")
    assert call.args.entries["headers"] == Map({"Authorization": Apply("++", (Value("Bearer "), Secret("API_TOKEN")))})
    report = found["report"].work
    assert isinstance(report, Task) and report.kind == payload.STARTS
    [block] = dag.plan.blocks
    assert block.outputs == {"rows": Get(Output("clean"), "rows")}
    assert [(one.name, one.type, one.default) for one in block.params][:3] == [
        ("day", "string", None), ("shops", "[any]", Value(["berlin", "ulm"])), ("limit", "integer", Value(100))]  # fmt: skip


def test_a_dependency_on_a_group_is_one_on_its_last_tasks() -> None:
    edges = graph.edges(read.from_text(FULL).plan)["dag"]
    assert edges.upstream == {
        "extract": (), "clean": ("extract",), "copy": ("clean",), "call": ("copy", "clean"), "report": ("call",)
    }  # fmt: skip


def test_groups_may_be_inside_groups() -> None:
    task = {"payload": {"task": "t"}}
    dag = read.from_value({
        "name": "d",
        "groups": {"out": {"dependencies": ["first"]}, "out.in": {"dependencies": ["a"]}},
        "tasks": [
            {"name": "first", **task}, {"name": "a", "group": "out", **task}, {"name": "b", "group": "out.in", **task},
            {"name": "c", "group": "out.in", "dependencies": ["b"], **task}, {"name": "z", "dependencies": ["out"], **task},
        ],
    })  # fmt: skip
    upstream = graph.edges(dag.plan)["dag"].upstream
    assert (upstream["a"], upstream["c"], set(upstream["z"])) == (("first",), ("b",), {"a", "c"})
    assert set(upstream["b"]) == {"first", "a"}


SEED = """{
    "name": "etl-pipeline", "cron_expression": "0 2 * * *", "timezone": "UTC",
    "tasks": [
        {"name": "extract", "payload": {"action": "extract_data", "source": "production_db"}, "timeout_seconds": 1800},
        {"name": "transform", "payload": {"action": "transform_data"}, "dependencies": ["extract"], "timeout_seconds": 3600},
        {"name": "load", "payload": {"action": "load_data", "destination": "data_warehouse"},
         "dependencies": ["transform"], "timeout_seconds": 1800},
        {"name": "notify", "payload": {"action": "send_notification", "channel": "#data-team"}, "dependencies": ["load"]}
    ]
}"""
"""The example of seed 002."""


def test_the_seeds_dag_is_one() -> None:
    example = json.loads(SEED)
    dag = read.from_value(example)
    assert dag == read.from_text(SEED) == read.from_text(json.dumps(example, indent=4))
    edges = graph.edges(dag.plan)["dag"]
    assert graph.levels(edges) == [["extract"], ["transform"], ["load"], ["notify"]]
    extract, notify = nodes(dag)["extract"].work, nodes(dag)["notify"].work
    assert isinstance(extract, Task) and isinstance(notify, Task)
    assert extract.args == Value({"source": "production_db"})
    assert (extract.kind, extract.options) == ("extract_data", {"timeout": Value(1800), "max_attempts": Value(4)})
    assert notify.options["timeout"] == Value(3600)


def test_the_version_is_the_contents() -> None:
    one = read.from_text(FULL)
    other = read.from_text(FULL.replace("# everything", "# all").replace("tags: [etl]", "tags:\n- etl"))
    assert one.version == other.version and len(one.version) == 64
    for old, new in (("limit: {type: integer, default: 100", "limit: {type: integer, default: 101"), ("0 2 * *", "0 3 * *"),
                     ("Which day", "The day"), ("allow_failure: true", "allow_failure: false")):  # fmt: skip
        assert read.from_text(FULL.replace(old, new)).version != one.version, old
    assert model.decode(model.encode(one.plan)) == one.plan


GOOD = {"name": "d", "tasks": [{"name": "a", "payload": {"task": "t"}}, {"name": "b", "payload": {"task": "t"}}]}


def changed(**words: Any) -> dict[str, Any]:
    """GOOD with words of its second task changed, or, with two underscores, of the DAG."""
    dag: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(GOOD))
    for word, value in words.items():
        if word.startswith("__"):
            dag[word[2:]] = value
        else:
            dag["tasks"][1][word] = value
    return dag


WRONG = [
    (changed(dependencies=["aa"]), "/tasks/1/dependencies/0",
     "task 'b': it waits for 'aa', which is not there; did you mean 'a'?"),
    (changed(dependencies=["b"]), "/tasks/1/dependencies/0", "task 'b': it waits for itself"),
    (changed(name="a"), "/tasks/1/name", "two tasks are called 'a'; rename one"),
    (changed(depends=["a"]), "/tasks/1/depends", "'depends' is not known here; did you mean 'dependencies'?"),
    (changed(__shedule="x"), "/shedule", "'shedule' is not known here"),
    (changed(payload={"tsk": "x"}), "/tasks/1/payload",
     "a payload has one of task, endpoint, command, dag, workflow, flow, action"),
    (changed(payload={"task": "x", "command": "y"}), "/tasks/1/payload", "this one has task and command"),
    (changed(payload={"task": "x", "arg": {}}), "/tasks/1/payload", "'arg' does not go with 'task'; did you mean 'args'?"),
    (changed(payload={"task": "${params.x}"}), "/tasks/1/payload", "task cannot be computed; name it"),
    (changed(payload={"task": "t", "args": {"x": ["${taks.a.output}"]}}), "/tasks/1/payload/args/x/0",
     "did you mean 'tasks'?"),
    (changed(payload={"task": "t", "args": {"x": "${tasks.c.output}"}}), "/tasks/1/payload", "refers to the task 'c'"),
    (changed(payload={"task": "t", "args": {"x": "${params.c}"}}), "/tasks/1/payload", "the param 'c', which is not there"),
    (changed(payload=3), "/tasks/1/payload", "must be a map, not int"),
    (changed(trigger_rule="one_failed"), "/tasks/1/trigger_rule", "one_failed needs something to wait for"),
    (changed(trigger_rule="always"), "/tasks/1/trigger_rule", "'always' is none of what is allowed here"),
    (changed(condition="params.x ="), "/tasks/1/condition", "this cannot follow here"),
    (changed(condition=3), "/tasks/1/condition", "must be bool | str | null, not int"),
    (changed(timeout_seconds=0), "/tasks/1/timeout_seconds", "must be 0.001 to 315360000 (ten years)"),
    (changed(timeout_seconds=1e300), "/tasks/1/timeout_seconds", "must be 0.001 to 315360000"),
    (changed(__timeout_seconds=1e12), "/timeout_seconds", "timeout_seconds must be 0.001 to 315360000"),
    (changed(__timeout_seconds=0), "/timeout_seconds", "timeout_seconds must be 0.001"),
    (changed(retry_config={"backoff_seconds": 1e300}), "/tasks/1/retry_config", "must be 0 to 86400, backoff"),
    (changed(__end_date="9999-12-31T00:00:00Z"), "/end_date", "between 1970 and 2189"),
    (changed(max_retries=1, retry_config={}), "/tasks/1/max_retries", "not both"),
    (changed(max_retries=-2), "/tasks/1/max_retries", "a task is tried 1 to 1000 times"),
    (changed(retry_config={"backoff_seconds": -1}), "/tasks/1/retry_config", "backoff_seconds must be 0 to 86400"),
    (changed(priority=10), "/tasks/1/priority", "priority must be 0 to 9"),
    (changed(max_parallel=2), "/tasks/1/max_parallel", "max_parallel must be 1 or more, and needs foreach"),
    (changed(group="g"), "/tasks/1/group", "there is no group 'g'; name it under groups"),
    (changed(queue="a\nb"), "/tasks/1/queue", "queue 'a\\nb' is not valid"),
    (changed(name=""), "/tasks/1/name", "a task's name '' is not valid"),
    (changed(__groups={"a": {}}), "/groups/a", "a task is called 'a' too"),
    (changed(__start_date="2026-01-01T00:00:00"), "/start_date", "start_date needs a time zone"),
    (changed(__start_date="2026-01-02T00:00:00Z", __end_date="2026-01-01T00:00:00Z"), "/end_date",
     "not be before the start"),
    (changed(__catch_up_limit=0), "/catch_up_limit", "must be 1 to 1000"),
    (changed(__jitter_seconds=-1), "/jitter_seconds", "must be 0 to 86400"),
    (changed(__params={"x": {"type": "[integer]", "default": [1, "a"]}}), "/params/x/default/1",
     "the default of 'x' must be of type integer, not the text 'a'"),
    (changed(__max_active_runs=0), "/max_active_runs", "must be 1 to 10000"),
    (changed(__params={"x": {"type": "strin"}}), "/params", "the type 'strin' of 'x' is not known; did you mean 'string'?"),
    (changed(__params={"x": {"typ": "string"}}), "/params/x", "a param is a default, or a map with type"),
    (changed(__tasks=[]), "/tasks", "a DAG needs at least one task"),
    ({"tasks": []}, "", "'name' is missing"),
    ([1], "", "a DAG is a map with a name and tasks"),
    (changed(payload={"task": "t", "args": {"x": "${tasks.b.output}"}}), "/tasks/1", "it waits for itself"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"__cron_expression": "61 * * * *"}, errors.InvalidCron, "position 1: minute 61 is not 0 to 59"),
        ({"__timezone": "Europe/Berlim"}, errors.InvalidTimezone, "did you mean 'Europe/Berlin'?"),
        ({"__timezone": "Europe/Berlim", "__cron_expression": "x"}, errors.InvalidDag, "has 1 fields"),
        ({"__timezone": "Europe/Berlim", "timeout_seconds": 0}, errors.InvalidDag, "timeout_seconds"),
    ],
)  # fmt: skip
def test_a_schedule_alone_that_is_wrong_is_refused_as_a_jobs_is(
    wrong: dict[str, Any], error: type[errors.InvalidInput], message: str
) -> None:
    for attempt in (lambda: read.from_value(changed(**wrong)), lambda: read.from_text(json.dumps(changed(**wrong)))):
        with pytest.raises(error) as caught:
            attempt()
        assert type(caught.value) is error and message in caught.value.message
        assert caught.value.details["problems"][0]["pointer"]


@pytest.mark.parametrize(("wrong", "pointer", "message"), WRONG, ids=[message[:60] for _, _, message in WRONG])
def test_what_is_wrong_is_told_with_its_place(wrong: Any, pointer: str, message: str) -> None:
    with pytest.raises(errors.InvalidDag) as caught:
        read.from_value(wrong)
    [problem] = caught.value.details["problems"]
    assert message in problem["message"]
    assert problem["pointer"].startswith(pointer)
    with pytest.raises(errors.InvalidDag) as caught:
        read.from_text(json.dumps(wrong, indent=2))
    [located] = caught.value.details["problems"]
    assert (located["message"], located["pointer"]) == (problem["message"], problem["pointer"])
    assert caught.value.message.startswith(f"line {located['line']}, column {located['column']}: ")


def test_a_cycle_is_shown_as_its_path() -> None:
    dag = changed(dependencies=["a"])
    dag["tasks"][0]["dependencies"] = ["b"]
    with pytest.raises(errors.InvalidDag, match="a cycle: a → b → a; take one of these dependencies away"):
        read.from_value(dag)


def test_lines_of_a_file_are_right() -> None:
    text = "name: d\ntasks:\n  - {name: a, payload: {task: t}}\n  - name: b\n    payload:\n      task: t\n"
    text += "    dependencies: [a,\n      c]\n"
    with pytest.raises(errors.InvalidDag, match=r"^line 8, column 7: task 'b': it waits for 'c', which is not there"):
        read.from_text(text)


def test_several_problems_are_told_at_once() -> None:
    with pytest.raises(errors.InvalidDag) as caught:
        read.from_value(changed(priority=99, timeout_seconds=-1, group="x", __cron_expression="x"))
    assert len(caught.value.details["problems"]) == 4


def test_ten_thousand_tasks_with_fifty_thousand_edges_are_accepted() -> None:
    tasks = [{"name": f"task-{number}", "payload": {"task": "work", "args": {"n": number}},
              "dependencies": [f"task-{before}" for before in range(max(0, number - 5), number)]}
             for number in range(10_000)]  # fmt: skip
    dag = read.from_value({"name": "large", "tasks": tasks})
    assert len(graph.edges(dag.plan)["dag"]) > 49_900


@pytest.mark.parametrize(("old", "new", "message"), [
    ('"name": "etl-pipeline"', '"name": "a", "name": "b"', "line 2, column 18: the key 'name' is here twice"),
    ("1800}", "1e999}", "this number is too large"),
    ("1800}", "NaN}", "must be"),
    ("production_db", "\\ud800", "half a character"),
    ("production_db", "\\u0000", "a text contains a NUL character"),
    ('"production_db"', "[" * 70 + "]" * 70, "nested deeper than 64 levels"),
    ('"production_db"', "[" * 100_000, "nested deeper than 64 levels"),
    ('"tasks": [', '"tasks": [,', "a value is expected here"),
])  # fmt: skip
def test_json_that_is_not_read_by_all_alike_is_refused(old: str, new: str, message: str) -> None:
    assert old in SEED
    with pytest.raises(errors.InvalidDag) as caught:
        read.from_text(SEED.replace(old, new, 1))
    assert message in caught.value.message


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(errors.InvalidDag, match="larger than 8 MiB"):
        read.from_text("# " + "x" * (8 * 2**20))
    with pytest.raises(errors.InvalidDag, match="the most is 8,388,608"):
        read.from_value(changed(payload={"task": "t", "args": {"x": "y" * (8 * 2**20)}}))


def test_what_is_long_does_not_take_long() -> None:
    for wrong, message in (
        (changed(dependencies=["x" * 2**20]), "it waits for 'xxx"),
        (changed(**{"y" * 2**20: 1}), "'yyy"),
        (changed(payload={"task": "t", "args": {"x": "${1} " * 300_000}}), "more than 20,000 parts in one text"),
        (changed(payload={"task": "t", "args": {"x": ["${run.id}"] * 20_001}}), "larger than 20,000 parts"),
        (changed(condition="1" + "+1" * 100_000), "the expression is too long"),
        (changed(__timezone="z" * 2**20), "unknown time zone 'zzz"),
    ):
        with pytest.raises(errors.InvalidInput) as caught:
            read.from_value(wrong)
        assert message in caught.value.message and len(caught.value.message) < 4000
