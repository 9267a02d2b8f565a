"""The AIOpsLab task execution API (seed 001): problems for agents, run by workers with a cluster each.

    POST /tasks ──▶ pending ──claim──▶ running ──▶ completed | failed | timeout ──▶ callback, from the outbox
                                          ▲
                worker: register, heartbeat every 30 s, claim, log, complete or fail

A problem is a task of the kernel (kind `aiopslab.problem`, one attempt), a worker is a node; what is here is only what
the kernel has no word for: which problem, which backend, what was said. States are read out of the kernel's rows.

Invariants. A problem begins once: a worker that is lost takes its problem with it ("worker lost"). Only the worker that
runs a problem may log, complete or fail it. A worker that runs as many as it can is busy and has a current task; one
that has not beaten for a minute is offline. Whatever ends a problem, its callback is written in the same transaction.
"""
