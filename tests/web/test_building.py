"""Building the UI: what a wheel holds, and what is said where it cannot be built."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "src" / "weft" / "web" / "dist"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The script beside a UI that is only a name, and an npm that does what `npm.sh` says."""
    for folder in ("scripts", "ui/node_modules", "bin", "src/weft/web"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "ui.py", tmp_path / "scripts")
    (tmp_path / "ui" / "package-lock.json").write_text("{}")
    return tmp_path


def run(checkout: Path, what: str, npm: str | None, **environ: str) -> subprocess.CompletedProcess[str]:
    if npm is not None:
        (checkout / "bin" / "npm").write_text(f"#!/bin/sh\necho \"$1\" >> {checkout}/called\n{npm}\n")
        (checkout / "bin" / "npm").chmod(0o755)
    path = f"{checkout / 'bin'}:/usr/bin:/bin" if npm is not None else str(checkout / "bin")
    # -S: without what is installed here, Node's wheel above all
    return subprocess.run(
        [sys.executable, "-S", str(checkout / "scripts" / "ui.py"), what], capture_output=True, text=True, timeout=120,
        env={"PATH": path, **environ}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("what", "said"), [("build", "NOT BUILT"), ("check", "NOT CHECKED"), ("test", "NOT TESTED")])
def test_without_node_or_network_it_is_said_loudly_and_nothing_fails(checkout: Path, what: str, said: str) -> None:
    for npm in (None, "echo 'npm error code ENOTFOUND' >&2; exit 1"):
        done = run(checkout, what, npm)
        assert done.returncode == 0 and f"*** {'THE WEB UI WAS ' if what == 'build' else ''}{said}" in done.stderr
        assert run(checkout, what, npm, WEFT_UI="required").returncode == 1


def test_a_check_that_fails_fails(checkout: Path) -> None:
    assert run(checkout, "check", 'test "$1" != run').returncode == 1
    assert run(checkout, "test", "exit 0").returncode == 0


def test_packages_are_fetched_and_the_bundle_is_built_only_when_something_changed(checkout: Path) -> None:
    dist = checkout / "src" / "weft" / "web" / "dist"
    builds = f'test "$1" != run || {{ mkdir -p {dist}; echo page > {dist}/index.html; }}'
    called = checkout / "called"
    for _ in range(2):
        assert run(checkout, "build", builds).returncode == 0
    assert called.read_text().split() == ["ci", "run"]
    (checkout / "ui" / "main.tsx").write_text("new")
    assert run(checkout, "build", builds).returncode == 0
    assert called.read_text().split() == ["ci", "run", "run"]
    (checkout / "ui" / "package-lock.json").write_text('{"other": 1}')
    assert run(checkout, "build", builds).returncode == 0
    assert called.read_text().split()[3:] == ["ci", "run"]


@pytest.mark.skipif(not (DIST / "index.html").exists(), reason="NOT TESTED: the wheel's UI; it was not built: make ui")
def test_a_wheel_has_the_bundle_and_everything_it_names(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=ROOT, capture_output=True,
        text=True, timeout=500, env={**os.environ, "WEFT_UI": "required"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        page = opened.read("weft/web/dist/index.html").decode()
    named = re.findall(r'(?:src|href)="/([^"]+)"', page)
    assert named and {f"weft/web/dist/{one}" for one in named} <= names
    assert "weft/queue/schema.sql" in names
    assert not [name for name in names if "node_modules" in name or name.startswith(("ui/", "tests/"))]
