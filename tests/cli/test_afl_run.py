"""`weft afl submit` and `weft afl run`: a program from its file to its outcome."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from shell import Shell

FLOW = """namespace app {
    event facet Tell(who: String) => (said: String)

    workflow Run(who: String, times: Int = 1) => (said: String, times: Int) andThen {
        t = Tell(who = $.who)
        yield Run(said = t.said, times = $.times)
    }
}
"""


@pytest.fixture
def flow() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flow.afl"
        path.write_text(FLOW)
        yield path


def change(flow: Path, old: str, new: str) -> None:
    flow.write_text(FLOW.replace(old, new))


def after(said: str, mark: str) -> str:
    assert mark in said, said
    return said[said.index(mark) :]


async def test_a_program_is_run_here_and_says_what_it_came_to(database_url: str, flow: Path) -> None:
    weft = Shell(DATABASE_URL=database_url)
    code, said = await weft("afl", "run", str(flow), "--agent", "afl_agents", "-p", "who=Ada", "-p", "times=3")
    assert code == 0, said
    assert json.loads(after(said, "{\n")) == {"said": "told Ada", "times": 3}
    assert "● t" in said and "run 0" in said
    code, said = await weft("afl", "run", str(flow), "--agent", "afl_agents", "--params", '{"who": "nobody"}')
    assert (code, "failed in 't': ValueError: nobody is there" in said) == (1, True), said


async def test_a_program_is_saved_in_versions(database_url: str, flow: Path) -> None:
    weft = Shell(DATABASE_URL=database_url)
    first = await weft.json("afl", "submit", str(flow))
    assert (first["name"], first["version_number"]) == ("flow", 1)
    assert [one["name"] for one in first["workflows"]] == ["app.Run"]
    change(flow, "Int = 1", "Int = 2")
    code, said = await weft("afl", "submit", str(flow))
    assert code == 0 and "flow: version 2 (" in said and "  app.Run" in said
    change(flow, "$.who", "$.whom")
    code, said = await weft("afl", "submit", str(flow))
    assert code == 1 and "flow.afl:5:24: error:" in said, said
