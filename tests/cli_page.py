"""docs/reference/cli.md, made from the commands themselves: `python tests/cli_page.py` writes it, a test compares it."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from weft.cli import main

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"

_HEAD = """# The command line

<!-- Made by `python tests/cli_page.py` from the commands' own help. Change that, not this. -->

`weft COMMAND --help` (or `-h`) says all of this too; `weft --version` prints the version; `weft completion` teaches your
shell to complete.

**Exit codes.** 0: it worked. 1: it failed: the task, the server, the database, or `weft doctor` found danger. 2: the
command or a setting is wrong; nothing was changed. An error is one line on stderr that says what to do. `--json` writes
JSON on stdout and nothing else there. Progress bars go to stderr, and only if that is a terminal.

**Whom a command talks to.** Commands that look at work or steer it speak the [REST API](rest.md), wherever it is. The
first of these that is given decides:

1. `--server URL` (with `--key`, or `WEFT_KEY`), `--profile NAME`
2. `WEFT_SERVER` (with `WEFT_KEY`), `WEFT_PROFILE`
3. `DATABASE_URL` or `WEFT_FOLDER`: no server at all. The same API runs inside the command, over that database; whoever
   runs it is an admin of the org `--org` names (`default`)
4. the profile in use (`weft profile use NAME`)
5. the embedded PostgreSQL in `.weft` here, as in 3

So local and remote print the same. `weft worker`, `server`, `up`, `dev`, `demo`, `bench`, `migrate` and `doctor` work on
the database itself.

**Lists** take `--limit`; `--watch` shows them live (`--every SECONDS`), with `--json` as one JSON value a line. A group
alone lists: `weft tasks -w` is `weft tasks list --watch`.
"""


def commands(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below this one with the words that call it."""
    if names:
        yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *names, name)


def render() -> str:
    """The page."""
    return _HEAD + "".join(_section(names, command) for names, command in commands(main.weft))


def _section(names: tuple[str, ...], command: click.Command) -> str:
    parts = [f"\n{'#' * min(len(names) + 1, 3)} weft {' '.join(names)}\n", f"\n{_text(command.help or '')}\n"]
    if not isinstance(command, click.Group):
        arguments = [one.make_metavar(click.Context(command)) for one in command.params if isinstance(one, click.Argument)]
        parts.insert(1, f"\n`{' '.join(['weft', *names, *arguments])}`\n")
        options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        if options:
            parts.append("\n| option | meaning |\n|---|---|\n" + "".join(_row(one) for one in options))
        parts.append(_examples(command))
    return "".join(parts)


def _row(option: click.Option) -> str:
    metavar = "" if option.is_flag else f" {option.make_metavar(click.Context(click.Command('x')))}"
    words = [*option.opts, *option.secondary_opts]
    names = ", ".join(f"`{word}{metavar if word == option.opts[-1] else ''}`" for word in words).replace("|", r"\|")
    default = ""
    if option.show_default and option.default is not None and not option.is_flag:
        default = f" Default: {option.default}."
    row = f"| {names} | {_text(option.help or '')}{default} |\n"
    return row.replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "N")


def _examples(command: click.Command) -> str:
    text = inspect.cleandoc((command.epilog or "").replace("\b", ""))
    lines = [line.strip() for line in re.sub(r"^Examples?:\s*", "", text.strip()).splitlines() if line.strip()]
    return "\n" + "".join(f"    {line}\n" for line in lines) if lines else ""


def _text(text: str) -> str:
    return re.sub(r"[ \t]*\n[ \t]*", "\n", inspect.cleandoc(text)).strip()


if __name__ == "__main__":
    PAGE.write_text(render())
    print(f"wrote {PAGE}")
