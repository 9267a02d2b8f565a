"""The processes that are ours, who of them leads, and named locks for users.

    process ──reserve──▶ one session connection (`Pulse`)
                           ├── liveness: a session advisory lock, free the moment the process dies
                           ├── beat: one statement every 2 s; every lease of the node's tasks hangs on it
                           └── leadership: the same statement tries the leader's advisory lock

    standby ──lock──▶ holding ──take a term──▶ leading ──┬─ renew every second
       ▲                                                 │
       └── connection broke · renew refused · resigned ──┘

Node states: starting → active → draining; dead after its lease without a beat, or at once if its liveness lock is
gone; active again with its next beat, whose answer says that its leases must be verified.

Invariants. The advisory lock says who may lead; the *term* makes it safe: each write a leader makes carries
`leaders.fence`, which holds the leader's row against a new term until commit. A liveness key belongs to one session
and is locked before it is published, so a key once seen free is free for ever. Nobody ever waits inside
`pg_advisory_lock`: a waiting statement holds back vacuum. All times are the database's.
"""
