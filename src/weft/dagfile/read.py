"""A definition → a `Dag`, or everything that is wrong with it.

`from_text` reads JSON and YAML and knows lines; `from_value` takes what an API was sent and knows JSON pointers.
"""

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from weft.base import errors, json
from weft.base.names import closest
from weft.dagfile import compiling, strict, yaml
from weft.dagfile.dag import Dag, WrittenDag, WrittenTask
from weft.dagfile.problem import Path, Problem, Problems
from weft.dagfile.yaml import Place
from weft.plan.expression import escaped

T = TypeVar("T", bound=msgspec.Struct)

MOST = 20
"""Problems that are told at once."""

_LONGEST = 1000
_REFUSALS: dict[Path, type[errors.InvalidInput]] = {
    ("cron_expression",): errors.InvalidCron, ("timezone",): errors.InvalidTimezone,
}  # fmt: skip
"""What is wrong with a schedule alone is said as it is of a job's."""
_AT = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.S)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def from_text(text: str) -> Dag:
    """The DAG of a file in JSON or YAML; InvalidDag lists what is wrong, with lines."""
    if text.lstrip().startswith("{") and len(text) <= yaml.MAX_BYTES:
        try:
            return _checked(strict.loads(text), None)
        except (strict.NotStrict, errors.InvalidInput):
            pass  # read again, slower, to know the place
    document = yaml.read(text)
    return _checked(document.value, document.place)


def data(text: str) -> Any:
    """What a file in JSON or YAML says, once it is a valid DAG; InvalidDag lists what is wrong, with lines."""
    from_text(text)
    if text.lstrip().startswith("{") and len(text) <= yaml.MAX_BYTES:
        with contextlib.suppress(strict.NotStrict):
            return strict.loads(text)
    return yaml.read(text).value


def from_value(value: Any) -> Dag:
    """The DAG of data that was already read; InvalidDag lists what is wrong, with JSON pointers."""
    return _checked(value, None)


def _checked(value: Any, place: Callable[[Path], Place] | None) -> Dag:
    problems: list[Problem] = []
    dag = _read(value, problems)
    if dag is not None and not problems:
        return dag
    told = [_told(one, place) for one in problems[:MOST]]
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    paths = {one.path for one in problems}
    refusal = _REFUSALS.get(next(iter(paths)), errors.InvalidDag) if len(paths) == 1 else errors.InvalidDag
    raise refusal("; ".join(map(_sentence, told[:3])) + more, problems=told)


def _read(value: Any, problems: list[Problem]) -> Dag | None:
    if not isinstance(value, dict):
        problems.append(Problem((), "a DAG is a map with a name and tasks; this is none"))
        return None
    if json.depth(value) > json.MAX_DEPTH:
        problems.append(Problem((), f"nested deeper than {json.MAX_DEPTH} levels; flatten it"))
    elif json.has_nul(value):
        problems.append(Problem((), "a text contains a NUL character, which cannot be stored; remove it"))
    written = None if problems else _convert(value, WrittenDag, (), problems)
    if written is None:
        return None
    tasks = [_convert(one, WrittenTask, ("tasks", number), problems) for number, one in enumerate(written.tasks)]
    if not problems:
        try:
            return compiling.compile_dag(written, [task for task in tasks if task is not None])
        except Problems as found:
            problems += found.problems
    return None


def _convert(value: Any, shape: type[T], path: Path, problems: list[Problem]) -> T | None:
    """A value as a struct, or None and what is wrong with it."""
    if isinstance(value, dict):
        known: tuple[str, ...] = shape.__struct_fields__
        unknown = [key for key in value if key not in known]
        for key in unknown[:MOST]:
            problems.append(Problem((*path, key), f"{key!r} is not known here{closest(key, known)}"))
        if unknown:
            return None
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        found = _AT.match(str(error))
        assert found is not None
        inside = tuple(int(number) if number.isdecimal() else name for name, number in _STEP.findall(found[2] or "")
                       if number != "...")  # fmt: skip
        problems.append(Problem((*path, *inside), _plainer(found[1])))
        return None


def _plainer(message: str) -> str:
    """msgspec's words in ours."""
    for pattern, words in (
        (r"Object missing required field `(.*)`", r"'\1' is missing"),
        (r"Object contains unknown field `(.*)`", r"'\1' is not known here"),
        (r"Expected `(.*)`, got `(.*)`", r"must be \1, not \2"),
        (r"Invalid enum value (.*)", r"\1 is none of what is allowed here"),
    ):
        message = re.sub(pattern, words, message)
    return message.replace("`str`", "a text").replace("object", "a map").replace("array", "a list")


def _told(problem: Problem, place: Callable[[Path], Place] | None) -> Mapping[str, Any]:
    pointer = "".join(f"/{escaped(str(part))}" for part in problem.path)
    message = problem.message if len(problem.message) <= _LONGEST else f"{problem.message[:_LONGEST]}…"
    told = {"message": message, "pointer": pointer[:_LONGEST]}
    if place is None:
        return told
    line, column = place(problem.path)
    return {**told, "line": line, "column": column}


def _sentence(told: Mapping[str, Any]) -> str:
    if "line" in told:
        return f"line {told['line']}, column {told['column']}: {told['message']}"
    return f"{told['pointer']}: {told['message']}" if told["pointer"] else told["message"]
