"""The embedded server, with real processes: its life, its users' deaths, and what lies in its way."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from weft.base import errors
from weft.db import embedded, embedded_account, embedded_files, embedded_lifetime
from weft.db.embedded import EmbeddedServer

IS_ROOT = os.geteuid() == 0
USER = """
import sys
from pathlib import Path
from weft.db import embedded
with embedded.start(Path(sys.argv[1])) as server:
    print(server.pid, flush=True)
    sys.stdin.readline()
"""


def commands() -> dict[int, str]:
    listed = subprocess.run(["ps", "-axww", "-o", "pid=,stat=,command="], capture_output=True, text=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return {int(row[0]): row[2] for row in rows if len(row) == 3 and not row[1].startswith("Z")}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited 20 s in vain"
        time.sleep(0.01)


def left_over(project: Path) -> list[int]:
    """Servers, their children and guards of any home in the project."""
    names = []
    for settings in project.rglob("weft.conf"):
        names += re.findall("cluster_name = '(.*)'", settings.read_text())
    return [pid for pid, command in commands().items() if any(sign in command for sign in (str(project), *names))]


def guards(home: Path) -> list[int]:
    return [pid for pid, command in commands().items() if "embedded_lifetime.py" in command and str(home) in command]


def open_files(pid: int) -> list[str]:
    return [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]


def value(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


class UserProcess:
    """Another process that uses the server until told to leave or killed."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def server(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def leave(self) -> None:
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def abandon(folder: Path) -> int:
    """Kill the guard, then the only user; returns the server, which goes on."""
    user = UserProcess(folder)
    pid = user.server()
    for guard in guards(folder / "postgres"):
        os.kill(guard, signal.SIGKILL)
    user.kill()
    return pid


@contextlib.contextmanager
def new_project() -> Iterator[Path]:
    """A folder that others may enter (pytest's own is closed), of which no process may be left in the end."""
    path = Path(tempfile.mkdtemp(prefix="weft-test-")).resolve()
    path.chmod(0o755)
    yield path
    until(lambda: not left_over(path))
    shutil.rmtree(path)


@pytest.fixture
def project() -> Iterator[Path]:
    with new_project() as path:
        yield path


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedServer]:
    with new_project() as path, embedded.start(path / ".weft") as server:
        yield server


@pytest.fixture(scope="module")
def example() -> Iterator[Path]:
    with new_project() as path:
        embedded.start(path / ".weft").release()
        yield path / ".weft"


@pytest.fixture
def folder(project: Path, example: Path) -> Path:
    """A folder that was used before; copied, as making a database takes most of a second."""
    subprocess.run(["cp", "-Rp", example, project], check=True)
    return project / ".weft"


def test_it_has_our_settings(running: EmbeddedServer) -> None:
    expected = {"listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "data_checksums": "on"}
    expected |= {"wal_level": "logical", "server_encoding": "UTF8", "TimeZone": "UTC", "max_connections": "200"}
    expected |= {"autovacuum_naptime": "5s", "max_wal_size": "2GB", "unix_socket_permissions": "0700"}
    assert {name: value(running, f"show {name}") for name in expected} == expected
    assert value(running, "select current_database()") == "weft"
    assert value(running, "select datlocale from pg_database where datname = current_database()") == "C.UTF-8"


def test_nobody_else_can_reach_it(running: EmbeddedServer) -> None:
    for path in (running.home, running.data, running.socket):
        assert path.stat().st_mode & 0o077 == 0
    assert running.socket.parent == running.home
    assert running.data.stat().st_uid != 0


def test_it_hears_nothing_of_our_terminal(running: EmbeddedServer) -> None:
    assert running.pid is not None
    assert os.getsid(running.pid) == os.getpgid(running.pid) == running.pid


def test_the_last_use_stops_the_server_and_the_data_stays(folder: Path) -> None:
    first, second = embedded.start(folder), embedded.start(folder)
    with psycopg.connect(first.url()) as connection:
        connection.execute("create table kept as select 42 as answer")
    first.release()
    first.release()
    assert value(second, "select answer from kept") == 42
    second.release()
    assert second.pid is None
    with embedded.start(folder) as third:
        assert value(third, "select answer from kept") == 42


def test_processes_that_start_at_once_share_one_server(project: Path) -> None:
    folder = project / ".weft"
    users = [UserProcess(folder) for _ in range(4)]
    servers = {user.server() for user in users}
    assert len(servers) == 1
    for user in users:
        assert embedded_lifetime.serving(folder / "postgres" / "data") == min(servers)
        user.leave()
    assert embedded_lifetime.serving(folder / "postgres" / "data") is None
    logged = "".join(file.read_text() for file in (folder / "postgres" / "log").glob("postgres-*.log"))
    assert logged.count("starting PostgreSQL") == 1
    assert not list((folder / "postgres").glob("data.new-*"))


def test_it_outlives_a_killed_starter_and_stops_with_the_next_user(folder: Path) -> None:
    starter = UserProcess(folder)
    pid = starter.server()
    with embedded.start(folder) as server:
        starter.kill()
        assert value(server, "select 1") == 1
        assert server.pid == pid
    assert server.pid is None


def test_the_guard_stops_it_when_all_users_are_killed(folder: Path) -> None:
    users = [UserProcess(folder), UserProcess(folder)]
    assert users[0].server() == users[1].server()
    for user in users:
        user.kill()
    until(lambda: embedded_lifetime.serving(folder / "postgres" / "data") is None)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc to see what the guard does")
def test_the_guard_spares_a_user_that_arrives_while_it_wakes(folder: Path) -> None:
    user = UserProcess(folder)
    pid, home = user.server(), folder / "postgres"
    (guard,) = guards(home)
    with embedded_lifetime.decision(home, patience=20):
        user.kill()
        until(lambda: str(home / "decide.lock") in open_files(guard))
        late = embedded_lifetime.join(home)
    until(lambda: (home / "decide.lock").read_text() == f"{guard}\n")
    with embedded_lifetime.decision(home, patience=20):
        assert embedded_lifetime.serving(home / "data") == pid
    late.leave()
    until(lambda: embedded_lifetime.serving(home / "data") is None)


def test_without_users_and_guard_it_stays_until_the_next_use(folder: Path) -> None:
    pid = abandon(folder)
    with embedded.start(folder) as server:
        assert server.pid == pid
    assert server.pid is None


def test_a_server_without_its_socket_is_replaced(folder: Path) -> None:
    pid = abandon(folder)
    embedded_files.socket_file(folder / "postgres" / "socket").unlink()
    with embedded.start(folder) as server:
        assert server.pid != pid
        assert value(server, "select 1") == 1


def test_a_killed_server_recovers_at_the_next_start_even_with_busy_orphans(folder: Path) -> None:
    with embedded.start(folder) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("create table kept as select 42 as answer")
        busy = psycopg.connect(server.url(), autocommit=True)
        busy.pgconn.send_query(b"do $$ begin loop end loop; end $$")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: server.pid is None)
        with embedded.start(folder) as again:
            assert value(again, "select answer from kept") == 42
        busy.close()


