"""HTTP: every operation is a row of one table, and the frame does the rest.

    routes.py ──▶ tasks.OPERATIONS, keys.OPERATIONS, …      what there is: method, path, action, types, handler
                         │
    request ─▶ server ─▶ endpoint: credential ─▶ policy ─▶ decode ─▶ handler(call) ─▶ encode ─▶ answer
                  │                                            │
                  └─ request id, log line, metrics             └─ errors of ours become {"error": {code, message, …}}

Invariants. An operation whose action the policy does not know stops the server from starting. The org comes from the
credential only, and another org's ids are not found. What an operation takes and gives is said once, by msgspec
Structs: they check requests, write answers and make the OpenAPI document. Every refusal has the same envelope, and
nothing is stored by a request that is refused. A request that waits holds no database connection.
"""
