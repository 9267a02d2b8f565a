"""An application in this process: what is left before its end ends too, once, before the client is closed."""

import asyncio

import pytest

from weft.client.client import Client
from weft.net.mounted import Message, Receive, Send

PATIENCE = 30


class Streaming:
    """Sends pieces without end, and takes a while to tidy up."""

    def __init__(self) -> None:
        self.interrupted = 0
        self.tidied = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"1\n", "more_body": True})
        except asyncio.CancelledError:
            self.interrupted += 1
            try:
                for _ in range(100):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.interrupted += 1
                raise
            self.tidied = True
            raise


async def test_a_stream_that_was_left_is_over_when_the_client_is_closed() -> None:
    app = Streaming()
    async with asyncio.timeout(PATIENCE):
        async with Client("http://weft.test", transport=app) as client:
            async for event in client.stream("/pieces"):
                assert event.data == 1
                break
        assert (app.tidied, app.interrupted) == (True, 1)


async def test_two_who_close_it_interrupt_it_once() -> None:
    app = Streaming()
    async with asyncio.timeout(PATIENCE):
        client = Client("http://weft.test", transport=app)
        events = client.stream("/pieces")
        await anext(events)
        await asyncio.gather(events.aclose(), client.close())
    assert (app.tidied, app.interrupted) == (True, 1)


async def test_what_breaks_the_application_is_raised_where_it_is_read() -> None:
    async def broken(scope: Message, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("broken")

    async with Client("http://weft.test", transport=broken, tries=1) as client:
        with pytest.raises(ZeroDivisionError, match="broken"):
            await client.get("/")
