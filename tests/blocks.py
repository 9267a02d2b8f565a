"""The fenced blocks of a page, done as a reader would: files written, commands run, what they say compared.

    ```python app.py     written to that file        ```sh               run with bash
    ```yaml dag.yaml     the same
    ```text              must be in what was said    ```sh background    left running; the text is waited for
    ```text background   what that must say by and by
"""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```(\S+)(?: ([^\n]+))?\n(.*?)^```$", re.M | re.S)
PATIENCE = 60.0


@dataclass(frozen=True)
class Block:
    kind: str
    name: str
    text: str


def read(page: Path) -> list[Block]:
    return [Block(kind, name or "", text) for kind, name, text in _BLOCK.findall(page.read_text())]


@dataclass
class Reader:
    """Follows a page in a folder. `replace` changes words everywhere, such as a port that is taken here."""

    folder: Path
    replace: dict[str, str] = field(default_factory=dict)
    said: str = ""
    _running: list[tuple[subprocess.Popen[bytes], Path]] = field(default_factory=list)

    def follow(self, page: Path) -> int:
        """Does all of it; answers how many blocks there were."""
        found = read(page)
        try:
            for block in found:
                self._do(block)
        finally:
            self.close()
        return len(found)

    def close(self) -> None:
        for process, _ in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process, _ in self._running:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
        self._running.clear()

    def _do(self, block: Block) -> None:
        text = block.text
        for old, new in self.replace.items():
            text = text.replace(old, new)
        match block.kind, block.name:
            case "python" | "yaml" | "afl", name if name:
                (self.folder / name).write_text(text)
            case "sh", "background":
                self._start(text)
            case "sh", _:
                self._run(text)
            case "text", "background":
                self.said = ""
                self._compare(text)
            case "text", _:
                self._compare(text)
            case _:
                pass

    def _env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "DATABASE_URL"))}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**kept, "PATH": path, "XDG_CONFIG_HOME": str(self.folder / "config"), "PYTHONUNBUFFERED": "1"}

    def _start(self, text: str) -> None:
        log = self.folder / f"background-{len(self._running)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {text.strip()}"], cwd=self.folder, env=self._env(), stdout=out,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._running.append((process, log))
        self.said = ""

    def _run(self, text: str) -> None:
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=self.folder, env=self._env(), capture_output=True, text=True, timeout=120,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        self.said = done.stdout + done.stderr
        assert done.returncode == 0, f"{text}\n{self.said}"

    def _compare(self, text: str) -> None:
        """Each line, with … for anything, must have been said; of what runs in the background it is waited for."""
        deadline = time.monotonic() + PATIENCE
        while True:
            said = self.said or self._running[-1][1].read_text(errors="replace")
            missing = [line for line in text.splitlines() if not _said(line, said)]
            if not missing:
                return
            waiting = not self.said and self._running and self._running[-1][0].poll() is None
            assert waiting and time.monotonic() < deadline, f"not said: {missing}\nsaid:\n{said}"
            time.sleep(0.05)


def _said(line: str, said: str) -> bool:
    pattern = ".*".join(re.escape(part).replace(r"\ ", r"\s+") for part in line.split("…"))
    return re.search(pattern, said) is not None
