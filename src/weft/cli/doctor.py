"""`weft doctor`: looks at a database and says what endangers work, with the fix."""

import click

from weft.base import config, errors
from weft.cli import facts, loop, output, work_findings
from weft.cli.findings import LEVELS, Finding

_MARKS = {
    "ok": "[green]ok[/green]",
    "note": "[cyan]note[/cyan]",
    "warning": "[yellow]warning[/yellow]",
    "danger": "[bold red]danger[/bold red]",
}


@click.command(epilog="\b\nExamples:\n  weft doctor\n  weft doctor --json | jq '.findings[] | select(.level == \"danger\")'")
@click.option("--problems", is_flag=True, help="Only what is not in order.")
@output.as_json
@click.pass_context
def doctor(ctx: click.Context, /, *, problems: bool, as_json: bool) -> None:
    """Look for what endangers work: in PostgreSQL, in the schema, among the workers.

    It asks the database itself (DATABASE_URL, as the user who migrates), changes nothing, and exits with 1 if
    anything can lose, double or stall work. A warning alone does not.
    """
    found = loop.run(_examine())
    worst = max((LEVELS.index(one.level) for one in found), default=0)
    shown = [one for one in found if not problems or one.level != "ok"]
    if as_json:
        output.write_json({"worst": LEVELS[worst], "findings": shown})
    else:
        _show(shown, worst=worst)
    ctx.exit(1 if LEVELS[worst] == "danger" else 0)


async def _examine() -> list[Finding]:
    try:
        return work_findings.examine(await facts.read(config.load()))
    except errors.Unavailable as error:
        raise errors.Unavailable(f"the database cannot be reached: {error}; see DATABASE_URL") from error


def _show(found: list[Finding], *, worst: int) -> None:
    console = output.console()
    table = output.grid()
    for one in found:
        said = output.escape(one.what)
        if one.fix is not None and one.level != "ok":
            said += f"\n[dim]→ {output.escape(one.fix)}[/dim]"
        table.add_row(_MARKS[one.level], one.check, said)
    console.print(table)
    dangers = sum(one.level == "danger" for one in found)
    words = (
        "all is well",
        "all is well",
        "nothing endangers work now",
        f"{dangers} thing{'' if dangers == 1 else 's'} in danger",
    )
    console.print(words[worst])
