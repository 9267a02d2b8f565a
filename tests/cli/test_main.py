"""The command itself: help, exit codes, and how little it imports."""

import ast
import importlib
import os
import subprocess
import sys

import cli_process
import click
import pytest

import cli_page
from weft.cli import main

HEAVY = ("weft.app", "weft.client", "psycopg", "rich", "asyncio", "msgspec", "uvloop", "httpx2", "starlette")
OURS = {"weft", "weft.base", "weft.base.importing", "weft.base.plain", "weft.base.errors", "weft.cli", "weft.cli.main"}
"""All of Weft that `weft --help` may import: what it takes to start is counted in modules, not in time."""


EVERY = {(): main.weft, **dict(cli_page.commands(main.weft))}


@pytest.mark.parametrize("names", EVERY, ids=lambda names: " ".join(names) or "weft")
def test_every_command_has_help_with_an_example(names: tuple[str, ...]) -> None:
    command = EVERY[names]
    with click.Context(command, info_name="weft") as context:
        text = command.get_help(context)
    assert command.help
    if not isinstance(command, click.Group):
        assert f"weft {' '.join(names)}" in text.partition("Example")[2]
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.hidden or parameter.help, parameter.name


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_line_in_the_help_is_the_commands_own(name: str) -> None:
    module, _, attribute = main.COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert command.name == name
    assert (command.help or "").startswith(main.COMMANDS[name][1].rstrip("."))


def test_help_imports_nothing_heavy() -> None:
    program = f"""
import sys
from weft.cli import main
try:
    main.weft(['--help'])
except SystemExit as ended:
    assert ended.code == 0
print([name for name in {HEAVY!r} if name in sys.modules])
print(sorted(name for name in sys.modules if name.partition('.')[0] == 'weft'))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    heavy, ours = done.stdout.splitlines()[-2:]
    assert heavy == "[]"
    assert set(ast.literal_eval(ours)) <= OURS


TALKERS = ("tasks", "explain", "enqueue", "dead", "queues", "nodes", "locks", "key")


@pytest.mark.parametrize("arguments", [*([name, "--help"] for name in TALKERS), ["completion", "bash"], ["profile", "list"]])
def test_commands_that_talk_to_a_server_do_not_import_the_engine(arguments: list[str]) -> None:
    program = f"""
import sys
from weft.cli import main
try:
    main.weft({arguments!r})
except SystemExit as ended:
    assert not ended.code
print([name for name in ("weft.app", "weft.api", "psycopg", "starlette", "uvicorn") if name in sys.modules])
"""
    env = {**os.environ, "XDG_CONFIG_HOME": "/nonexistent/weft-tests"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30, env=env)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_command_on_the_local_database_imports_its_own_area_of_the_api(database_url: str) -> None:
    program = """
import sys
from weft.cli import main
try:
    main.weft(["queues", "list"])
except SystemExit as ended:
    assert not ended.code
print([name for name in sys.modules if name in ("weft.app", "weft.afl.compiling", "weft.contrib.aiopslab.application")])
print([name for name in ("queues", "dags", "jobs", "flows", "worker_protocol") if f"weft.api.{name}" in sys.modules])
"""
    env = {**os.environ, "XDG_CONFIG_HOME": "/nonexistent/weft-tests", "DATABASE_URL": database_url}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30, env=env)
    assert done.stdout.splitlines()[-2:] == ["[]", "['queues']"]


@pytest.mark.parametrize("name", [name for name in main.COMMANDS if name not in TALKERS])
async def test_every_other_command_needs_nothing_that_only_others_import(name: str) -> None:
    """The tests of commands fork from a process that has imported all of them (nursery.py)."""
    ended, said = await cli_process.run(name, "--help", anew=True)
    assert (ended, said.startswith(f"Usage: weft {name} ")) == (0, True), said


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--help",), 0, "Commands:"),
        (("--version",), 0, "weft "),
        (("nonsense",), 2, "No such command"),
        (("worker",), 2, "MODULE:APP"),
        (("worker", "no_such_module:app"), 2, "there is no module 'no_such_module'"),
        (("worker", "json:loads"), 2, "is not a weft.App"),
        (("worker", "json:app"), 2, "json has no 'app'"),
        (("worker", "json:loads", "-c", "0"), 2, "not in the range"),
        (("enqueue", "hello", "[1]"), 2, "no JSON object"),
        (("enqueue", "hello", "{"), 2, "no JSON object"),
        (("dead", "redrive"), 2, "--all"),
        (("dead", "discard", "x"), 2, "is not a task id"),
    ],
)
async def test_exit_codes_say_who_must_act(arguments: tuple[str, ...], code: int, words: str) -> None:
    ended, said = await cli_process.run(*arguments)
    assert (ended, words in said, "Traceback" in said) == (code, True, False), said


@pytest.mark.parametrize("arguments", [("migrate", "status"), ("dead", "list"), ("enqueue", "hello")])
async def test_a_database_that_is_away_is_one_line(arguments: tuple[str, ...]) -> None:
    ended, said = await cli_process.run(*arguments, env={"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    assert ended == 1
    assert said.startswith("weft: ") and len(said.splitlines()) == 1


async def test_a_wrong_setting_is_one_line() -> None:
    ended, said = await cli_process.run("migrate", "status", env={"WEFT_POOL_SIZE": "many"})
    assert (ended, said) == (2, "weft: WEFT_POOL_SIZE='many' must be a whole number of at least 1\n")
