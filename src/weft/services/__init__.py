"""Seed 000's `DataServices` over PostgreSQL: its DAOs, whose writes do the real thing.

    services = connect("postgresql://…")
    services.runner.update_state(id, "paused")      # pauses the run
    services.task.save(TaskDefinition(…))           # enqueues
    services.locks.acquire("nightly", 60_000)       # is a lock

`afl/protocols.py` has the protocols, `afl/entities.py` and `afl/records.py` the entities; here is what they stand on. What
is read comes from the views in schema `afl`, as the org's; what is written goes through the same doors as everything else.
There is one truth: ids are the database's, so `save` of something new puts its id into the entity it was given.

The DAOs are for code that is not async, as the seed writes them: a thread of its own runs each call.
"""
