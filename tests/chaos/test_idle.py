"""What a worker costs that has nothing to do."""

import datetime as dt
import re
from collections import defaultdict

import psycopg
import pytest
from crowd import Crowd, say, until, value
from own_server import OwnServer

from weft.cluster import nodes

LINE = re.compile(r"^(\S+ \S+) UTC \[\d+\] LOG:  (?:execute \S+|statement): (.*)", re.MULTILINE)
ENOUGH = 3
LOOK = nodes.STIRS.text.partition("\n")[0]
"""How the leader's one look begins (`upkeep/sight.py`)."""
CALM = dt.timedelta(seconds=1.5)
"""Between two looks there is more than this only where nothing happens."""


def told(log: str) -> dict[str, list[dt.datetime]]:
    """When each statement was executed that the server was asked to log."""
    found = defaultdict(list)
    for at, statement in LINE.findall(log):
        found[statement].append(dt.datetime.fromisoformat(at))
    return found


def rate(moments: list[dt.datetime]) -> float:
    """How often a second something happens that happens at regular times."""
    return (len(moments) - 1) / (moments[-1] - moments[0]).total_seconds()


async def test_an_idle_worker_asks_less_than_one_question_a_second(
    server: OwnServer, own_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await own_crowd.start("--queues", "nothing")  # leads, and is not counted here
    own_crowd.url = psycopg.conninfo.make_conninfo(server.url, options="-c log_statement=all")
    await own_crowd.start("--no-lead")
    await until(lambda: value(server.url, "select count(*) from weft.nodes where asleep") == 2)
    before = len(server.log())
    asked: dict[str, list[dt.datetime]] = await until(
        lambda: (heard := told(server.log()[before:])) and min(map(len, heard.values())) >= ENOUGH and heard
    )
    rates = {statement: rate(moments) for statement, moments in asked.items()}
    say(capsys, f"an idle worker asks {sum(rates.values()):.2f} questions a second, of {len(rates)} kinds")
    assert sum(rates.values()) < 1, rates


async def test_an_idle_worker_that_leads_asks_no_more_than_that(
    server: OwnServer, own_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    def looks(log: str) -> list[dt.datetime]:
        return next((moments for statement, moments in told(log).items() if statement.startswith(LOOK)), [])

    own_crowd.url = psycopg.conninfo.make_conninfo(server.url, options="-c log_statement=all")
    await own_crowd.start()
    await until(lambda: len(found := looks(server.log())) > 1 and found[-1] - found[-2] > CALM)
    before = len(server.log())
    await until(lambda: len(looks(server.log()[before:])) >= 5)
    asked = told(server.log()[before:])
    rates = {statement: rate(moments) for statement, moments in asked.items() if len(moments) >= ENOUGH}
    say(capsys, f"an idle worker that leads asks {sum(rates.values()):.2f} questions a second, of {len(rates)} kinds")
    assert sum(rates.values()) < 1, rates
