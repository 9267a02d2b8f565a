"""`weft cron` and `weft dag`: what needs no server."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from weft.cli import main

DAG = """\
name: nightly
cron_expression: "0 2 * * MON-FRI"
timezone: Europe/Berlin
tasks:
  - {name: extract, payload: {task: extract}, foreach: [1, 2]}
  - {name: clean "up", payload: {task: clean}, dependencies: [extract]}
"""


def weft(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main.weft, list(arguments), prog_name="weft", input=given)


@pytest.fixture
def file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nightly.yaml"
        path.write_text(DAG.replace(' "up"', ""))
        yield path


def test_a_preview_says_it_in_words_and_times() -> None:
    done = weft("cron", "preview", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-28", "-n", "3")
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.output.splitlines()]
    assert lines[0] == "at 02:30 (Europe/Berlin)"
    assert lines[3:] == [
        "Sat 2026-03-28 02:30 CET 2026-03-28T01:30Z",
        "Sun 2026-03-29 03:00 CEST 2026-03-29T01:00Z the clock was changed",
        "Mon 2026-03-30 02:30 CEST 2026-03-30T00:30Z",
    ]


def test_a_preview_as_json() -> None:
    done = weft("cron", "preview", "@daily", "--from", "2026-01-01T12:00Z", "--count", "1", "--json")
    assert json.loads(done.output) == {
        "expression": "@daily",
        "timezone": "UTC",
        "words": "at 00:00",
        "times": [{"utc": "2026-01-02T00:00:00Z", "local": "2026-01-02T00:00:00+00:00"}],
    }


def test_a_valid_dag_is_told_what_it_is(file: Path) -> None:
    done = weft("dag", "validate", str(file))
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "nightly: 2 tasks, 1 edges, 2 levels")
    assert "runs at 02:00, on Monday to Friday (Europe/Berlin)" in done.output
    found = json.loads(weft("dag", "validate", "-", "--json", given=file.read_text()).output)
    assert (found["valid"], found["tasks"], len(found["version"])) == (True, 2, 64)


def test_what_is_wrong_is_told_line_by_line(file: Path) -> None:
    file.write_text(DAG.replace("[extract]", "[extarct]").replace("0 2", "0 25").replace(' "up"', ""))
    hint = "task 'clean': it waits for 'extarct', which is not there; did you mean 'extract'?"
    done = weft("dag", "validate", str(file))
    assert (done.exit_code, done.output.splitlines()) == (1, [
        f"{file}:2:18: cron '0 25 * * MON-FRI': position 3: hour 25 is not 0 to 23",
        f"{file}:6:58: {hint}",
    ])  # fmt: skip
    done = weft("dag", "validate", str(file), "--json")
    found = json.loads(done.output)
    assert (done.exit_code, found["valid"], found["problems"][1]) == (
        1, False, {"message": hint, "pointer": "/tasks/1/dependencies/0", "line": 6, "column": 58})  # fmt: skip


def test_a_text_that_is_no_yaml_has_its_place_too(file: Path) -> None:
    file.write_text("name: x\ntasks: &all []\n")
    done = weft("dag", "validate", str(file))
    assert done.output == f"{file}:2:8: anchors are not allowed; write the value out where it is needed\n"
    assert weft("dag", "graph", str(file)).exit_code == 2


def test_a_dag_is_drawn(file: Path) -> None:
    assert weft("dag", "graph", str(file)).output == "nightly\n├─ extract (for each)\n└─ clean  ← extract\n"
    assert weft("dag", "graph", str(file), "--format", "mermaid").output == (
        'flowchart LR\n  n0["extract (for each)"]\n  n1["clean"]\n  n0 --> n1\n')  # fmt: skip
    assert '"extract" -> "clean";' in weft("dag", "graph", str(file), "--format", "dot").output
    assert json.loads(weft("dag", "graph", str(file), "--json").output) == [
        {"name": "extract", "after": []}, {"name": "clean", "after": ["extract"]},
    ]  # fmt: skip


def test_a_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    done = weft("dag", "validate", str(file))
    assert (done.exit_code, "is not UTF-8 text" in done.output) == (2, True)
