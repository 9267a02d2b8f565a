"""Bad input to every command: a message that says what to do, exit code 2, nothing stored."""

import re
from collections.abc import Iterator

import click
import psycopg
import pytest
import shell
from click.testing import CliRunner
from shell import Shell
from test_main import EVERY

import fresh_database
from weft.cli import main

ID = "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"

DEEP = '{"a":' * 2000 + "1" + "}" * 2000

BAD: dict[tuple[str, ...], list[tuple[tuple[str, ...], str]]] = {
    ("aiopslab", "submit"): [
        ((), "Missing argument"),
        ((" ",), "problem_id"),
        (("x", "--max-steps", "0"), "not in the range"),
        (("x", "--timeout", "181"), "not in the range"),
        (("x", "--priority", "11"), "not in the range"),
        (("x", "--metadata", "[]"), "no JSON object"),
        (("x", "--agent-config", "{"), "is not JSON"),
        (("x", "--callback", "nowhere"), "callback_url"),
    ],
    ("aiopslab", "list"): [(("--limit", "101"), "not in the range"), (("--sort", "name"), "sort")],
    ("aiopslab", "show"): [((), "Missing argument"), (("x",), "is not a task id")],
    ("aiopslab", "logs"): [(("x",), "is not a task id"), ((ID, "--level", "loud"), "is not one of")],
    ("aiopslab", "cancel"): [(("x",), "is not a task id")],
    ("aiopslab", "workers"): [(("--status", "lazy"), "is not one of")],
    ("aiopslab", "stats"): [(("extra",), "unexpected extra argument")],
    ("aiopslab", "serve"): [(("--port", "99999"), "not in the range")],
    ("aiopslab", "worker"): [
        ((), "--id"),
        (("--id", "worker-1-kind"), "write worker-001-kind"),
        (("--id", "worker-٠٠١-kind"), "write worker-001-kind"),
        (("--id", "worker-001-kind", "--executor", "magic"), "there is no executor 'magic'"),
        (("--id", "worker-001-kind", "--agent", "gpt"), "is not NAME=module:Class"),
    ],
    ("afl", "check"): [
        ((), "Missing argument"),
        (("/nowhere.afl",), "cannot read /nowhere.afl"),
        (("/dev/null", "--format", "xml"), "is not one of"),
    ],
    ("afl", "compile"): [((), "Missing argument"), (("/dev/null", "--workflow", "W"), "there is none")],
    ("afl", "fmt"): [((), "Missing argument"), (("/nowhere.afl",), "cannot read")],
    ("afl", "graph"): [(("/dev/null",), "there is no workflow"), (("/dev/null", "--format", "xml"), "is not one of")],
    ("afl", "handlers"): [
        ((), "name the program's FILES"),
        (("/dev/null", "--flow", "x"), "name the program's FILES"),
        (("/nowhere.afl",), "cannot read"),
    ],
    ("agent", "run"): [((), "Missing argument"), (("no_such_module",), "there is no module"), (("os",), "os has no agent")],
    ("agent", "handlers"): [((), "Missing argument"), (("no_such_module",), "there is no module")],
    ("runner", "list"): [(("--limit", "0"), "not in the range"), (("--state", "asleep"), "is not one of")],
    ("runner", "start"): [((), "Missing argument"), (("x", "W", "{"), "is not JSON")],
    ("runner", "show"): [(("x",), "is not a run id")],
    ("runner", "explain"): [(("x",), "is not a run id")],
    ("runner", "pause"): [(("x",), "is not a run id")],
    ("runner", "resume"): [(("x",), "is not a run id")],
    ("runner", "cancel"): [(("x",), "is not a run id")],
    ("runner", "repair"): [(("x",), "is not a run id")],
    ("runner", "retry"): [((ID,), "Missing argument"), ((ID, "x"), "is not a step id")],
    ("runner", "rerun"): [((ID, "x"), "is not a step id")],
    ("runner", "reset"): [((ID, "x"), "is not a step id")],
    ("runner", "mark"): [((ID, "x", "completed"), "is not a step id"), ((ID, ID, "done"), "is not one of")],
    ("afl", "lsp"): [(("extra",), "unexpected extra argument")],
    ("afl", "run"): [
        ((), "Missing argument"),
        (("/dev/null",), "there is no workflow in this program"),
        (("/dev/null", "--params", "{"), "--params is no JSON"),
        (("/dev/null", "--params", "[]"), "must be a JSON object"),
        (("/dev/null", "-p", "x"), "is not NAME=VALUE"),
        (("/dev/null", "--params", DEEP), "--params is nested deeper than 64 levels"),
        (("/dev/null", "-p", f"x={DEEP}"), "-p x is nested deeper than 64 levels"),
    ],
    ("afl", "submit"): [((), "Missing argument"), (("/nowhere.afl",), "cannot read"), (("/dev/null",), "no workflow")],
    ("audit", "list"): [(("--limit", "0"), "not in the range"), (("--since", "soon"), "is not a time")],
    ("audit", "verify"): [(("--head", "x"), "head")],
    ("bench",): [(("--tasks", "1"), "not in the range"), (("--seconds", "x"), "not a valid float")],
    ("completion",): [((), "Missing argument"), (("powershell",), "is not one of")],
    ("cron", "preview"): [
        ((), "Missing argument"),
        (("61 * * * *",), "position 1: minute 61 is not 0 to 59"),
        (("@daily", "--tz", "Europe/Berlim"), "did you mean 'Europe/Berlin'"),
        (("@daily", "--count", "0"), "not in the range"),
        (("@daily", "--from", "soon"), "is not a time"),
        (("@daily", "--from", "9999-01-01"), "too far away"),
    ],
    ("dag", "validate"): [((), "Missing argument"), (("/nowhere.yaml",), "cannot read /nowhere.yaml")],
    ("dag", "create"): [(("/nowhere.yaml",), "cannot read"), (("/dev/null",), "a DAG is a map with a name and tasks")],
    ("dag", "list"): [(("--limit", "0"), "not in the range")],
    ("dag", "trigger"): [
        ((), "Missing argument"),
        (("d", "-p", "x"), "is not NAME=VALUE"),
        (("d", "-p", f"x={DEEP}"), "-p x is nested deeper than 64 levels"),
        (("d", "--params", DEEP), "--params is nested deeper than 64 levels"),
        (("d", "--params", "[1]"), "no JSON object"),
        (("d", "--params", "{"), "is not JSON"),
        (("d", "--at", "soon"), "--at 'soon' is not a time"),
        (("d", "--at", "0001-01-01"), "is not a time"),
        (("d", "--timeout", "soon"), "is not a duration"),
        (("d", "--priority", "101"), "not in the range"),
    ],
    ("dag", "runs"): [(("d", "--status", "sad"), "is not one of")],
    ("dag", "show"): [(("x",), "is not a run id")],
    ("dag", "explain"): [(("x",), "is not a run id")],
    ("dag", "rerun"): [(("x",), "is not a run id")],
    ("dag", "clear"): [((ID,), "Missing argument"), (("x", "a"), "is not a run id")],
    ("dag", "mark"): [((ID, "a", "sad"), "is not one of"), ((ID, "a", "FAILED", "--output", "{"), "is not JSON")],
    ("dag", "cancel"): [(("x",), "is not a run id")],
    ("dag", "pause-run"): [(("x",), "is not a run id")],
    ("dag", "resume-run"): [(("x",), "is not a run id")],
    ("dag", "pause"): [((), "Missing argument")],
    ("dag", "resume"): [((), "Missing argument")],
    ("dag", "delete"): [((), "Missing argument")],
    ("dag", "versions"): [((), "Missing argument")],
    ("dag", "graph"): [(("/nowhere.yaml",), "cannot read"), (("/dev/null",), "a DAG is a map with a name and tasks")],
    ("deploy", "check"): [((), "Missing argument"), (("nothing:app",), "there is no module 'nothing'")],
    ("run", "list"): [(("--state", "x"), "is not one of"), (("--limit", "0"), "not in the range")],
    ("run", "show"): [(("x",), "is not a run id")],
    ("run", "state"): [(("x",), "is not a run id")],
    ("run", "wait"): [(("x",), "is not a run id"), ((ID, "--for", "sad"), "is not one of")],
    ("run", "update"): [(("x", "a"), "is not a run id"), ((ID, "a", "b"), "is not JSON")],
    ("run", "signal"): [
        (("x", "a"), "is not a run id"), ((ID, "a", "b"), "is not JSON"), ((ID, "a", DEEP), "nested deeper than 64 levels"),
    ],
    ("run", "cancel"): [(("x",), "is not a run id")],
    ("run", "pause"): [(("x",), "is not a run id")],
    ("run", "resume"): [(("x",), "is not a run id")],
    ("run", "explain"): [(("x",), "is not a run id")],
    ("run", "repair"): [(("x",), "is not a run id")],
    ("run", "retry"): [(("x",), "is not a run id")],
    ("run", "skip"): [(("x", "a#1"), "is not a run id"), ((ID, "a#1", "b"), "is not JSON")],
    ("run", "fork"): [(("x",), "is not a run id"), ((ID, "--output", "a"), "must be STEP=JSON")],
    ("run", "diff"): [((ID,), "Missing argument"), ((ID, "x"), "is not a run id")],
    ("workflow", "list"): [(("--limit", "0"), "not in the range")],
    ("workflow", "start"): [(("checkout", "x"), "is not JSON")],
    ("workflow", "replay"): [(("nothing:app", ID), "there is no module"), (("nothing:app", "x"), "is not a run id")],
    ("dead", "list"): [
        (("--limit", "0"), "not in the range"),
        (("--since", "soon"), "is not a time"),
        (("--kind", "a\nb"), "kind"),
        (("extra",), "unexpected extra argument"),
    ],
    ("dead", "redrive"): [
        ((), "--all"),
        (("x",), "is not a task id"),
        ((ID, "--all"), "--all"),
        ((ID, "--kind", "a"), "--kind"),
        (("--all", "--since", "soon"), "is not a time"),
    ],
    ("dead", "discard"): [((), "--all"), (("x",), "is not a task id"), (("--all", "--error", "a\nb"), "error_type")],
    ("demo", "crash"): [(("extra",), "unexpected extra argument")],
    ("dev",): [
        (("nothing:app",), "there is no module 'nothing'"),
        (("--port", "99999"), "not in the range"),
        (("json:loads",), "is not a weft.App"),
    ],
    ("doctor",): [(("extra",), "unexpected extra argument")],
    ("enqueue",): [
        ((), "Missing argument"),
        (("mail", "[1]"), "no JSON object"),
        (("mail", "{"), "no JSON object"),
        (("mail", '{"a": NaN}'), "no JSON object"),
        (("mail", '{"a": "\\u0000"}'), "NUL"),
        (("mail", '{"a":' * 999 + "{}" + "}" * 999), "the payload is nested deeper than 64 levels; flatten it"),
        (("mail", '{"a": "' + "x" * 300 * 1024 + '"}'), "the limit is 262,144; store the data elsewhere"),
        (("mail", "--priority", "-1"), "not in the range"),
        (("mail", "--queue", "a+b", "--no-check"), "use letters, digits, spaces inside, and any of _ . : / - (at queue)"),
        (("mail", "{}", "--delay", "soon"), "is not a duration"),
        (("mail", "--priority", "101"), "not in the range"),
        (("mail", "--within", "5s"), "--wait"),
        (("mail", "{}", "--file", "/dev/null"), "leave out JSON"),
        (("mail", "--file", "/nowhere"), "No such file"),
        (("mail\n", "--no-check"), "kind"),
        (("mail", "--queue", "\x07", "--no-check"), "queue"),
        (("mail", "--app", "nothing:app"), "there is no module"),
        (("nobody_knows",), "start its worker, or add --no-check to enqueue all the same"),
        (("mail", "--delay", "-5s"), "is not a duration"),
        (("mail", "--no-check", "--delay", "4000d"), "delay"),
    ],
    ("explain",): [((), "Missing argument"), (("x",), "is not a task id")],
    ("hosts", "allow"): [((), "Missing argument"), (("http://x",), "allow-list entry")],
    ("hosts", "forbid"): [((), "Missing argument")],
    ("hosts", "list"): [(("extra",), "unexpected extra argument")],
    ("key", "create"): [
        ((), "Missing argument"),
        (("a", "--role", "king"), "is not one of"),
        (("a", "--role", "reader", "--expires", "x"), "is not a duration"),
        (("a\n", "--role", "reader"), "name"),
        (("a", "--role", "reader", "--scope", "task"), "there is no action 'task'"),
        (("a", "--role", "reader", "--scope", "task.destroy"), "there is no action 'task.destroy'"),
        (("a", "--role", "reader", "--request-rate", "0"), "not in the range"),
    ],
    ("key", "list"): [(("extra",), "unexpected extra argument")],
    ("key", "revoke"): [(("x",), "is not a valid UUID")],
    ("live",): [
        ((), "Missing argument"),
        (("counts", "x"), "is not NAME=VALUE"),
        (("counts", "x=1"), "args of 'counts'"),
        (("counts", "--times", "0"), "not in the range"),
    ],
    ("login",): [
        ((), "Missing argument"),
        (("http://x",), "no key was given"),
        (("nowhere", "--key", "weft_k"), "https://"),
        (("http://x", "--key", "weft_k", "--profile", "local"), "cannot name a profile"),
    ],
    ("jobs", "list"): [(("--status", "GONE"), "is not one of"), (("--limit", "0"), "not in the range")],
    ("jobs", "create"): [
        ((), "Missing argument"),
        (("a", "--task", "t"), "say when"),
        (("a", "--cron", "@daily"), "say what to do"),
        (("a", "--cron", "@daily", "--delay", "1h", "--task", "t"), "say when"),
        (("a", "--cron", "61 * * * *", "--task", "t"), "position 1: minute 61"),
        (("a", "--cron", "@daily", "--tz", "Europe/Berlim", "--task", "t"), "did you mean 'Europe/Berlin'"),
        (("a", "--at", "soon", "--task", "t"), "is not a time"),
        (("a", "--delay", "soon", "--task", "t"), "is not a duration"),
        (("a", "--delay", "1h", "--payload", "[1]"), "no JSON object"),
        (("a", "--delay", "1h", "--payload", '{"what": 1}'), "a payload has one of"),
        (("a\nb", "--delay", "1h", "--task", "t"), "name"),
        (("a", "--delay", "1h", "--payload", "{}", "--args", "{}"), "--args goes with --task"),
    ],
    ("jobs", "show"): [((), "Missing argument")],
    ("jobs", "update"): [
        (("a",), "say what to change"),
        (("a", "--payload", "x"), "is not JSON"),
        (("a", "--cron", "@daily", "--delay", "1h"), "say when"),
        (("a", "--start", "soon"), "--start 'soon' is not a time"),
    ],
    ("jobs", "backfills"): [((), "Missing argument"), (("a", "--limit", "0"), "not in the range")],
    ("jobs", "cancel-backfill"): [(("x",), "is not a backfill id")],
    ("jobs", "pause"): [((), "Missing argument")],
    ("jobs", "resume"): [((), "Missing argument")],
    ("jobs", "trigger"): [((), "Missing argument"), (("a", "--payload", "[]"), "no JSON object")],
    ("jobs", "delete"): [((), "Missing argument")],
    ("jobs", "preview"): [(("a", "--count", "0"), "not in the range")],
    ("jobs", "executions"): [(("a", "--status", "GONE"), "is not one of")],
    ("jobs", "execution"): [(("x",), "is not a task id")],
    ("jobs", "logs"): [(("x",), "is not a task id")],
    ("jobs", "cancel"): [(("x",), "is not a task id")],
    ("jobs", "backfill"): [
        (("a",), "Missing option"),
        (("a", "--from", "soon", "--to", "1d"), "is not a time"),
        (("a", "--from", "2d", "--to", "1d", "--max-active", "0"), "not in the range"),
    ],
    ("locks", "list"): [(("--limit", "x"), "not a valid integer")],
    ("locks", "show"): [((), "Missing argument"), (("a\nb",), "name")],
    ("locks", "release"): [
        (("a",), "--force"),
        (("a", "--token", "x"), "is not a valid UUID"),
        (("a", "--token", ID, "--force"), "--force"),
    ],
    ("migrate", "up"): [(("extra",), "unexpected extra argument")],
    ("migrate", "down"): [(("--steps", "0"), "not in the range")],
    ("migrate", "status"): [(("extra",), "unexpected extra argument")],
    ("migrate", "sql"): [(("extra",), "unexpected extra argument")],
    ("nodes", "list"): [(("--status", "asleep"), "is not one of"), (("--every", "0"), "not in the range")],
    ("nodes", "show"): [(("x",), "is not a node id")],
    ("nodes", "drain"): [((), "Missing argument"), (("x",), "is not a node id")],
    ("org", "list"): [(("--limit", "0"), "not in the range")],
    ("org", "show"): [((), "Missing argument")],
    ("org", "create"): [
        ((), "Missing argument"),
        (("Shop",), "slug"),
        (("shop", "--tier", "gold"), "is not one of"),
        (("shop", "--max-concurrent", "-1"), "neither a whole number"),
        (("shop", "--weight", "none"), "weight"),
        (("shop", "--settings", "[]"), "JSON object"),
        (("shop", "--retention", "soon"), "is not a duration"),
    ],
    ("org", "change"): [(("default",), "say what to change"), (("default", "--max-jobs", "x"), "neither a whole number")],
    ("profile", "add"): [
        (("local", "--server", "http://x"), "cannot name a profile"),
        (("a",), "Missing option"),
        (("a", "--server", "nowhere"), "https://"),
        (("a", "--server", "http://x", "--key", "a\x07b"), "authorization"),
    ],
    ("profile", "list"): [(("extra",), "unexpected extra argument")],
    ("profile", "use"): [(("nobody",), "there is no profile 'nobody'")],
    ("profile", "remove"): [((), "Missing argument")],
    ("queues", "list"): [(("--limit", "0"), "not in the range")],
    ("queues", "show"): [((), "Missing argument"), (("a\nb",), "queue")],
    ("queues", "pause"): [((), "Missing argument"), (("a\nb",), "queue")],
    ("queues", "resume"): [((), "Missing argument"), (("a\nb",), "queue")],
    ("queues", "limit"): [
        (("a",), "say what to limit"),
        (("a", "--rate", "many"), "is not a whole number"),
        (("a", "--rate", "5/soon"), "is not a duration"),
        (("a", "--burst", "5"), "--rate"),
        (("a", "--max-running", "-1"), "is not a whole number"),
        (("a", "--rate", "0/1s"), "limit"),
    ],
    ("secret", "delete"): [((), "Missing argument"), (("a b",), "name")],
    ("secret", "keygen"): [(("extra",), "unexpected extra argument")],
    ("secret", "list"): [(("extra",), "unexpected extra argument")],
    ("secret", "rotate"): [(("extra",), "unexpected extra argument"), ((), "WEFT_SECRET_KEY_FILE")],
    ("secret", "set"): [((), "Missing argument"), (("A",), "value"), (("A", "hunter2hunter2"), "unexpected extra argument")],
    ("role", "list"): [(("--limit", "0"), "not in the range")],
    ("role", "show"): [((), "Missing argument")],
    ("role", "create"): [((), "Missing argument"), (("Finance",), "slug"), (("a", "--name", "b\n"), "name")],
    ("role", "remove"): [((), "Missing argument")],
    ("role", "assign"): [(("finance",), "Missing argument"), (("finance", "ada"), "neither an email nor the id")],
    ("role", "unassign"): [(("finance",), "Missing argument"), (("finance", "ada"), "neither an email nor the id")],
    ("server",): [(("--port", "x"), "not a valid integer"), (("--host", "300.1.2.3", "--port", "0"), "refusing to listen"),
                  (("nothing:app",), "there is no module")],
    ("tasks", "list"): [
        (("--state", "asleep"), "is not one of"),
        (("--since", "soon"), "is not a time"),
        (("--tag", "a\nb"), "tag"),
        (("--server", "nowhere"), "https://"),
        (("--key", "weft_k"), "--key needs --server"),
        (("--org", "nobody"), "there is no org"),
        (("--profile", "nobody"), "there is no profile"),
    ],
    ("tasks", "show"): [
        ((), "Missing argument"),
        (("x",), "is not a task id"),
        ((ID, "--server", "http://x", "--org", "a"), "org"),
    ],
    ("tasks", "logs"): [(("x",), "is not a task id")],
    ("tasks", "cancel"): [((), "Missing argument"), (("x",), "is not a task id"), ((ID, "x"), "is not a task id")],
    ("tasks", "redrive"): [((), "Missing argument"), (("x",), "is not a task id")],
    ("up",): [((), "Missing argument"), (("nothing:app",), "there is no module 'nothing'")],
    ("user", "list"): [(("--limit", "0"), "not in the range")],
    ("user", "show"): [((), "Missing argument"), (("ada",), "neither an email nor the id")],
    ("user", "create"): [
        ((), "Missing argument"),
        (("a", "--role", "king"), "is not one of"),
        (("a\n", "--role", "reader"), "external_id"),
        (("a", "--role", "reader", "--email", "ada"), "email"),
    ],
    ("user", "change"): [(("ada@x.org",), "say what to change"), (("ada", "--role", "reader"), "neither an email")],
    ("user", "remove"): [((), "Missing argument"), (("ada",), "neither an email nor the id")],
    ("worker",): [((), "MODULE:APP"), (("nothing:app",), "there is no module 'nothing'")],
}
"""Each command, what it is wrongly told, and words of what it answers."""


