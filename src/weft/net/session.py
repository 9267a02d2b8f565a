"""Calls to a server you chose: connections kept open, nothing followed, nothing taken from the machine's settings.

`http` is for URLs that strangers wrote; here the address comes from whoever runs the program, so no guard is asked.
"""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import httpx2

from weft.base import errors
from weft.net.guard import Unreachable
from weft.net.mounted import Asgi, Mounted

_CONNECT = 5.0
_KEPT_OPEN = 60.0


class NotSent(Unreachable):
    """No connection could be made: nothing was sent."""

    code = "NOT_SENT"


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came back. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """What to send."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: bytes | None = None
    timeout: float | None = None
    """Seconds between two signs of life. None: no limit, for streams and long polls that limit themselves."""


class Session:
    """A server and the connections to it. `app` is that server in this process: nothing is then sent anywhere."""

    def __init__(self, url: str, *, headers: Mapping[str, str], connections: int = 100, app: Asgi | None = None) -> None:
        self.url = url
        transport: httpx2.AsyncBaseTransport | None = None if app is None else Mounted(app)
        limits = httpx2.Limits(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=_KEPT_OPEN
        )
        try:
            self._client = httpx2.AsyncClient(
                base_url=url, headers=dict(headers), transport=transport, limits=limits, trust_env=False,
                follow_redirects=False,
            )  # fmt: skip
        except (httpx2.InvalidURL, ValueError) as error:
            raise errors.ConfigError(f"{url!r} is not the address of a server: {error}") from None

    async def send(self, question: Question) -> Answer:
        """The whole answer, of whatever status; Unreachable if there is none."""
        with _told(self.url):
            response = await self._client.send(self._request(question))
        return Answer(response.status_code, _lower(response.headers), response.content)

    @contextlib.asynccontextmanager
    async def stream(self, question: Question) -> AsyncIterator[tuple[Answer, AsyncIterator[str]]]:
        """The head of the answer and its lines as they come; the body of an error is in the head."""
        with _told(self.url):
            response = await self._client.send(self._request(question), stream=True)
        try:
            head = Answer(response.status_code, _lower(response.headers))
            if not response.is_success:
                with _told(self.url):
                    head = dataclasses.replace(head, body=await response.aread())
            yield head, self._lines(response)
        finally:
            await response.aclose()

    async def close(self) -> None:
        await self._client.aclose()

    def _request(self, question: Question) -> httpx2.Request:
        timeout = httpx2.Timeout(question.timeout, connect=_CONNECT)
        try:
            return self._client.build_request(
                question.method, question.path, params=list(question.query) or None, headers=dict(question.headers),
                content=question.body, timeout=timeout,
            )  # fmt: skip
        except (httpx2.InvalidURL, ValueError) as error:
            raise errors.InvalidInput(f"{question.method} {question.path} cannot be sent: {error}") from None

    async def _lines(self, response: httpx2.Response) -> AsyncIterator[str]:
        with _told(self.url):
            async for line in response.aiter_lines():
                yield line


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    """Turns the library's errors into ours."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
        raise NotSent(f"{url} cannot be reached: {_said(error)}; is `weft server` running there?") from error
    except httpx2.TimeoutException as error:
        raise Unreachable(f"{url} has not answered in time") from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise Unreachable(f"{url}: {_said(error)}") from error


def _lower(headers: httpx2.Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
