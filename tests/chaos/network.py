"""A network of its own for a process, which can be taken away: a namespace and a cable (veth) to it."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

# each process its own: tests run side by side
_PLACE = f"10.{200 + os.getpid() // 256 % 50}.{os.getpid() % 256}"
RANGE = f"{_PLACE}.0/30"
HERE, THERE = f"{_PLACE}.1", f"{_PLACE}.2"


class Cable:
    """From here into the namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inside = ("ip", "netns", "exec", name)
        """What starts a process at the other end."""

    def cut(self) -> None:
        """Nothing comes through, and nobody is told."""
        _run("ip", "link", "set", self.name, "down")

    def mend(self) -> None:
        _run("ip", "link", "set", self.name, "up")


@contextlib.contextmanager
def cable() -> Iterator[Cable]:
    name = f"weft{os.getpid()}"
    other = f"{name}p"
    _run("ip", "netns", "add", name)
    try:
        _run("ip", "link", "add", name, "type", "veth", "peer", "name", other)
        _run("ip", "link", "set", other, "netns", name)
        _run("ip", "addr", "add", f"{HERE}/30", "dev", name)
        _run("ip", "link", "set", name, "up")
        _run("ip", "-n", name, "addr", "add", f"{THERE}/30", "dev", other)
        _run("ip", "-n", name, "link", "set", other, "up")
        _run("ip", "-n", name, "link", "set", "lo", "up")
        yield Cable(name)
    finally:
        subprocess.run(["ip", "link", "del", name], capture_output=True)
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


def why_not() -> str | None:
    """Why a test cannot have one; None: it can."""
    if shutil.which("ip") is None:
        return "there is no `ip` (apt-get install iproute2)"
    if os.getuid() != 0:
        return "network namespaces need root"
    try:
        with cable():
            return None
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not allowed here: {error.stderr.strip()}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