def test_a_recycled_pid_is_not_taken_for_the_server(folder: Path) -> None:
    with embedded.start(folder) as server:
        account = embedded_account.choose(folder, server.home)
    stranger = subprocess.Popen(["sleep", "600"], user=account.uid if account.switched else None)
    try:
        text = f"{stranger.pid}\n{server.data}\n0\n5432\n{server.socket}\n\n0 0\nready\n"
        for path in (server.data / "postmaster.pid", server.socket / ".s.PGSQL.5432.lock"):
            path.write_text(text)
            embedded_account.give(path, account)
        with embedded.start(folder) as server:
            assert value(server, "select 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_initdb_cut_short_leaves_no_half_database(project: Path) -> None:
    folder = project / ".weft"
    user = UserProcess(folder)
    until(lambda: any((folder / "postgres").glob("data.new-*/base")))
    user.kill()
    with embedded.start(folder) as server:
        assert value(server, "select 1") == 1
    assert not list(server.home.glob("data.new-*"))


def test_a_starter_killed_while_it_launches_leaves_one_server_to_find(folder: Path) -> None:
    user = UserProcess(folder)
    until(lambda: embedded_lifetime.occupied(folder / "postgres"))
    user.kill()
    with embedded.start(folder) as server:
        assert value(server, "select 1") == 1
    assert not embedded_lifetime.occupied(server.home)


def test_data_of_another_version_is_refused_with_the_way_out(folder: Path) -> None:
    with embedded.start(folder) as server:
        pass
    (server.data / "PG_VERSION").write_text("16\n")
    with pytest.raises(errors.EmbeddedServerError, match=r"made by PostgreSQL 16.*brings PostgreSQL 18.*pg_dump"):
        embedded.start(folder)


def test_a_server_that_cannot_start_shows_its_log_and_the_fix(folder: Path) -> None:
    with embedded.start(folder) as server:
        pass
    settings = server.data / "postgresql.auto.conf"
    good = settings.read_text()
    settings.write_text("no_such_setting = 1\n")
    with pytest.raises(errors.EmbeddedServerError) as caught:
        embedded.start(folder)
    assert "Delete the setting from" in caught.value.message
    assert 'unrecognized configuration parameter "no_such_setting"' in caught.value.message
    settings.write_text(good)
    with embedded.start(folder) as server:
        assert value(server, "select 1") == 1


def test_a_folder_that_cannot_be_made_is_named(project: Path) -> None:
    (project / "file").write_text("")
    with pytest.raises(errors.EmbeddedServerError, match=r"Cannot keep.*set DATABASE_URL"):
        embedded.start(project / "file" / ".weft")


@pytest.mark.skipif(not IS_ROOT or sys.platform != "linux", reason="mounts a small disk")
def test_a_full_disk_is_named_and_leaves_no_half_database(project: Path) -> None:
    folder = project / ".weft"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder], check=True)
    try:
        with pytest.raises(errors.EmbeddedServerError, match="Free some space"):
            embedded.start(folder)
        assert not list((folder / "postgres").glob("data*"))
        until(lambda: not left_over(folder))
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_deep_folder_has_its_socket_in_a_short_place(project: Path) -> None:
    folder = project / ("deep" * 30) / ".weft"
    with embedded.start(folder) as server:
        assert len(str(server.socket)) < 80
        assert server.socket.stat().st_mode & 0o777 == 0o700
        assert server.socket.stat().st_uid == server.data.stat().st_uid
        assert value(server, "select 1") == 1
        with embedded.start(folder) as again:
            assert again.url() == server.url()
    assert not server.socket.exists()


def test_a_short_place_somebody_else_took_is_not_used(project: Path) -> None:
    folder = project / ("deep" * 30) / ".weft"
    home = embedded_files.open_home(folder)
    taken = Path(tempfile.gettempdir()).resolve() / f"{home.name}-{home.account.uid}"
    taken.mkdir()
    taken.chmod(0o777)
    try:
        with embedded.start(folder) as server:
            assert server.socket != taken
            assert value(server, "select 1") == 1
    finally:
        taken.rmdir()
