"""The documentation is true: what it must name it names, what it links to is there, and the README's example runs."""

import dataclasses
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import psycopg
import pytest

import cli_page
import weft
from weft.app import App
from weft.base import config, errors, json
from weft.cli import main
from weft.cluster import model, pulse
from weft.queue import new
from weft.sdk import task as declarations

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "bench" / "README.md"]


def section(page: Path, title: str) -> str:
    """The text under a heading, up to the next one of its kind or above."""
    found = re.search(rf"^(#+) {re.escape(title)}$\n(.*?)(?=^#{{1,2}} |^### weft|\Z)", page.read_text(), re.M | re.S)
    assert found, f"{page.name} has no section {title!r}"
    return found[2]


COMMANDS = {" ".join(names): command for names, command in cli_page.commands(main.weft, "weft")}


def test_every_setting_is_described_with_its_variable() -> None:
    rows = {row.split("|")[2].strip(" `"): row for row in (REFERENCE / "settings.md").read_text().splitlines() if "|" in row}
    read = re.findall(r'"(WEFT_\w+|DATABASE_URL)"', inspect.getsource(config.load))
    for field in dataclasses.fields(config.Settings):
        assert field.name in rows, f"describe {field.name} in docs/reference/settings.md"
        assert rows[field.name].count("`") >= 4
    for variable in read:
        assert f"`{variable}`" in (REFERENCE / "settings.md").read_text(), variable


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "weft"])
def test_every_command_and_option_is_described(name: str) -> None:
    described = section(REFERENCE / "cli.md", name)
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden and parameter.name != "help":
            for word in parameter.opts:
                assert f"`{word}" in described, f"describe {word} of {name} in docs/reference/cli.md"


def test_the_page_of_the_command_line_is_what_the_commands_say() -> None:
    assert cli_page.PAGE.read_text() == cli_page.render(), "run: .venv/bin/python tests/cli_page.py"


def test_every_promise_names_a_test_that_is_there() -> None:
    promises = re.findall(r"^\| (.+) \| `(tests/[\w/]+\.py)::(test_\w+)` \|$", (ROOT / "GUARANTEES.md").read_text(), re.M)
    rows = [line for line in (ROOT / "GUARANTEES.md").read_text().splitlines() if line.startswith("| ")]
    assert len(promises) == len([row for row in rows if "promise | proof" not in row]) > 25
    for promise, file, name in promises:
        assert re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.M), promise


def test_no_option_is_described_that_is_not_there() -> None:
    known = {word for command in COMMANDS.values() for one in command.params for word in one.opts}
    for page in PAGES:
        for line in page.read_text().splitlines():
            if "weft " in line and "pip" not in line and "git" not in line:
                for command in re.findall(rf"weft (?:{'|'.join(main.COMMANDS)})\b[^`|]*", line):
                    for word in re.findall(r"(?<!\S)--[a-z-]+", command):
                        assert word in known | {"--help"}, f"{page.name}: {line}"


def test_every_public_name_is_described() -> None:
    text = (REFERENCE / "python.md").read_text()
    for name in weft.__all__:
        assert re.search(rf"\b{name}\b", text), f"describe weft.{name} in docs/reference/python.md"
    for name, _member in inspect.getmembers(App, inspect.isfunction):
        assert name.startswith("_") or f"app.{name}" in text, f"describe App.{name}"
    for option in [*new.Options.__annotations__, *(one.name for one in dataclasses.fields(declarations.Options))]:
        assert f"`{option}`" in text, option


def test_every_error_is_described_with_its_code() -> None:
    rows = section(REFERENCE / "python.md", "Errors")
    for name in weft.__all__:
        found = getattr(weft, name)
        if isinstance(found, type) and issubclass(found, errors.WeftError):
            assert f"| `{name}` | `{found.code}` |" in rows, name


