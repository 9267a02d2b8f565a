"""A server that recovers is waited for, but not for ever."""

import contextlib
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.base import errors
from weft.db import embedded_files, embedded_process

NOT_YET = b"SFATAL\0C57P03\0Mthe database system is starting up\0\0"


@contextlib.contextmanager
def always_starting(folder: Path) -> Iterator[None]:
    """Answers everybody as a server in recovery does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(folder / f".s.PGSQL.{embedded_files.PORT}"))
        listening.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    caller, _ = listening.accept()
                    with caller:
                        caller.recv(1000)
                        caller.sendall(b"E" + (len(NOT_YET) + 4).to_bytes(4, "big") + NOT_YET)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join(10)


def test_a_server_that_recovers_for_ever_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_process, "RECOVERY_SECONDS", 0.1)
    with tempfile.TemporaryDirectory(prefix="weft-recovering-") as name, always_starting(Path(name)):
        home = embedded_files.open_home(Path(name) / "project")
        with pytest.raises(errors.EmbeddedServerError, match="recovering"):
            embedded_process.await_answer(home, socket=Path(name), ended=lambda: False)
