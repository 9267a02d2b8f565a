"""`weft afl`: programs in files, looked at without a server; and the language server, spoken to by a scripted client."""

# ruff: noqa: E501

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from weft.cli import main

LIBRARY = "namespace lib {\n    /** Tells. */\n    event facet Tell(who: String, text: String = \"\") => (ok: Boolean)\n}\n"
FLOW = """namespace app {
    use lib

    workflow Run(who: String) => (ok: Boolean) andThen {
        t = Tell(who = $.who)
        yield Run(ok = t.ok)
    }
}
"""


def weft(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main.weft, ["afl", *arguments], prog_name="weft", input=given)


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        (path / "lib.afl").write_text(LIBRARY)
        (path / "flow.afl").write_text(FLOW)
        yield path


def test_a_program_is_told_what_it_is_and_what_it_uses_is_found_beside_it(folder: Path) -> None:
    done = weft("check", str(folder / "flow.afl"))
    assert (done.exit_code, done.output.split(",")[0]) == (0, "app.Run: 2 blocks")


def test_a_word_that_is_wrong_does_not_bring_in_other_programs_of_the_folder(folder: Path) -> None:
    for name, facet in (("first", "Weather"), ("second", "Wether")):
        text = f"""
            event facet Weather(city: String) => (degrees: Int)
            workflow Pack(city: String) => (degrees: Int) andThen {{ w = {facet}(city = $.city) yield Pack(degrees = w.degrees) }}
        """
        (folder / f"{name}.afl").write_text(f"namespace trip {{ {text} }}")
    done = weft("check", str(folder / "second.afl"))
    assert done.exit_code == 1 and "there is no facet or schema 'Wether' (did you mean 'Weather'?)" in done.output
    assert "first.afl" not in done.output
    # what is declared there, and wanted, does
    (folder / "third.afl").write_text("namespace trip { facet Wether(city: String, degrees: Int = 1) }")
    assert weft("check", str(folder / "second.afl")).exit_code == 0


def test_libraries_are_named_or_searched_for(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "lib.afl").rename(folder / "deep" / "er" / "lib.afl")
    assert weft("check", str(folder / "flow.afl")).exit_code == 1
    assert weft("check", str(folder / "flow.afl"), "--search", str(folder / "deep")).exit_code == 0
    assert weft("check", str(folder / "flow.afl"), "--library", str(folder / "deep")).exit_code == 0


def test_problems_are_told_with_their_places(folder: Path) -> None:
    (folder / "flow.afl").write_text(FLOW.replace("$.who", "$.whom"))
    done = weft("check", str(folder / "flow.afl"))
    assert done.exit_code == 1
    assert f"{folder / 'flow.afl'}:5:24: error: there is no param 'whom' here (did you mean 'who'?) [unknown-param]" in done.output
    assert "                         ^^^^^^" in done.output
    done = weft("check", str(folder / "flow.afl"), "--format", "json")
    assert done.exit_code == 1
    [problem] = json.loads(done.output)["diagnostics"]
    assert problem == {
        "rule": "unknown-param", "severity": "error", "message": "there is no param 'whom' here", "file": str(folder / "flow.afl"),
        "line": 5, "column": 24, "end_line": 5, "end_column": 30, "excerpt": "        t = Tell(who = $.whom)",
        "hint": "did you mean 'who'?",
    }  # fmt: skip


def test_warnings_fail_only_if_they_shall(folder: Path) -> None:
    (folder / "w.afl").write_text("workflow W()\n")
    assert weft("check", str(folder / "w.afl")).exit_code == 0
    assert weft("check", str(folder / "w.afl"), "--strict").exit_code == 1
    (folder / "w.afl").write_text("namespace n { workflow W() andThen { x = Far() } }\n")
    assert weft("check", str(folder / "w.afl")).exit_code == 1
    assert json.loads(weft("check", str(folder / "w.afl"), "--allow-external", "--json").output)["workflows"] == ["n.W"]


def test_a_plan_is_json(folder: Path) -> None:
    done = weft("compile", str(folder / "flow.afl"), "--json")
    assert done.exit_code == 0 and json.loads(done.output)["app.Run"]["entry"] == "app.Run"
    done = weft("compile", str(folder / "flow.afl"), "--workflow", "Run")
    assert json.loads(done.output)["name"] == "app.Run"
    assert weft("compile", str(folder / "flow.afl"), "--workflow", "Walk").exit_code == 2
    (folder / "flow.afl").write_text("namespace {")
    assert weft("compile", str(folder / "flow.afl")).exit_code == 1


