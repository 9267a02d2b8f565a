"""DataServices: servers are nodes, and locks are locks."""

import dataclasses
import uuid

import pytest

from weft import Agent, Conflict, InvalidInput, NotFound
from weft.afl import records
from weft.afl.records import LockMetaData, ServerDefinition
from weft.services.postgres import Services, connect


def test_a_server_is_saved_pinged_and_found(services: Services) -> None:
    server = ServerDefinition("", "group", "geo", "host-1", ["10.0.0.7", "10.0.0.8"], topics=["geo"],
                              handlers=["osm.Geocode"], handled=[records.HandledCount("osm.Geocode", 3, 1)],
                              state="running", manager="m")  # fmt: skip
    services.server.save(server)
    found = services.server.get_by_id(server.uuid)
    assert found is not None
    assert dataclasses.replace(found, start_time=0, ping_time=0) == server
    services.server.update_ping(server.uuid, found.ping_time - 1000)
    pinged = services.server.get_by_id(server.uuid)
    assert pinged is not None
    assert pinged.ping_time == found.ping_time - 1000
    services.server.update_ping(server.uuid, found.ping_time + 10**9)
    later = services.server.get_by_id(server.uuid)
    assert later is not None
    assert later.ping_time < found.ping_time + 10**9
    server.state = "shutdown"
    services.server.save(server)
    assert [one.uuid for one in services.server.get_by_state("shutdown")] == [server.uuid]
    with pytest.raises(InvalidInput, match="it can be startup"):
        services.server.save(dataclasses.replace(server, state="asleep"))
    with pytest.raises(NotFound):
        services.server.update_ping(str(uuid.uuid4()), 0)


async def test_a_node_of_ours_says_itself_how_it_is(agent: Agent, services: Services) -> None:
    async with agent.worker(queues=["default"]):
        [server] = services.server.get_by_state("running")
        assert server.topics == ["default"]
        with pytest.raises(Conflict, match="says itself"):
            services.server.save(server)
        assert services.server.get_by_state("running")[0].handlers == server.handlers


def test_locks_are_locks(services: Services, database_url: str) -> None:
    meta = LockMetaData(topic="geo", step_id="s")
    assert services.locks.acquire("nightly", 60_000, meta)
    assert not services.locks.acquire("nightly", 60_000)
    found = services.locks.check("nightly")
    assert found is not None
    assert (found.key, found.meta) == ("nightly", meta)
    assert found.expires_at - found.acquired_at == 60_000
    with connect(database_url) as others:
        assert not others.locks.acquire("nightly", 1)
        assert not others.locks.release("nightly")
        assert not others.locks.extend("nightly", 1)
        assert others.locks.extend("nightly", 120_000, token=services.locks.token("nightly"))
    assert services.locks.extend("nightly", 120_000)
    assert services.locks.release("nightly")
    assert not services.locks.release("nightly")
    assert services.locks.check("nightly") is None
