"""`weft enqueue`: one task, from a shell."""

import dataclasses
from typing import Any

import click
import msgspec

from weft.base import errors
from weft.cli import running
from weft.queue.new import Options


@click.command(
    epilog="""\b
Examples:
  weft enqueue send_email '{"to": "ada@example.com"}'
  weft enqueue report '{}' --queue slow --delay 1h --wait 2h"""
)
@click.argument("kind")
@click.argument("payload", metavar="[JSON]", default="{}")
@click.option("-q", "--queue", metavar="NAME", help="The queue; what the task declares, if --app says, else default.")
@click.option("--priority", type=click.IntRange(0, 100), help="0 (last) to 100 (first); 50 unless declared.")
@click.option("--delay", metavar="DURATION", help="Not before this long from now: 30s, 1h30m, 2d.")
@click.option("--dedupe-key", metavar="KEY", help="Answer the unfinished task with this key, if there is one.")
@click.option("--app", "target", metavar="MODULE:APP", help="Take the task's declaration (queue, priority…) from here.")
@click.option("--no-check", "check", is_flag=True, flag_value=False, default=True,
              help="Enqueue it even if no running worker knows this kind.")  # fmt: skip
@click.option("--wait", metavar="DURATION", help="Wait so long for its result and print that.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def enqueue(
    *, kind: str, payload: str, target: str | None, check: bool, wait: str | None, as_json: bool, **options: Any
) -> None:
    """Enqueue one task of KIND with the arguments in JSON, and print its id."""
    given: Options = {name: value for name, value in options.items() if value is not None}  # type: ignore[assignment]
    answer = running.run(_enqueue(kind, _arguments(payload), target=target, check=check, wait=wait, options=given))
    if as_json:
        running.write_json(answer)
    elif wait is not None:
        running.write_json(answer["result"])
    else:
        click.echo(answer["id"] if answer["created"] else f"{answer['id']} (it was there already)")


async def _enqueue(
    kind: str, payload: dict[str, Any], *, target: str | None, check: bool, wait: str | None, options: Options
) -> dict[str, Any]:
    async with running.opened(target) as app:
        enqueued = await app.enqueue(kind, payload, check=check, **options)
        answer: dict[str, Any] = {**dataclasses.asdict(enqueued), "id": str(enqueued.id)}
        if wait is not None:
            answer["result"] = await app.result(enqueued.id, timeout=wait)
        return answer


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise errors.InvalidPayload(f"""the payload is no JSON object: {error}; write '{{"to": "ada"}}'""") from None