def test_formatting_changes_files_or_says_that_it_would(folder: Path) -> None:
    (folder / "lib.afl").write_text(LIBRARY.replace("    ", ""))
    done = weft("fmt", "--check", str(folder))
    assert (done.exit_code, done.output) == (1, f"would format {folder / 'lib.afl'}\n")
    assert weft("fmt", str(folder)).output == f"formatted {folder / 'lib.afl'}\n"
    assert (folder / "lib.afl").read_text() == LIBRARY
    assert json.loads(weft("fmt", "--check", str(folder), "--json").output) == {"changed": []}
    assert weft("fmt", "-", given="facet   F( )").output == "facet F()\n"


def test_what_cannot_be_read_is_not_formatted(folder: Path) -> None:
    broken = LIBRARY.replace("    ", "").replace('""', '"')
    (folder / "lib.afl").write_text(broken)
    done = weft("fmt", str(folder / "lib.afl"))
    assert done.exit_code == 1 and "this text is never closed" in done.output
    assert (folder / "lib.afl").read_text() == broken
    assert sorted(path.name for path in folder.iterdir()) == ["flow.afl", "lib.afl"]


@pytest.mark.parametrize(("style", "word"), [("text", "└─ t: lib.Tell"), ("mermaid", "flowchart TB"), ("dot", "digraph")])
def test_a_workflow_is_drawn(folder: Path, style: str, word: str) -> None:
    done = weft("graph", str(folder / "flow.afl"), "--format", style)
    assert done.exit_code == 0 and word in done.output


class Editor:
    """Speaks the protocol to a server process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0

    def tell(self, method: str, **params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer = self.hear()
        assert answer["id"] == self._number
        return answer["result"] if "result" in answer else answer["error"]

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) != b"":
            length = int(line.partition(b":")[2])
        found: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return found

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps(message).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()


def test_an_editor_gets_diagnostics_definitions_documentation_and_completion(folder: Path) -> None:
    process = subprocess.Popen([sys.executable, "-m", "weft.cli", "afl", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = threading.Timer(180, process.kill)  # what is read then is the end
    deadline.start()
    try:
        editor = Editor(process)
        assert editor.ask("initialize", capabilities={})["capabilities"]["hoverProvider"] is True
        editor.tell("initialized")
        uri = (folder / "flow.afl").as_uri()
        editor.tell("textDocument/didOpen", textDocument={"uri": uri, "text": FLOW.replace("$.who", "$.whö")})
        told = editor.hear()["params"]
        assert told["uri"] == uri and "character" in {one["code"] for one in told["diagnostics"]}
        editor.tell("textDocument/didChange", textDocument={"uri": uri}, contentChanges=[{"text": FLOW}])
        assert editor.hear()["params"]["diagnostics"] == []
        document = {"uri": uri}
        found = editor.ask("textDocument/definition", textDocument=document, position={"line": 4, "character": 14})
        assert found["uri"] == (folder / "lib.afl").as_uri() and found["range"]["start"] == {"line": 2, "character": 16}
        found = editor.ask("textDocument/definition", textDocument=document, position={"line": 4, "character": 26})
        assert found == {"uri": uri, "range": {"start": {"line": 3, "character": 17}, "end": {"line": 3, "character": 20}}}
        said = editor.ask("textDocument/hover", textDocument=document, position={"line": 4, "character": 14})["contents"]["value"]
        assert "event facet lib.Tell(who: String, text: String) => (ok: Boolean)" in said and "Tells." in said
        labels = editor.ask("textDocument/completion", textDocument=document, position={"line": 5, "character": 25})
        assert {"label": "ok", "kind": 10, "detail": "return"} in labels
        labels = editor.ask("textDocument/completion", textDocument=document, position={"line": 4, "character": 25})
        assert [one["label"] for one in labels] == ["who"]
        assert editor.ask("textDocument/formatting", textDocument=document)[0]["newText"] == FLOW
        assert editor.ask("nobody/knows")["code"] == -32601
        assert editor.ask("shutdown") is None
        editor.tell("exit")
        assert process.wait(timeout=60) == 0
    finally:
        deadline.cancel()
        process.kill()
        process.wait(timeout=60)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
