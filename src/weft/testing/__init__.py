"""What you need to test your own work: a clock that you set, and runs without a worker. On a real database.

    clock = await Clock.install(app)
    await app.enqueue(remind, {"who": "Ada"}, delay="1 day")
    assert await run_pending(app) == 0
    await clock.advance(timedelta(days=1))
    assert await run_pending(app) == 1

With pytest there is nothing to import: `weft_app`, `weft_clock` and `weft_run` are fixtures (`weft.testing.plugin`).

Both take the real way: the same claims, the same handlers, the same settling. Only for databases that are thrown away.
"""
