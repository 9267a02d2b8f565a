"""`GET /v1/cron/preview`: what an expression means, while somebody writes it."""

from typing import Annotated

import msgspec

from weft.api.jobs import Cron, Preview, Zone
from weft.api.operation import Call, Operation
from weft.cron import misfire, schedule, words, zones
from weft.jobs import executions


class CronQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An expression, a zone, and how many times to show."""

    expression: Cron
    timezone: Zone = "UTC"
    n: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10


async def preview(call: Call[None, CronQuery]) -> Preview:
    parsed, zone = schedule.parse(call.query.expression), zones.zone(call.query.timezone)
    when = misfire.When(times=misfire.Cron(parsed, zone))
    async with call.tx() as tx:
        now = await executions.now(tx)
    times = executions.times(when, now=now, count=call.query.n)
    return Preview(times=times, words=words.describe(parsed), timezone=zone.name)


OPERATIONS = (
    Operation(
        "GET", "/v1/cron/preview", action="job.read", handler=preview, summary="What a cron expression means",
        query=CronQuery, answer=Preview, errors=("INVALID_CRON", "INVALID_TIMEZONE"),
        example={"expression": "0 9 * * MON-FRI", "timezone": "America/New_York", "n": 3},
        answer_example={"times": ["2026-01-05T14:00:00Z"], "words": "at 09:00, on Monday to Friday",
                        "timezone": "America/New_York"},
    ),
)  # fmt: skip
