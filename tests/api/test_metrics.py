"""/metrics: what Prometheus reads, of one org."""

import re

from calling import Caller, code

import hands
from weft.db.database import Database

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)+)\})? (\S+)')


def samples(text: str) -> dict[str, float]:
    """Every sample by its name and labels; the text must be what Prometheus can read."""
    found: dict[str, float] = {}
    typed: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        elif not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert re.sub("_(bucket|sum|count)$", "", match[1]) in typed, line
            assert line.rpartition(" ")[0] not in found, line
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


async def test_queues_tasks_and_nodes_are_counted(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 3)
        await hands.put(tx, queue='a "b"'.replace('"', "-"), delay=60)
        await hands.put(tx, max_attempts=1, priority=100)
        [dead] = await hands.claim_plain(tx, 1)
        await hands.end(tx, [dead], "failed")
        await hands.claim_plain(tx, 1)
    answer = await api.get("/metrics", role="reader")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    assert found['weft_queue_tasks{queue="default",state="ready"}'] == 2
    assert found['weft_queue_tasks{queue="default",state="running"}'] == 1
    assert found['weft_queue_tasks{queue="a -b-",state="scheduled"}'] == 1
    assert found["weft_tasks_dead"] == 1
    assert 'weft_queue_oldest_ready_seconds{queue="default"}' in found


async def test_requests_are_counted_by_template_and_only_ones_own(api: Caller) -> None:
    ids = [(await api.post("/v1/tasks", {"kind": "a"})).json()["id"] for _ in range(3)]
    for id in ids:
        await api.get(f"/v1/tasks/{id}")
        await api.get(f"/v1/tasks/{id}", role="other:reader")
    await api.get("/v1/no-such-path")
    await api.get("/v1/keys", role=None)
    mine = samples((await api.get("/metrics")).text)
    assert mine['weft_http_requests_total{method="GET",path="/v1/tasks/{id}",status="200"}'] == 3
    assert mine['weft_http_requests_total{method="",path="unknown",status="404"}'] == 1
    assert mine['weft_http_requests_total{method="GET",path="/v1/keys",status="401"}'] == 1
    assert mine['weft_http_request_seconds_count{method="POST",path="/v1/tasks"}'] == 3
    assert mine['weft_http_request_seconds_bucket{method="POST",path="/v1/tasks",le="+Inf"}'] == 3
    assert not any("/v1/tasks/{id}" in name and '"404"' in name for name in mine)
    theirs = samples((await api.get("/metrics", role="other:reader")).text)
    assert theirs['weft_http_requests_total{method="GET",path="/v1/tasks/{id}",status="404"}'] == 3
    assert 'weft_http_requests_total{method="POST",path="/v1/tasks",status="201"}' not in theirs


async def test_metrics_need_a_key(api: Caller) -> None:
    assert code(await api.get("/metrics", role=None)) == (401, "UNAUTHENTICATED")
