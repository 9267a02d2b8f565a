"""How an attempt ends: the one door, for workers, HTTP and rescue alike.

    outcome (what happened) ──decide──▶ ending (what follows) ──settle──▶ history, or the queue again

Everything that follows from an attempt commits with it, many tasks per batch: result, retry or death, the next of
its concurrency key, the change feed. Later also the run's inbox and dataset events. `decide` is pure.
"""
