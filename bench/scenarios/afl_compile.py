"""AFL: how many lines a second are read, checked and lowered; beside it, Python compiling a file of as many lines.

No database takes part. The program has everything that is common: schemas, event facets, facets with bodies, loops, cases,
catches, mixins; every thirty lines are another namespace, so that names have to be found.
"""

import statistics
import time
from collections.abc import Callable

from bench.scenarios.measurement import Line, Measurement
from bench.system import Contender
from weft.afl import compiling, formatting
from weft.afl.source import Source

TITLE = "AFL compiler"
LINES = (
    Line("parse, check and lower, lines/s", "lines_per_second", at_least=3000),
    Line("a program of {lines} lines, s", "seconds", digits=2),
    Line("Python: compile() of as many lines, lines/s", "python_per_second"),
    Line("format, lines/s", "format_per_second"),
)

_PART = """/** Part @. */
namespace part@ {
    schema Row@ { id: Long, name: String, tags: [String] }

    event facet Load@(path: String, limit: Int = 10) => (rows: [Row@], count: Int)
    event facet Store@(rows: [Row@], target: String = "db") => (ids: [Long])

    facet Twice@(path: String) => (count: Int) andThen {
        a = Load@(path = $.path)
        b = Load@(path = $.path ++ ".2", limit = a.count + 1) with Timeout(minutes = 2) with Retry(maxAttempts = 3)
        yield Twice@(count = a.count + b.count * 2)
    }

    workflow Copy@(paths: [String], target: String = "x") => (ids: [Long], notes: [String]) andThen foreach path in $.paths {
        l = Load@(path = $.path) catch {
            yield Copy@(notes = "failed: " ++ error)
        }
        s = Store@(rows = l.rows, target = $.target)
        yield Copy@(ids = s.ids)
    } andThen when {
        case $.target == "x" && true => {
            t = Twice@(path = "p")
            yield Copy@(notes = ["count " ++ t.count])
        }
        case _ => {
            yield Copy@(notes = ["other"])
        }
    }
}
"""

_PYTHON = '''def load@(path: str, limit: int = 10) -> list[dict[str, object]]:
    """Part @."""
    rows = [{"id": number, "name": path + str(number), "tags": []} for number in range(limit)]
    if limit > 10 and path:
        return [row for row in rows if row["id"]]
    return rows


def twice@(path: str) -> int:
    a, b = load@(path), load@(path + ".2", limit=len(path) + 1)
    return len(a) + len(b) * 2

'''


def program(lines: int, part: str = _PART) -> str:
    """About so many lines."""
    count = max(1, lines // part.count("\n"))
    return "".join(part.replace("@", str(number)) for number in range(count))


def measure(contender: Contender, *, url: str, rounds: int, lines: int) -> list[Measurement]:
    """Take turns between the compilers, and return a measurement for each round."""
    del contender, url
    afl, python = program(lines), program(lines, _PYTHON)
    found = []
    for _ in range(rounds):
        taken = _seconds(lambda: compiling.compile_sources([Source("bench.afl", afl)]))
        found.append(
            Measurement(
                {
                    "seconds": taken,
                    "lines_per_second": afl.count("\n") / taken,
                    "python_per_second": python.count("\n") / _seconds(lambda: compile(python, "bench.py", "exec")),
                    "format_per_second": afl.count("\n") / _seconds(lambda: formatting.format_text(afl)),
                }
            )
        )
    return found


def _seconds(act: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
