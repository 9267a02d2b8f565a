"""Tasks: the leased units of work everything else is made of.

    enqueue ──▶ scheduled ──▶ ready ──claim──▶ running ──settle──▶ history (completed | failed | timed_out | cancelled)
                   ▲            ▲  │              │
                   │   blocked ─┘◀─┘              └── retry, snooze, loss: back to scheduled or ready
                   └──────────────────────────────────┘

A *lane* is a queue plus required capabilities; (lane, org) is a range of the claim index, and orgs take turns.
A task is *plain* if it has no concurrency key and was never lost: plain work of unlimited lanes is claimed in one
statement. Everything else goes through `limits.claim`: lock, then count, then claim.

Invariants: a running row has a lease token and nobody else knows it; every write a worker makes is fenced by
(task, token); slots are counted from running rows, never kept in a counter; finished rows are not here.
"""
