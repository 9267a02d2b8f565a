"""The only door to PostgreSQL.

`Database` owns the connections of a process: a pool for work, and reserved ones that work can never use up:
the *pulse* (heartbeat, liveness lock, leadership) and the *listener* (LISTEN). Everything above receives a `Tx`
and never opens one itself; only the edge does (`Database.tx`, `Database.once`).

Roles: set-up runs as the owner; work runs as `weft_engine` (sees every org); what is done on behalf of a user
runs as `weft_tenant` and sees the org that `tx(org=…)` put into the transaction with `set local`.
"""
