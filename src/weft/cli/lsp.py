"""`weft afl lsp`: the language server protocol over two streams, as much of it as editors need for AFL.

Whole documents are sent at each change. What a document uses is looked for beside it, as `weft afl check` does.
"""

from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

import msgspec

from weft.afl import compiling, editor, formatting, library
from weft.afl.compiling import Compiled
from weft.afl.source import Source
from weft.parts import afl_files

_LONGEST = 64 * 1024 * 1024
_KIND = {"facet": 3, "param": 6, "return": 10, "field": 5, "step": 6, "type": 25, "keyword": 14}

Json = dict[str, Any]


def serve(given: IO[bytes], answers: IO[bytes]) -> None:
    """Answers until the editor says exit or the stream ends."""
    server = _Server(answers)
    while (message := _read(given)) is not None:
        if message.get("method") == "exit":
            return
        server.handle(message)


def _read(given: IO[bytes]) -> Json | None:
    length = 0
    while line := given.readline(4096):
        name, _, value = line.decode("ascii", "replace").partition(":")
        if not name.strip():
            break
        if name.strip().lower() == "content-length" and value.strip().isdigit():
            length = int(value)
    if not length or length > _LONGEST:
        return None
    body = given.read(length)
    if len(body) < length:
        return None
    try:
        found = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class _Server:
    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers
        self._texts: dict[str, str] = {}
        self._last: tuple[str, str, Compiled, Source] | None = None
        """The document that was compiled last: editors ask several things of one text."""

    def handle(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params") or {}
        uri = (params.get("textDocument") or {}).get("uri", "") if isinstance(params, dict) else ""
        match method:
            case "textDocument/didOpen":
                self._opened(uri, (params.get("textDocument") or {}).get("text", ""))
            case "textDocument/didChange":
                changes = params.get("contentChanges") or [{}]
                self._opened(uri, changes[-1].get("text", ""))
            case "textDocument/didClose":
                self._texts.pop(uri, None)
            case _ if "id" in message:
                self._reply(message["id"], method, uri, params)
            case _:
                pass

    def _reply(self, number: Any, method: Any, uri: str, params: Json) -> None:
        match method:
            case "initialize":
                result: Any = {
                    "capabilities": {"textDocumentSync": 1, "definitionProvider": True, "hoverProvider": True,
                                     "completionProvider": {"triggerCharacters": [".", "$"]},
                                     "documentFormattingProvider": True, "positionEncoding": "utf-16"},
                    "serverInfo": {"name": "weft afl"},
                }  # fmt: skip
            case "shutdown":
                result = None
            case "textDocument/definition":
                result = self._definition(uri, params)
            case "textDocument/hover":
                compiled, source, offset = self._at(uri, params)
                said = editor.hover(compiled, source, offset)
                result = {"contents": {"kind": "markdown", "value": said}} if said else None
            case "textDocument/completion":
                compiled, source, offset = self._at(uri, params)
                found = dict.fromkeys(editor.completion(compiled, source, offset))
                result = [{"label": name, "kind": _KIND[kind], "detail": kind} for name, kind in found]
            case "textDocument/formatting":
                text = self._texts.get(uri, "")
                end = {"line": text.count("\n") + 1, "character": 0}
                whole = {"start": {"line": 0, "character": 0}, "end": end}
                result = [{"range": whole, "newText": formatting.format_text(text)}]
            case _:
                self._send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": f"{method} is not known"}})
                return
        self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def _opened(self, uri: str, text: str) -> None:
        self._texts[uri], self._last = text, None
        compiled, own = self._compiled(uri)
        found = [{
            "range": {"start": _position(own, one.line, one.column), "end": _position(own, one.end_line, one.end_column)},
            "severity": 1 if one.severity == "error" else 2,
            "code": one.rule,
            "source": "weft afl",
            "message": one.message + (f" ({one.hint})" if one.hint else ""),
        } for one in compiled.diagnostics if one.file == own.name]  # fmt: skip
        told = {"uri": uri, "diagnostics": found}
        self._send({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": told})

    def _definition(self, uri: str, params: Json) -> Any:
        compiled, source, offset = self._at(uri, params)
        place = editor.definition(compiled, source, offset)
        if place is None:
            return None
        start, end = place.source.place(place.start), place.source.place(place.end)
        target = uri if place.file == source.name else Path(place.file).absolute().as_uri()
        return {"uri": target, "range": {"start": _position(place.source, *start), "end": _position(place.source, *end)}}

    def _at(self, uri: str, params: Json) -> tuple[Compiled, Source, int]:
        compiled, source = self._compiled(uri)
        position = params.get("position") or {}
        line, column = int(position.get("line", 0)) + 1, int(position.get("character", 0))
        text = source.line(line)
        characters = len(text.encode("utf-16-le")[: 2 * max(column, 0)].decode("utf-16-le", "ignore"))
        return compiled, source, source.offset(line, characters + 1)

    def _compiled(self, uri: str) -> tuple[Compiled, Source]:
        if self._last is not None and self._last[:2] == (uri, self._texts.get(uri, "")):
            return self._last[2], self._last[3]
        path = Path(unquote(urlsplit(uri).path)) if uri.startswith("file:") else None
        own = Source(str(path) if path else uri, self._texts.get(uri, ""))
        sources = [own]
        if path is not None and path.parent.is_dir():
            index: dict[str, list[str]] = {}
            for beside in sorted(path.parent.glob("*.afl"))[:500]:
                if beside != path and beside.is_file():
                    for namespace in library.declares(afl_files.peek(beside)):
                        index.setdefault(namespace, []).append(str(beside))
            sources = library.resolve(sources, index, lambda name: Source(name, afl_files.peek(Path(name)), library=True))
        compiled = compiling.compile_sources(sources)
        self._last = (uri, own.text, compiled, own)
        return compiled, own

    def _send(self, message: Json) -> None:
        body = msgspec.json.encode(message)
        self._answers.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._answers.flush()


def _position(source: Source, line: int, column: int) -> Json:
    """Lines and UTF-16 units from 0, as the protocol counts."""
    before = source.line(line)[: column - 1]
    return {"line": line - 1, "character": len(before.encode("utf-16-le", "surrogatepass")) // 2}
