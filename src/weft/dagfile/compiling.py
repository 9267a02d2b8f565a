"""A DAG as it is written → its plan: one block whose nodes are the tasks."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from weft.base import errors, names
from weft.cron import schedule, zones
from weft.cron.misfire import MAX_CATCH_UP
from weft.dagfile import attempts, payload, template
from weft.dagfile.dag import Dag, WrittenDag, WrittenDefaults, WrittenParam, WrittenTask
from weft.dagfile.problem import Path, Problem, Problems
from weft.dagfile.template import WrongAt
from weft.plan import check, graph, types
from weft.plan.expression import Expression, Value
from weft.plan.model import Block, Field, Node, Plan, Task

ENTRY = "dag"
_DAY = 86_400
_TYPES = {"array": "[any]", "list": "[any]", "object": "map", "bool": "boolean", "int": "integer", "float": "number"}


def compile_dag(written: WrittenDag, tasks: list[WrittenTask]) -> Dag:
    """The DAG; Problems if something is wrong with it."""
    problems = list(_names(written, tasks))
    params = [_param(name, one, problems) for name, one in written.params.items()]
    nodes = [_node(task, number, written.defaults, problems) for number, task in enumerate(tasks)]
    nodes = _with_dependencies(written, tasks, nodes)
    outputs = {name: _guarded(one, ("outputs", name), problems) for name, one in written.outputs.items()}
    plan = Plan(written.name, ENTRY, (Block(ENTRY, params=tuple(params), nodes=tuple(nodes), outputs=outputs),))
    # what is wrong above would be wrong again in the plan
    problems = [*_header(written), *(problems or [_translated(one, tasks) for one in check.problems(plan)])]
    if problems:
        raise Problems(problems)
    return Dag(
        name=written.name,
        plan=plan,
        description=written.description,
        cron_expression=written.cron_expression,
        timezone=written.timezone,
        start_date=written.start_date,
        end_date=written.end_date,
        misfire_policy=written.misfire_policy,
        catch_up_limit=written.catch_up_limit,
        jitter_seconds=written.jitter_seconds,
        max_active_runs=written.max_active_runs,
        timeout_seconds=written.timeout_seconds,
        tags=tuple(written.tags),
        config=written.config,
        groups={name: group.description for name, group in written.groups.items()},
        descriptions={task.name: task.description for task in tasks if task.description},
        payloads={task.name: task.payload for task in tasks},
    )


def _header(written: WrittenDag) -> Iterator[Problem]:
    """What is wrong outside of the tasks."""
    if not written.tasks:
        yield Problem(("tasks",), "a DAG needs at least one task")
    if not 1 <= written.max_active_runs <= 10_000:
        yield Problem(("max_active_runs",), "max_active_runs must be 1 to 10000")
    if written.timeout_seconds is not None and not attempts.SHORTEST <= written.timeout_seconds <= attempts.LONGEST:
        yield Problem(("timeout_seconds",), attempts.TIMEOUT)
    start, end = written.start_date, written.end_date
    naive = [key for key, moment in (("start_date", start), ("end_date", end)) if moment and moment.tzinfo is None]
    for key in naive:
        yield Problem((key,), f"{key} needs a time zone, such as 2026-01-01T00:00:00Z")
    for key, moment in (("start_date", start), ("end_date", end)):
        if moment and not 1970 <= moment.year < 2190:
            yield Problem((key,), f"{key} must be between 1970 and 2189")
    if start and end and not naive and end < start:
        yield Problem(("end_date",), "the end must not be before the start")
    if not 1 <= written.catch_up_limit <= MAX_CATCH_UP:
        yield Problem(("catch_up_limit",), f"catch_up_limit must be 1 to {MAX_CATCH_UP}")
    if not 0 <= written.jitter_seconds <= _DAY:
        yield Problem(("jitter_seconds",), f"jitter_seconds must be 0 to {_DAY}")
    try:
        zones.zone(written.timezone)
    except errors.InvalidTimezone as error:
        yield Problem(("timezone",), error.message)
    if written.cron_expression is not None:
        try:
            schedule.parse(written.cron_expression)
        except errors.InvalidCron as error:
            yield Problem(("cron_expression",), error.message)


def _names(written: WrittenDag, tasks: list[WrittenTask]) -> Iterator[Problem]:
    counted = Counter(task.name for task in tasks)
    named: list[tuple[Path, str, Any]] = [(("name",), "the DAG's name", written.name)]
    named += [(("tasks", number, "name"), "a task's name", task.name) for number, task in enumerate(tasks)]
    named += [(("groups", name), "a group's name", name) for name in written.groups]
    named += [(("params", name), "a param's name", name) for name in written.params]
    for path, what, name in named:
        try:
            names.check(name, what=what)
        except errors.InvalidName as error:
            yield Problem(path, error.message)
    seen: set[str] = set()
    for number, task in enumerate(tasks):
        if counted[task.name] > 1 and task.name in seen:
            yield Problem(("tasks", number, "name"), f"two tasks are called {task.name!r}; rename one")
        seen.add(task.name)
        if task.group and task.group not in written.groups:
            near = names.closest(task.group, written.groups)
            yield Problem(("tasks", number, "group"), f"there is no group {task.group!r}{near}; name it under groups")
    for name in written.groups:
        if name in counted:
            yield Problem(("groups", name), f"a task is called {name!r} too; rename one")


def _with_dependencies(written: WrittenDag, tasks: list[WrittenTask], nodes: list[Node]) -> list[Node]:
    """The nodes with what they wait for. A group stands for those of its tasks that nothing else in it waits for."""
    waits = {
        node.name: {*task.dependencies, *(name for one in graph.expressions(node) for name in graph.outputs(one))}
        for task, node in zip(tasks, nodes, strict=True)
    }
    members: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        parts = task.group.split(".") if task.group else []
        for length in range(1, len(parts) + 1):
            members[".".join(parts[:length])].append(task.name)
    leaves: dict[str, list[str]] = {}
    inherited: dict[str, list[str]] = defaultdict(list)
    for name, inside in members.items():
        waited_for = {one for member in inside for one in waits[member]}
        leaves[name] = [member for member in inside if member not in waited_for]
        for member in inside:
            if not waits[member].intersection(inside) and name in written.groups:
                inherited[member] += written.groups[name].dependencies
    found = []
    for task, node in zip(tasks, nodes, strict=True):
        wanted = [*task.dependencies, *inherited[task.name]]
        after = (one for name in wanted for one in (leaves.get(name, ()) if name in written.groups else (name,)))
        found.append(msgspec.structs.replace(node, after=tuple(dict.fromkeys(after))))
    return found


def _node(task: WrittenTask, number: int, defaults: WrittenDefaults, problems: list[Problem]) -> Node:
    path: Path = ("tasks", number)
    item = task.item if task.foreach is not None else None
    kind = ""
    args: Expression = Value({})
    try:
        kind, given, inside = payload.read(task.payload)
        args = template.compile_value(given, (*path, "payload", *inside), item=item)
    except errors.InvalidInput as error:
        problems.append(Problem((*path, "payload"), error.message))
    except WrongAt as wrong:
        problems.append(Problem(wrong.path, wrong.message))
    options, found = attempts.options(task, defaults)
    problems += [Problem((*path, *one.path), one.message) for one in found]
    return Node(
        name=task.name,
        work=Task(kind=kind, args=args, options=options),
        rule=task.trigger_rule,
        when=None if task.condition is None else _guarded(task.condition, (*path, "condition"), problems),
        foreach=None if task.foreach is None else _guarded(task.foreach, (*path, "foreach"), problems),
        item=task.item,
        at_once=task.max_parallel,
        allow_failure=task.allow_failure,
        group=task.group,
    )


def _param(name: str, value: Any, problems: list[Problem]) -> Field:
    """`{type: …, default: …}`, or only a default, whose type it then has."""
    path: Path = ("params", name)
    if not isinstance(value, dict):
        return Field(name, _type_of(value), default=Value(value), nullable=value is None)
    try:
        written = msgspec.convert(value, WrittenParam)
    except msgspec.ValidationError as error:
        problems.append(Problem(path, f"{error}; a param is a default, or a map with type, default, choices, …"))
        return Field(name)
    field = Field(
        name,
        _TYPES.get(written.type, written.type),
        default=None if written.default is msgspec.UNSET else Value(written.default),
        nullable=written.nullable or written.default is None,
        choices=tuple(written.choices),
        minimum=written.minimum,
        maximum=written.maximum,
        description=written.description,
    )
    if isinstance(field.default, Value):
        for pointer, message in types.problems(field, field.default.value, records={}):
            problems.append(Problem((*path, "default", *pointer.split("/")[1:]), f"the default of {name!r} {message}"))
    return field


def _type_of(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "[any]"
        case _:
            return "any"


def _guarded(value: Any, path: Path, problems: list[Problem]) -> Expression:
    try:
        if path[-1] == "condition":
            return template.compile_condition(value, path)
        return template.compile_value(value, path)
    except WrongAt as wrong:
        problems.append(Problem(wrong.path, wrong.message))
        return Value(None)


def _translated(problem: check.Problem, tasks: list[WrittenTask]) -> Problem:
    """A plan's problem with its place in the file, and in the file's words."""
    number = next((number for number, task in enumerate(tasks) if task.name == problem.node), None)
    message = problem.message.replace("it names the output of", "it refers to the task").replace("at_once", "max_parallel")
    if number is None:
        return Problem(("params",) if "type" in message else (), message)
    path: Path = ("tasks", number)
    word = {"after": "dependencies", "rule": "trigger_rule", "at_once": "max_parallel", "work": "payload"}.get(problem.word)
    if word == "dependencies" and problem.value in tasks[number].dependencies:
        return Problem((*path, word, tasks[number].dependencies.index(problem.value)), f"task {problem.node!r}: {message}")
    return Problem((*path, word) if word else path, f"task {problem.node!r}: {message}")