def test_every_sql_function_for_users_is_described_with_its_arguments(database_url: str) -> None:
    page = REFERENCE / "sql.md"
    with psycopg.connect(database_url) as connection:
        functions = connection.execute("""
            select p.proname, p.proargnames
            from pg_proc as p, aclexplode(p.proacl) as a
            where p.pronamespace = 'weft'::regnamespace and a.grantee = 'weft_tenant'::regrole""").fetchall()
    assert {name for name, _ in functions} >= {"enqueue", "enqueue_many", "cancel"}
    shared = section(page, "weft.enqueue")
    for name, arguments in functions:
        described = section(page, f"weft.{name}") + (shared if name == "try_enqueue" else "")
        for argument in arguments or ():
            assert f"`{argument}`" in described, f"describe {argument} of weft.{name}"


def test_every_table_users_can_read_is_described(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        tables = connection.execute("""
            select c.relname
            from pg_class as c
            where c.relnamespace = 'weft'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
                and has_table_privilege('weft_tenant', c.oid, 'select')""").fetchall()
    described = section(REFERENCE / "sql.md", "What you can read")
    for (name,) in tables:
        assert f"`weft.{name}`" in described, f"describe weft.{name} in docs/reference/sql.md"


def test_the_sql_of_the_docs_runs(database_url: str) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    lines = [line.strip() for line in (REFERENCE / "sql.md").read_text().splitlines() if line.startswith("    select")]
    assert blocks and lines
    with psycopg.connect(database_url) as connection:
        connection.execute("create table orders (id integer generated always as identity, customer text)")
        # something to start
        connection.execute(
            "insert into weft.plans values ('00000000-0000-7000-8000-000000000001', repeat('a', 64), '{}', 0)"
        )
        connection.execute("""
            with made as (
                insert into weft.definitions (org_id, kind, name, version)
                values ('00000000-0000-7000-8000-000000000001', 'dag', 'nightly', 'v')
                returning id, org_id
            )
            insert into weft.definition_versions (definition_id, org_id, version, number, plan_hash)
            select id, org_id, 'v', 1, repeat('a', 64) from made""")
        connection.commit()
        for statement in [*blocks, *lines]:
            connection.execute(statement)
        kinds = connection.execute("select distinct kind from weft.tasks order by 1").fetchall()
    assert kinds == [("invoice",), ("ping",), ("report",), ("send_email",)]


def test_the_numbers_of_the_docs_are_the_codes() -> None:
    lease = (ROOT / "docs" / "concepts" / "lease.md").read_text()
    assert ("every 2.5 seconds" in lease, "ten seconds" in lease) == (
        pulse.EVERY.total_seconds() == 2.5, model.LEASE.total_seconds() == 10,
    )  # fmt: skip
    task = (ROOT / "docs" / "concepts" / "task.md").read_text()
    assert f"{json.MAX_BYTES // 1024} KiB of JSON and {json.MAX_DEPTH} levels" in task


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_files_the_architecture_names_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in set(re.findall(r"`([a-z]+/\w+\.(?:py|sql))`", text)) | {"app.py"}:
        assert (ROOT / "src" / "weft" / path).exists(), path
    folders = (item for item in (ROOT / "src" / "weft").iterdir() if item.is_dir() and item.name != "__pycache__")
    here = {folder.name for folder in folders if any(folder.rglob("*.*"))}
    told, _, later = text.partition("## What is not here yet")
    for name in here:
        assert f"| `{name}/` |" in told, f"tell of {name}/ in ARCHITECTURE.md"
        assert f"`{name}/`" not in later.replace("(in `access/`)", ""), f"{name}/ is here now"


def test_the_readmes_example_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    folder = Path(tempfile.mkdtemp(prefix="weft-readme-"))
    folder.chmod(0o755)  # as root the server runs under another account, which must get in
    try:
        (folder / "app.py").write_text(program)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DATABASE_URL", "WEFT_"))}
        done = subprocess.run(
            [sys.executable, "app.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=60
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert (done.returncode, done.stdout) == (0, "sent to ada@example.com\n"), done.stderr