def cases() -> Iterator[tuple[tuple[str, ...], tuple[str, ...], str]]:
    for command, wrong in BAD.items():
        for arguments, words in wrong:
            yield command, arguments, words


def test_every_command_is_told_something_wrong() -> None:
    every = {names for names, command in EVERY.items() if not isinstance(command, click.Group)}
    assert {names for names in every if names[0] != "worker-protocol"} == set(BAD)


@pytest.fixture(scope="module")
def one_database(server_url: str, template: str) -> Iterator[str]:
    """One for all: nothing is ever stored in it."""
    with fresh_database.made(server_url, template=template) as url:
        yield url


@pytest.mark.parametrize(("command", "arguments", "words"), list(cases()), ids=lambda one: " ".join(one)[:50] or "-")
def test_it_is_said_what_to_do_and_nothing_is_stored(
    one_database: str, command: tuple[str, ...], arguments: tuple[str, ...], words: str
) -> None:
    env = {**shell.Shell(DATABASE_URL=one_database).env, "WEFT_FOLDER": None, "WEFT_PROFILE": None}
    done = CliRunner(env=env).invoke(main.weft, [*command, *arguments], prog_name="weft")
    assert (done.exit_code, words in done.output) == (2, True), (done.output, done.exception)
    assert re.match(r"weft: .+\n\Z|Usage: weft", done.output), done.output
    with psycopg.connect(one_database) as connection:
        stored = connection.execute(
            "select (select count(*) from weft.tasks), (select count(*) from weft.queues), "
            "(select count(*) from weft.journal), (select count(*) from weft.keys), (select count(*) from weft.locks)"
        ).fetchone()
    assert stored == (0, 0, 0, 0, 0)


async def test_a_server_says_the_same_of_what_only_it_can_know(database_url: str) -> None:
    here = Shell(DATABASE_URL=database_url)
    async with shell.served(database_url) as there:
        for arguments in (
            ("enqueue", "mail\n", "--no-check"),
            ("enqueue", "mail", "--queue", "\x07", "--no-check"),
            ("enqueue", "nobody_knows"),
            ("tasks", "--tag", "a\nb"),
            ("queues", "pause", "a\nb"),
            ("queues", "limit", "a", "--rate", "0/1s"),
            ("locks", "show", "a\nb"),
        ):
            assert await here(*arguments) == await there(*arguments), arguments
