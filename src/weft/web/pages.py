"""`Pages`: an ASGI application for everything that is not the API. Needs no credential; what the pages ask for does."""

from starlette.types import Receive, Scope, Send

from weft.web.bundle import Bundle, File

_NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Weft</title>
<h1>Weft is running, but its web UI was not built</h1>
<p>In a checkout, run <code>make ui</code> (it needs the network once) and start the server again. An installed
wheel has it.</p>
<p>The API works without it: <code>GET /v1/openapi.json</code> says what it can, <code>weft --help</code> what the command
line can.</p>
</html>
"""


class Pages:
    """`policy` is the Content-Security-Policy of what is served."""

    def __init__(self, bundle: Bundle, *, policy: str) -> None:
        self._bundle = bundle
        self._policy = policy

    def has(self, path: str, *, accept: str) -> bool:
        """Whether this answers a GET: a file, or a page for somebody who reads pages.

        Programs that mistype a path of the API get its error rather than a page.
        """
        if path == "/" or self._bundle.find(path) is not None:
            return True
        return "text/html" in accept and not path.startswith("/assets/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        file = self._bundle.find(scope["path"]) or self._bundle.index
        status = 200
        if file is None:
            status, file = 503, File("not-built.html", _NOT_BUILT.encode())
        said = {
            "content-type": file.type, "cache-control": file.cache, "etag": file.tag,
            "content-security-policy": self._policy,
        }  # fmt: skip
        body = file.body
        if status == 200 and _has(headers.get("if-none-match", ""), file.tag):
            status, body = 304, b""
            del said["content-type"]
        elif file.gzipped is not None:
            said["vary"] = "accept-encoding"
            if _accepts_gzip(headers.get("accept-encoding", "")):
                body = file.gzipped
                said["content-encoding"] = "gzip"
        if status != 304:
            said["content-length"] = str(len(body))
        raw = [(name.encode(), value.encode("latin-1")) for name, value in said.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _has(given: str, tag: str) -> bool:
    """Whether an If-None-Match names this tag; proxies that compress make weak ones of ours."""
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in given.split(","))


def _accepts_gzip(given: str) -> bool:
    codings = (one.partition(";q=") for one in given.lower().replace(" ", "").split(","))
    return any(coding in ("gzip", "*") and (not weighed or weight.strip("0.")) for coding, weighed, weight in codings)
